package sample

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Fault makes the next requests go wrong.
type Fault struct {
	Path       string `json:"path" doc:"what a request's path starts with or, after a *, contains"`
	Count      int    `json:"count" doc:"how many requests go wrong; 0 means all until the faults are cleared"`
	DelayMS    int    `json:"delay_ms" doc:"how long the answer takes, in milliseconds"`
	Status     int    `json:"status" doc:"what is answered; 0 lets the request through after the delay"`
	RetryAfter int    `json:"retry_after" doc:"seconds of the header Retry-After; 0 leaves it out"`
	Body       string `json:"body" doc:"answered as it is; empty means an error of Power BI's shape, or of OpenAI's under its path"`
	Drop       bool   `json:"drop" doc:"end the connection without an answer"`
}

type faults struct {
	mu   sync.Mutex // guards list
	list []*Fault
}

// Break adds a fault.
func (t *Tenant) Break(f Fault) {
	t.faults.mu.Lock()
	defer t.faults.mu.Unlock()
	t.faults.list = append(t.faults.list, &f)
}

// Mend takes all faults away.
func (t *Tenant) Mend() {
	t.faults.mu.Lock()
	defer t.faults.mu.Unlock()
	t.faults.list = nil
}

// next takes the fault for a path, where there is one.
func (f *faults) next(path string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.list {
		if !fits(path, fault.Path) {
			continue
		}
		found := *fault
		if fault.Count == 1 {
			f.list = append(f.list[:i], f.list[i+1:]...)
		} else if fault.Count > 1 {
			fault.Count--
		}
		return found, true
	}
	return Fault{}, false
}

// answer does what a fault says, and reports whether that was the answer.
func (f *faults) answer(w http.ResponseWriter, r *http.Request) bool {
	fault, ok := f.next(r.URL.Path)
	if !ok {
		return false
	}
	if fault.DelayMS > 0 {
		select {
		case <-r.Context().Done():
			return true
		case <-time.After(time.Duration(fault.DelayMS) * time.Millisecond):
		}
	}
	if fault.Drop {
		panic(http.ErrAbortHandler) // how net/http is told to cut the connection
	}
	if fault.Status == 0 {
		return false
	}
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
	}
	if fault.Body != "" {
		w.WriteHeader(fault.Status)
		_, _ = w.Write([]byte(fault.Body)) // the client may be gone
		return true
	}
	if strings.HasPrefix(r.URL.Path, OpenAIPath) {
		openAIFault(w, fault.Status)
		return true
	}
	if fault.Status == http.StatusTooManyRequests {
		tooManyRequests(w, fault.RetryAfter)
		return true
	}
	powerBIError(w, fault.Status, "SampleFault", "")
	return true
}
