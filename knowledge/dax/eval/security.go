package eval

import (
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// secure works out what the person of the query may see. Rows and elements that
// they may not see do not exist for anything that comes after.
func (q *query) secure() {
	if q.as.Unrestricted || len(q.e.model.Roles) == 0 {
		return
	}
	roles := q.roles()
	if len(roles) == 0 {
		fail(Refused, "The user is in no role of the model '%s', and sees none of its data.", q.e.model.Name)
	}
	// Rules are compiled before anything is hidden: a rule may use what its
	// readers do not see.
	q.allowed = q.allowedBy(roles)
	q.hidden, q.hiddenColumns = q.e.hide(roles)
	q.measures = map[string]*measure{} // they were compiled while nothing was hidden
	q.schemas = map[*table]*schema{}
	q.propagated = map[propagation]*column.Rows{}
}

// roles is the roles of the model that the person is in.
func (q *query) roles() []*knowledge.Role {
	var roles []*knowledge.Role
	for i := range q.e.model.Roles {
		for _, name := range q.as.Roles {
			if knowledge.Fold(name) == knowledge.Fold(q.e.model.Roles[i].Name) {
				roles = append(roles, &q.e.model.Roles[i])
				break
			}
		}
	}
	return roles
}

// allowedBy is the rows of each table that one of the roles shows; tables of
// which a role shows everything are not in it. Each role is spread over the
// relationships by itself: somebody in a role on products and in another on
// countries sees the sales of those products and those of those countries.
func (q *query) allowedBy(roles []*knowledge.Role) map[*table]*column.Rows {
	allowed := map[*table]*column.Rows{}
	plans := newPlanner((*relationship).securityFlow, func(*relationship) int { return 0 })
	for i, role := range roles {
		own := q.rules(role)
		for _, t := range q.e.tables {
			rows := securedRows(own, plans.of(t))
			switch before := allowed[t]; {
			case rows == nil:
				delete(allowed, t)
			case i == 0:
				allowed[t] = rows
			case before != nil:
				allowed[t] = before.Or(rows)
			}
		}
	}
	return allowed
}

// securityFlow is the directions in which rules pass a relationship: from the one
// side to the many side, and both ways only where the relationship says so. Only
// active relationships carry them.
func (r *relationship) securityFlow() flow {
	switch {
	case r.def.Inactive:
		return noFlow
	case r.def.BothSecure, r.one():
		return toFrom | fromTo
	}
	return toFrom
}

// rules is the rows that each rule of a role lets through.
func (q *query) rules(role *knowledge.Role) map[*table]*column.Rows {
	own := map[*table]*column.Rows{}
	for _, p := range role.Tables {
		t := q.e.byName[knowledge.Fold(p.Table)]
		switch {
		case p.Filter == "":
			continue
		case t == nil:
			fail(Invalid, "The role '%s' has a rule on the table '%s', which does not exist.", role.Name, p.Table)
		}
		set := column.NewBitmap(t.size())
		q.admit(set, role, t, p.Filter)
		rows := set.Rows()
		if own[t] != nil {
			rows = rows.And(own[t])
		}
		own[t] = rows
	}
	return own
}

// admit adds the rows of t for which a rule is true. A rule that gives an error for
// a row hides that row. One that cannot be read, or names what is not there, fails
// the query, as at Power BI, where its role has no access to the table; and so does
// one that takes too much memory or time. Nothing is ever shown by mistake.
func (q *query) admit(set *column.Bitmap, role *knowledge.Role, t *table, rule string) {
	x, err := dax.ParseExpr(rule)
	if err != nil {
		fail(Invalid, "The rule of the role '%s' on the table '%s' cannot be read: %s", role.Name, t.name, reason(err))
	}
	sc := q.schema(t)
	c := &compiler{q: q}
	var cond scalar
	if err := q.e.try(func() { cond = c.scalarOf((*scope)(nil).row(sc), x) }); err != nil {
		fail(Invalid, "The rule of the role '%s' on the table '%s' cannot be used: %s", role.Name, t.name, reason(err))
	}
	rows := make([]int32, t.size())
	for i := range rows {
		rows[i] = int32(i)
	}
	e := q.env(c.slots)
	e.each(baseRelation(sc, rows), func(i int) {
		// An error hides the row, as FALSE and BLANK do.
		if v, ok := attempt(e, cond); ok && v.Kind() != value.Text && must(value.Truth(v)) {
			set.Add(int32(i))
		}
	})
}

// securedRows is the rows of a table that the rules of a role let through, its
// own and those that reach it; nil for all of them. A row of the many side is
// visible where the row that it lands on is.
func securedRows(own map[*table]*column.Rows, p *plan) *column.Rows {
	for _, from := range p.ambiguous {
		if own[from] != nil {
			fail(Invalid, "There are ambiguous paths of relationships between the tables '%s' and '%s' for row-level security.", from.name, p.table.name)
		}
	}
	var rows *column.Rows
	if p.own {
		rows = own[p.table]
	}
	for _, in := range p.inflow {
		there := securedRows(own, in.from)
		if there == nil {
			continue
		}
		if in.rel.err != nil {
			panic(in.rel.err)
		}
		if in.direction == toFrom {
			there = in.rel.down(there)
		} else {
			there = in.rel.up(there)
		}
		if rows == nil {
			rows = there
		} else {
			rows = rows.And(there)
		}
	}
	return rows
}

// hide is the tables and columns that none of the roles shows.
func (e *Engine) hide(roles []*knowledge.Role) (map[*table]bool, map[*modelColumn]bool) {
	tables, columns := map[*table]int{}, map[*modelColumn]int{}
	for _, role := range roles {
		for _, p := range role.Tables {
			t := e.byName[knowledge.Fold(p.Table)]
			if t == nil {
				continue
			}
			if p.Hidden {
				tables[t]++
				for _, c := range t.columns {
					columns[c]++
				}
				continue
			}
			for _, name := range p.HiddenColumns {
				if c := t.column(knowledge.Fold(name)); c != nil {
					columns[c]++
				}
			}
		}
	}
	hidden, hiddenColumns := map[*table]bool{}, map[*modelColumn]bool{}
	for t, n := range tables {
		hidden[t] = n == len(roles)
	}
	for c, n := range columns {
		hiddenColumns[c] = n == len(roles)
	}
	return hidden, hiddenColumns
}
