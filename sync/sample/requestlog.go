package sample

import (
	"strings"
	"sync"
)

// A request is one that the tenant was asked.
type request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

// requestLogSize bounds the memory of a tenant that runs for days.
const requestLogSize = 200_000

// A requestLog remembers what was asked, so that tests can show that something
// was never asked.
type requestLog struct {
	mu   sync.Mutex // guards list
	list []request
}

func (l *requestLog) add(method, path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == requestLogSize {
		l.list = append(l.list[:0], l.list[requestLogSize/2:]...)
	}
	l.list = append(l.list, request{Method: method, Path: path})
}

// Requests counts the requests whose path starts with prefix, such as
// [PowerBIPath], or that hold it after a "*", such as "*executeQueries".
func (t *Tenant) Requests(prefix string) int { return len(t.asked.with(prefix)) }

func (l *requestLog) with(prefix string) []request {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []request{}
	for _, r := range l.list {
		if fits(r.Path, prefix) {
			list = append(list, r)
		}
	}
	return list
}

// fits reports whether a path starts with prefix or, after a "*", contains it.
func fits(path, prefix string) bool {
	if part, anywhere := strings.CutPrefix(prefix, "*"); anywhere {
		return strings.Contains(path, part)
	}
	return strings.HasPrefix(path, prefix)
}
