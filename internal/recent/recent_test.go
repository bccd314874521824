package recent_test

import (
	"strconv"
	"testing"

	"github.com/pbmb/pbmb/internal/recent"
)

func TestKeepsWhatIsUsed(t *testing.T) {
	m := recent.New[string, int](8, recent.One)
	for n := range 100 {
		m.Put(strconv.Itoa(n), n)
		m.Put("used", n)
		if got, ok := m.Get("used"); !ok || got != n {
			t.Fatalf("after %d: %d, %v", n, got, ok)
		}
	}
	kept := 0
	for n := range 100 {
		if got, ok := m.Get(strconv.Itoa(n)); ok {
			if kept++; got != n {
				t.Errorf("%d is kept as %d", n, got)
			}
		}
	}
	if kept == 0 || kept > 8 {
		t.Errorf("%d values are kept, of 8", kept)
	}
}

func TestStaysWithinItsWeight(t *testing.T) {
	m := recent.New(100, func(_ string, v string) int { return len(v) })
	m.Put("a", string(make([]byte, 51)))
	if _, ok := m.Get("a"); ok {
		t.Error("what is more than half of the limit is kept")
	}
	for n := range 50 {
		m.Put(strconv.Itoa(n), string(make([]byte, 20)))
		m.Put("a", "new")
	}
	if v, _ := m.Get("a"); v != "new" {
		t.Errorf("a is %q", v)
	}
	weight := 0
	for n := range 50 {
		if v, ok := m.Get(strconv.Itoa(n)); ok {
			weight += len(v)
		}
	}
	if weight > 100 {
		t.Errorf("%d bytes are kept, of 100", weight)
	}
}
