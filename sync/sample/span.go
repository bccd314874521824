package sample

import (
	"slices"
	"time"
)

// refreshedAfter is how long the permissions that a person asks to be refreshed
// take until they count.
const refreshedAfter = 2 * time.Minute

// A span is when something was given and taken away. What was there at the start
// has no beginning, and what is still there no end.
type span struct {
	from, until time.Time
}

// inForce reports whether what was given counts for a person by now: lists and
// scans tell a change at once, while what somebody may do follows after the
// delay, or two minutes after that person's permissions were refreshed.
func (t *Tenant) inForce(s span, p *person) bool {
	return t.noticed(s.from, p) && (s.until.IsZero() || !t.noticed(s.until, p))
}

// noticed reports whether Power BI goes by a change yet. The time zero is no
// change.
func (t *Tenant) noticed(change time.Time, p *person) bool {
	if change.IsZero() {
		return true
	}
	now := t.now()
	if !now.Before(change.Add(t.delay)) {
		return true
	}
	asked := t.refreshed[p.id]
	return !asked.Before(change) && !now.Before(asked.Add(min(refreshedAfter, t.delay)))
}

// live are the entries that have not been taken away.
func live(list []access) []access {
	var out []access
	for _, a := range list {
		if a.until.IsZero() {
			out = append(out, a)
		}
	}
	return out
}

// setAccess gives a principal one right in a list, in the place of those it had
// there; an empty right takes them away. The list itself stays as it is.
func (t *Tenant) setAccess(list []access, to principal, right string) []access {
	now := t.now()
	out := slices.Clone(list)
	for i, a := range out {
		if a.to.objectID() == to.objectID() && a.until.IsZero() {
			out[i].until = now
		}
	}
	if right != "" {
		out = append(out, access{to: to, right: right, span: span{from: now}})
	}
	// What ended longer ago than anybody could still go by it is forgotten.
	return slices.DeleteFunc(out, func(a access) bool { return !a.until.IsZero() && now.Sub(a.until) > t.delay })
}
