package cerbos

import (
	"slices"
	"sync"

	"github.com/pbmb/pbmb/policies"
)

// A memory keeps answers by the whole question: who asks, with every attribute
// that Cerbos was told, and what is asked. It keeps those of the most recent
// callers, in two halves: what was not asked for during the last half is let go.
//
// A caller is remembered with the lists that the answers rest on, and these are
// compared in full rather than by a digest. When they differ, the caller's reach
// has changed and all of their answers are obsolete.
type memory struct {
	limit int // bytes, of both halves together

	mu    sync.Mutex
	gen   uint64 // goes up at each forgetting
	young map[subjectKey]*subject
	old   map[subjectKey]*subject
	size  int // bytes of young
}

type subjectKey struct {
	kind policies.PrincipalKind
	id   string
}

// A subject is a caller and what is remembered of them.
type subject struct {
	// What Cerbos was told; never changed.
	visibility policies.MetadataVisibility
	roles      []string
	workspaces []string
	apps       []string
	datasets   []string

	mu      sync.RWMutex
	answers map[string]answer

	size int // bytes; guarded by the memory's mutex
}

type answer struct {
	allowed bool
	plan    policies.Plan
}

// generation is taken before a question is asked and handed to remember with the
// answer.
func (m *memory) generation() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gen
}

// forget drops everything, and every answer that is still on its way.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gen++
	m.young, m.old, m.size = nil, nil, 0
}

func (m *memory) recall(p *policies.Principal, key []byte) (answer, bool) {
	s := m.find(subjectKey{p.Kind, p.ID})
	if s == nil || !s.is(p) {
		return answer{}, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.answers[string(key)]
	return found, ok
}

func (m *memory) find(k subjectKey) *subject {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.young[k]; s != nil {
		return s
	}
	s := m.old[k]
	if s != nil {
		delete(m.old, k)
		m.keep(k, s)
	}
	return s
}

// remember keeps an answer unless something was forgotten since it was asked for.
func (m *memory) remember(since uint64, p *policies.Principal, key []byte, a answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gen != since || m.limit <= 0 {
		return
	}
	k := subjectKey{p.Kind, p.ID}
	s := m.young[k]
	if s != nil && !s.is(p) {
		m.size -= s.size
		delete(m.young, k)
		s = nil
	}
	if s == nil {
		delete(m.old, k)
		s = &subject{
			visibility: p.MetadataVisibility,
			roles:      slices.Clone(p.Roles),
			workspaces: slices.Clone(p.WorkspaceIDs),
			apps:       slices.Clone(p.AppIDs),
			datasets:   slices.Clone(p.DatasetIDs),
			answers:    map[string]answer{},
		}
		s.size = 512 + sizeOf(s.roles) + sizeOf(s.workspaces) + sizeOf(s.apps) + sizeOf(s.datasets)
		if s.size > m.limit/2 {
			return
		}
		m.keep(k, s)
	}
	s.mu.Lock()
	if _, known := s.answers[string(key)]; !known {
		n := 96 + len(key) + sizeOfExpr(a.plan.Cond)
		s.size += n
		m.size += n
	}
	s.answers[string(key)] = a
	s.mu.Unlock()
	if m.size > m.limit/2 {
		m.turn()
	}
}

// keep puts s into the young half, which becomes the old one when it is full.
func (m *memory) keep(k subjectKey, s *subject) {
	if m.size+s.size > m.limit/2 {
		m.turn()
	}
	if m.young == nil {
		m.young = map[subjectKey]*subject{}
	}
	m.young[k] = s
	m.size += s.size
}

func (m *memory) turn() { m.young, m.old, m.size = nil, m.young, 0 }

// is reports whether p would be described to Cerbos exactly as s was.
func (s *subject) is(p *policies.Principal) bool {
	return s.visibility == p.MetadataVisibility &&
		slices.Equal(s.roles, p.Roles) &&
		slices.Equal(s.workspaces, p.WorkspaceIDs) &&
		slices.Equal(s.apps, p.AppIDs) &&
		slices.Equal(s.datasets, p.DatasetIDs)
}

func sizeOf(list []string) int {
	n := 0
	for _, s := range list {
		n += 16 + len(s)
	}
	return n
}

func sizeOfExpr(e *policies.Expr) int {
	if e == nil {
		return 0
	}
	n := 96 + len(e.Op) + len(e.Var) + sizeOfValue(e.Value)
	for _, arg := range e.Args {
		n += sizeOfExpr(arg)
	}
	return n
}

func sizeOfValue(v any) int {
	switch v := v.(type) {
	case string:
		return 16 + len(v)
	case []any:
		n := 24
		for _, e := range v {
			n += 16 + sizeOfValue(e)
		}
		return n
	case map[string]any:
		n := 48
		for name, e := range v {
			n += 32 + len(name) + sizeOfValue(e)
		}
		return n
	}
	return 8
}
