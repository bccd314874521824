package sample

import (
	"sync"
	"time"
)

// limits counts calls in sliding windows.
type limits struct {
	off bool
	now func() time.Time

	mu    sync.Mutex // guards calls
	calls map[string][]time.Time
}

// take counts a call by key where fewer than n were made within the window.
// Otherwise it says after how long the next may be.
func (l *limits) take(key string, n int, window time.Duration) (wait time.Duration, ok bool) {
	if l.off {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	recent := l.calls[key]
	for len(recent) > 0 && now.Sub(recent[0]) >= window {
		recent = recent[1:]
	}
	if len(recent) >= n {
		l.calls[key] = recent
		return window - now.Sub(recent[0]), false
	}
	if l.calls == nil {
		l.calls = map[string][]time.Time{}
	}
	l.calls[key] = append(recent, now)
	return 0, true
}
