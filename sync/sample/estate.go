package sample

import (
	"iter"
	"slices"
	"strings"
)

// An estate is a part of the tenant's workspaces, in an order that stays. The
// company's are held in memory; those by which a tenant grew are made when they
// are asked for, so the same one may be two values: compare ids, not pointers.
// All that it gives is to be used under the tenant's lock, and what is changed
// is told to [Tenant.touch].
type estate interface {
	workspaces() iter.Seq[*workspace]
	apps() iter.Seq[*app]

	// These find by id without letter case, and give nil where there is none.
	workspace(id string) *workspace
	dataset(id string) *dataset
	app(id string) *app
}

// A held estate is in memory as a whole.
type held struct {
	spaces []*workspace
}

var _ estate = (*held)(nil)

// workspaces goes over the workspaces that there are at its start, whatever is
// added or removed while it is stopped.
func (h *held) workspaces() iter.Seq[*workspace] { return slices.Values(slices.Clone(h.spaces)) }

func (h *held) apps() iter.Seq[*app] {
	return func(yield func(*app) bool) {
		for w := range h.workspaces() {
			if w.app != nil && !yield(w.app) {
				return
			}
		}
	}
}

func (h *held) workspace(id string) *workspace {
	for _, w := range h.spaces {
		if strings.EqualFold(w.id, id) {
			return w
		}
	}
	return nil
}

func (h *held) dataset(id string) *dataset {
	for _, w := range h.spaces {
		for _, d := range w.datasets {
			if strings.EqualFold(d.id, id) {
				return d
			}
		}
	}
	return nil
}

func (h *held) app(id string) *app {
	for a := range h.apps() {
		if strings.EqualFold(a.id, id) {
			return a
		}
	}
	return nil
}

// workspaces are all of the tenant.
func (t *Tenant) workspaces() iter.Seq[*workspace] {
	return func(yield func(*workspace) bool) {
		for _, e := range t.estates {
			for w := range e.workspaces() {
				if !yield(w) {
					return
				}
			}
		}
	}
}

// apps are all of the tenant.
func (t *Tenant) apps() iter.Seq[*app] {
	return func(yield func(*app) bool) {
		for _, e := range t.estates {
			for a := range e.apps() {
				if !yield(a) {
					return
				}
			}
		}
	}
}

func (t *Tenant) workspaceByID(id string) *workspace {
	for _, e := range t.estates {
		if w := e.workspace(id); w != nil {
			return w
		}
	}
	return nil
}

func (t *Tenant) datasetByID(id string) *dataset {
	for _, e := range t.estates {
		if d := e.dataset(id); d != nil {
			return d
		}
	}
	return nil
}

func (t *Tenant) appByID(id string) *app {
	for _, e := range t.estates {
		if a := e.app(id); a != nil {
			return a
		}
	}
	return nil
}

// workspaceNamed returns the first workspace with a name, without letter case, or
// nil.
func (t *Tenant) workspaceNamed(name string) *workspace {
	for w := range t.workspaces() {
		if strings.EqualFold(w.name, name) {
			return w
		}
	}
	return nil
}

// datasetNamed returns the first dataset with a name, or nil.
func (t *Tenant) datasetNamed(name string) *dataset {
	for w := range t.workspaces() {
		for _, d := range w.datasets {
			if d.name == name {
				return d
			}
		}
	}
	return nil
}

// touch notes that something in a workspace changes now. A grown one is held from
// then on, as what was changed about it.
func (t *Tenant) touch(w *workspace) {
	w.modified = t.now()
	if w.grown > 0 {
		t.grown.keep(w)
	}
}
