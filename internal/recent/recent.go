// Package recent keeps in memory what was used last, up to a weight.
package recent

import "sync"

// A Map keeps values by key. It does so in two halves: when the young one is full
// it becomes the old one, and what was not used in the meantime is let go. It is
// safe for concurrent use; the values are shared by all who get them, so nobody
// changes one.
type Map[K comparable, V any] struct {
	limit int // of one half
	weigh func(K, V) int

	mu         sync.Mutex
	young, old map[K]V
	weight     int // of young
}

// New returns a map that holds at most the weight limit, by weigh. What weighs more
// than half of it by itself is not kept.
func New[K comparable, V any](limit int, weigh func(K, V) int) *Map[K, V] {
	return &Map[K, V]{limit: limit / 2, weigh: weigh, young: map[K]V{}}
}

// One weighs everything alike: then the limit is a number of values.
func One[K comparable, V any](K, V) int { return 1 }

// Get returns what is kept under key.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok = m.young[key]; ok {
		return value, true
	}
	if value, ok = m.old[key]; ok {
		m.keep(key, value)
	}
	return value, ok
}

// Put keeps value under key, in place of what was there.
func (m *Map[K, V]) Put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, ok := m.young[key]; ok {
		m.weight -= m.weigh(key, before)
		delete(m.young, key)
	}
	m.keep(key, value)
}

// keep needs the lock, and a key that is not in the young half.
func (m *Map[K, V]) keep(key K, value V) {
	delete(m.old, key)
	weight := m.weigh(key, value)
	if weight > m.limit {
		return
	}
	if m.weight+weight > m.limit {
		m.young, m.old, m.weight = map[K]V{}, m.young, 0
	}
	m.young[key] = value
	m.weight += weight
}
