package cerbos

import (
	"fmt"
	"testing"

	"github.com/pbmb/pbmb/policies"
)

// What is remembered is bounded, and those who ask often stay.
func TestMemoryIsBounded(t *testing.T) {
	m := &memory{limit: 100_000}
	often := &policies.Principal{Kind: policies.Person, ID: "often", Roles: []string{"viewer"}, WorkspaceIDs: []string{"w1"}}
	m.remember(0, often, []byte("k"), answer{allowed: true})
	for i := range 10_000 {
		p := &policies.Principal{Kind: policies.Person, ID: fmt.Sprint(i), Roles: []string{"viewer"}}
		m.remember(0, p, fmt.Appendf(nil, "question %d", i), answer{allowed: true})
		if got, ok := m.recall(often, []byte("k")); !ok || !got.allowed {
			t.Fatalf("after %d others, who asks often is forgotten", i)
		}
		if n := m.bytes(); n > m.limit {
			t.Fatalf("%d bytes are remembered, of %d", n, m.limit)
		}
	}
	// One caller alone cannot go past it either.
	for i := range 10_000 {
		m.remember(0, often, fmt.Appendf(nil, "question %d", i), answer{allowed: true})
		if n := m.bytes(); n > m.limit {
			t.Fatalf("%d bytes are remembered of one caller, of %d", n, m.limit)
		}
	}
}

// AUTHZ-01: an answer that was on its way when everything was forgotten is not kept.
func TestMemoryForgetsWhatIsOnItsWay(t *testing.T) {
	m := &memory{limit: 100_000}
	p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}}
	since := m.generation()
	m.forget()
	m.remember(since, p, []byte("k"), answer{allowed: true})
	if _, ok := m.recall(p, []byte("k")); ok {
		t.Error("an answer from before is remembered")
	}
}

func (m *memory) bytes() int {
	n := 0
	for _, half := range []map[subjectKey]*subject{m.young, m.old} {
		for _, s := range half {
			n += s.size
		}
	}
	return n
}
