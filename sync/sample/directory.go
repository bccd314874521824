package sample

import (
	"slices"
	"strings"
	"sync/atomic"
)

// A principal is a person or a group: what access is given to.
type principal interface {
	objectID() string
}

// A person of the tenant.
type person struct {
	id, upn, mail, name, title string

	guest, disabled atomic.Bool // they may change while it serves
	fabricAdmin     bool

	grown int // its number in the grown estate and one; 0 for the company's
}

func (p *person) objectID() string { return p.id }

// public is what the tenant tells of a person.
func (p *person) public() Person {
	return Person{
		Email: p.mail, UPN: p.upn, Name: p.name, Title: p.title, ObjectID: p.id, Disabled: p.disabled.Load(), Guest: p.guest.Load(),
	}
}

// names splits the display name as Entra keeps it.
func (p *person) names() (given, family string) {
	given, family, _ = strings.Cut(p.name, " ")
	return given, family
}

// A servicePrincipal is an app registration on its own behalf.
type servicePrincipal struct {
	id, name string
}

func (s *servicePrincipal) objectID() string { return s.id }

// A group of people and of groups.
type group struct {
	id, name string

	people []*person
	groups []*group

	of    *grown // where it is one of a grown estate, which knows its people
	grown int    // its number there
}

func (g *group) objectID() string { return g.id }

// guestUPN is the sign-in name that Entra makes for a guest.
func guestUPN(home, initialDomain string) string {
	return strings.ReplaceAll(home, "@", "_") + "#EXT#@" + initialDomain
}

// personByName finds a person by sign-in name or mail, without letter case.
func (t *Tenant) personByName(name string) *person {
	for _, p := range t.people {
		if strings.EqualFold(p.upn, name) || strings.EqualFold(p.mail, name) {
			return p
		}
	}
	if t.grown != nil {
		return t.grown.personByName(name)
	}
	return nil
}

// personByID finds a person by object id.
func (t *Tenant) personByID(id string) *person {
	if p := t.byObject[id]; p != nil || t.grown == nil {
		return p
	}
	return t.grown.personByID(id)
}

// groupsOf returns the groups that a person is in, through other groups too, in
// the order of the company's file.
func (t *Tenant) groupsOf(p *person) []*group {
	var list []*group
	for _, g := range t.groups {
		if g.has(p) {
			list = append(list, g)
		}
	}
	if t.grown != nil {
		list = append(list, t.grown.groupsOf(p)...)
	}
	return list
}

func (g *group) has(p *person) bool {
	if g.of != nil {
		return g.of.has(g.grown, p)
	}
	return slices.ContainsFunc(g.people, func(member *person) bool { return member.id == p.id }) || slices.ContainsFunc(g.groups, func(inner *group) bool { return inner.has(p) })
}

// reaches reports whether what is given to a principal is given to a person.
func reaches(to principal, p *person) bool {
	if g, ok := to.(*group); ok {
		return g.has(p)
	}
	return to.objectID() == p.id
}
