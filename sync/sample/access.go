package sample

import (
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	reports "github.com/pbmb/pbmb/sync/sample/report"
)

// The things of the tenant.
type (
	workspace struct {
		id, name, description string

		kind     string // Workspace or PersonalGroup
		users    []access
		datasets []*dataset
		reports  []*report
		app      *app
		items    map[string][]string
		modified time.Time
		grown    int // its number in the grown estate and one; 0 for a held one
	}
	dataset struct {
		id, name, description string

		by          *person
		endorsement string
		hole        hole
		refreshes   []refreshRun // beside those of every night, in order
		certifiedBy *person
		label       string
		shares      []access
		members     []roleMember
		model       func() *knowledge.Model // the same value as long as it does not change
		space       *workspace
		rows        rowSource
		engine      lazyEngine

		// After an edit: the model that the rows were made for, and where its names led.
		loaded *knowledge.Model
		names  trail
	}
	report struct {
		id, name string

		dataset  *dataset
		drawn    *reports.Report // nil where nobody defined what it draws
		by       *person
		app      *app    // of an app's copy
		original *report // of an app's copy
	}
	app struct {
		id, name, description string

		by      *person
		users   []access
		reports []*report
		space   *workspace
	}
	access struct {
		to    principal
		right string
		span
	}
	roleMember struct {
		role string
		who  principal
		span
	}
)

// fixed is the model of a dataset that has one in memory.
func fixed(m *knowledge.Model) func() *knowledge.Model { return func() *knowledge.Model { return m } }

// rights are what somebody may do with a dataset. The zero value is nothing.
type rights struct {
	read, write, reshare, explore bool
}

// rightsFrom takes a right apart: ReadWriteReshareExplore has all four. The
// rights of apps have Copy in places and All.
func rightsFrom(right string) rights {
	all := right == "All"
	return rights{
		read:    all || strings.HasPrefix(right, "Read"),
		write:   all || strings.Contains(right, "Write"),
		reshare: all || strings.Contains(right, "Reshare"),
		explore: all || strings.Contains(right, "Explore"),
	}
}

// rightsOfRole are the rights that a role in a workspace gives for its datasets.
func rightsOfRole(role string) rights {
	switch role {
	case "Admin", "Member":
		return rights{read: true, write: true, reshare: true, explore: true}
	case "Contributor":
		return rights{read: true, write: true, explore: true}
	case "Viewer":
		return rights{read: true}
	}
	return rights{}
}

func (r *rights) add(other rights) {
	r.read = r.read || other.read
	r.write = r.write || other.write
	r.reshare = r.reshare || other.reshare
	r.explore = r.explore || other.explore
}

// rightsOn adds up what a person may do with a dataset: by a role in its
// workspace, by shares, and by the audiences of apps. A read report gives the
// reading of its dataset, no more.
func (t *Tenant) rightsOn(p *person, d *dataset) rights {
	var sum rights
	for _, a := range d.space.users {
		if t.inForce(a.span, p) && reaches(a.to, p) {
			sum.add(rightsOfRole(a.right))
		}
	}
	for _, a := range d.shares {
		if t.inForce(a.span, p) && reaches(a.to, p) {
			sum.add(rightsFrom(a.right))
		}
	}
	for _, app := range t.appsNear(d) {
		if !app.shows(d) {
			continue
		}
		for _, a := range app.users {
			if t.inForce(a.span, p) && reaches(a.to, p) {
				r := rightsFrom(a.right)
				r.write = false // an app never lets its audience write
				sum.add(r)
			}
		}
	}
	return sum
}

// appsNear are the apps that may show a dataset. A held one may show a dataset of
// another workspace; a grown one shows those of its own.
func (t *Tenant) appsNear(d *dataset) []*app {
	if d.space.grown == 0 {
		return slices.Collect(t.held.apps())
	}
	if d.space.app == nil {
		return nil
	}
	return []*app{d.space.app}
}

func (a *app) shows(d *dataset) bool {
	for _, r := range a.reports {
		if r.dataset.id == d.id {
			return true
		}
	}
	return false
}

// roleIn returns the strongest role of a person in a workspace, or the empty text.
func (t *Tenant) roleIn(w *workspace, p *person) string {
	for _, role := range []string{"Admin", "Member", "Contributor", "Viewer"} {
		for _, a := range w.users {
			if a.right == role && t.inForce(a.span, p) && reaches(a.to, p) {
				return role
			}
		}
	}
	return ""
}

// rolesOf lists the security roles of a dataset that a person is a member of.
func (t *Tenant) rolesOf(d *dataset, p *person) []string {
	var list []string
	for _, m := range d.members {
		if t.inForce(m.span, p) && reaches(m.who, p) {
			list = append(list, m.role)
		}
	}
	return list
}

// hidesObjects reports whether a role of the model has object-level security.
func hidesObjects(m *knowledge.Model) bool {
	for _, r := range m.Roles {
		for _, t := range r.Tables {
			if t.Hidden || len(t.HiddenColumns) > 0 {
				return true
			}
		}
	}
	return false
}
