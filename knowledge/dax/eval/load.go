package eval

import (
	"context"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// compute computes everything that New computes. One thing may need another, so
// each is computed when it is first asked for; here all are asked for.
func (e *Engine) compute() {
	q := e.newQuery(context.Background(), Identity{Unrestricted: true})
	e.loading = q
	defer func() { e.loading = nil }()

	e.buildRelationships()
	e.spreadBlankRows()
	for _, t := range e.tables {
		if err := e.try(func() { e.needTable(t) }); err != nil {
			e.cannot("table %s: %s", t.name, reason(err))
			continue
		}
		for _, c := range t.columns {
			if err := e.try(func() { e.needColumn(c) }); err != nil {
				e.cannot("column %s: %s", c, reason(err))
			}
		}
	}
	for _, t := range e.tables {
		t.seal()
		t.reach = t.expanded()
	}
	for _, m := range e.measures {
		if err := e.try(func() { q.measure(m.def.Name).compile(q) }); err != nil {
			e.cannot("measure %s[%s]: %s", m.table.name, m.def.Name, reason(err))
		}
	}
	for _, g := range e.calculationGroups {
		for _, item := range g.items {
			if err := e.try(func() { q.item(item) }); err != nil {
				e.cannot("calculation item %s of %s: %s", item.name, g.table.name, reason(err))
			}
		}
	}
	slices.Sort(e.unsupported)
}

// buildRelationships builds the relationships: those over columns that are loaded
// first, then those over computed ones, whose expressions may use the first
// ones, and so on for as long as one more can be built.
func (e *Engine) buildRelationships() {
	var open []*relationship
	for i := range e.model.Relationships {
		def := &e.model.Relationships[i]
		open = append(open, &relationship{def: def, many: def.ToMany})
	}
	slices.SortStableFunc(open, func(a, b *relationship) int { return e.computed(a) - e.computed(b) })
	for progress := true; progress; {
		progress = false
		var failed []*relationship
		for _, r := range open {
			r.err = e.try(func() {
				r.from = e.end(r.def.FromTable, r.def.FromColumn)
				r.to = e.end(r.def.ToTable, r.def.ToColumn)
			})
			if r.err != nil {
				e.forget()
				failed = append(failed, r)
				continue
			}
			if r.build(); r.err != nil {
				e.cannot("relationship %s: %s", r.def.Name, reason(r.err))
			}
			r.from.table.out = append(r.from.table.out, r)
			r.to.table.in = append(r.to.table.in, r)
			e.relationships = append(e.relationships, r)
			progress = true
		}
		open = failed
	}
	for _, r := range open {
		e.cannot("relationship %s: %s", r.def.Name, reason(r.err))
	}
}

// end is the column at one end of a relationship, computed where it must be.
func (e *Engine) end(table, column string) *modelColumn {
	t := e.byName[knowledge.Fold(table)]
	if t == nil {
		fail(UnknownName, "Cannot find table '%s'.", table)
	}
	e.needTable(t)
	c := t.column(knowledge.Fold(column))
	if c == nil {
		fail(UnknownName, "The column '%s' in table '%s' cannot be found.", column, table)
	}
	e.needColumn(c)
	return c
}

// computed is 0 where both ends of a relationship are loaded, and 1 otherwise.
func (e *Engine) computed(r *relationship) int {
	for _, at := range [][2]string{{r.def.FromTable, r.def.FromColumn}, {r.def.ToTable, r.def.ToColumn}} {
		t := e.byName[knowledge.Fold(at[0])]
		if t == nil {
			return 1
		}
		if c := t.column(knowledge.Fold(at[1])); c == nil || c.data == nil {
			return 1
		}
	}
	return 0
}

// forget lets what failed be tried again.
func (e *Engine) forget() {
	for _, t := range e.tables {
		if t.state == failed && t.expr != nil {
			t.state, t.err = pending, nil
		}
		for _, c := range t.columns {
			if c.state == failed && c.expr != nil {
				c.state, c.err = pending, nil
			}
		}
	}
}

// spreadBlankRows gives the tables beyond a blank row one too: what lands on the
// one lands on the other.
func (e *Engine) spreadBlankRows() {
	for changed := true; changed; {
		changed = false
		for _, r := range e.relationships {
			if !r.many && r.from.table.blankRow && !r.to.table.blankRow && int(r.toRow[r.from.table.n]) == r.to.table.n {
				r.to.table.blankRow = true
				changed = true
			}
		}
	}
}

// needTable computes a calculated table.
func (e *Engine) needTable(t *table) {
	switch t.state {
	case done:
		return
	case working:
		fail(Invalid, "A circular dependency was detected: '%s' depends on itself.", t.name)
	case failed:
		fail(Unsupported, "The calculated table '%s' could not be computed: %s", t.name, reason(t.err))
	}
	t.state = working
	err := t.err
	if err == nil {
		err = e.try(func() { e.computeTable(t) })
	}
	if err != nil {
		t.state, t.err = failed, err
		fail(Unsupported, "%s", reason(err))
	}
	t.state = done
	t.seal()
}

func (e *Engine) computeTable(t *table) {
	q := e.loading
	c := &compiler{q: q}
	run, sc := c.tableOf(nil, t.expr)
	rel := run(q.env(c.slots))
	t.n = rel.n
	columns := t.columns
	t.columns = nil
	used := map[*modelColumn]bool{}
	for i, m := range sc.cols {
		mc := (*modelColumn)(nil)
		for _, candidate := range columns {
			if candidate.expr == nil && !used[candidate] && (candidate.folded == knowledge.Fold(m.name) || sourceNames(candidate, m)) {
				mc = candidate
				break
			}
		}
		if mc == nil {
			mc = &modelColumn{table: t, name: m.name, folded: knowledge.Fold(m.name)}
		}
		used[mc] = true
		kind := kindOf(rel, i)
		if mc.def != nil && mc.def.DataType != "" && mc.def.DataType != knowledge.String {
			kind = column.KindOf(mc.def.DataType)
		}
		mc.data = column.New(mc.name, kind)
		for row := range rel.n {
			v := rel.at(i, row)
			if converted, err := value.Convert(v, kind); kind != value.Blank && err == nil {
				v = converted
			}
			mc.data.Append(v)
		}
		mc.data.AppendBlank()
		mc.state = done
		t.columns = append(t.columns, mc)
	}
	for _, mc := range columns {
		if !used[mc] {
			if mc.expr == nil && mc.err == nil {
				mc.data, mc.state = blankColumn(mc.def, t.n), done
			}
			t.columns = append(t.columns, mc)
		}
	}
}

// sourceNames says whether a column of a calculated table is made from m: its
// source is written [Name] or Table[Name].
func sourceNames(c *modelColumn, m colMeta) bool {
	if c.def == nil || c.def.SourceColumn == "" {
		return false
	}
	source := knowledge.Fold(c.def.SourceColumn)
	return source == knowledge.Fold(m.key()) || source == "["+knowledge.Fold(m.name)+"]" || source == knowledge.Fold(m.name)
}

// kindOf is the kind of the values of a column, blank where they vary.
func kindOf(rel *relation, c int) value.Kind {
	if col := rel.schema.cols[c].lineage; col != nil {
		return col.loaded().Kind
	}
	kind := value.Blank
	for _, v := range rel.values(c) {
		switch {
		case v.IsBlank() || v.Kind() == kind:
		case kind == value.Blank:
			kind = v.Kind()
		case v.IsNumber() && (kind == value.Int || kind == value.Decimal || kind == value.Double):
			kind = value.Double
		default:
			return value.Blank
		}
	}
	return kind
}

// needColumn computes a calculated column.
func (e *Engine) needColumn(c *modelColumn) {
	switch c.state {
	case done:
		return
	case working:
		fail(Invalid, "A circular dependency was detected: %s depends on itself.", c)
	case failed:
		fail(Unsupported, "The calculated column %s could not be computed: %s", c, reason(c.err))
	}
	if c.table.state != done {
		e.needTable(c.table)
		if c.state == done {
			return
		}
	}
	c.state = working
	err := c.err
	if err == nil {
		err = e.try(func() { c.data = e.loading.computeColumn(c, nil) })
	}
	if err != nil {
		c.state, c.err = failed, err
		fail(Unsupported, "%s", reason(err))
	}
	c.state = done
}

// computeColumn is the values of a calculated column, the blank row included. A
// column of a query can use the variables around it.
func (q *query) computeColumn(c *modelColumn, around *scope) *column.Column {
	comp := &compiler{q: q}
	sc := q.schema(c.table)
	run := comp.scalarOf(around.row(sc), c.expr)
	kind := value.Blank
	if c.def != nil && c.def.DataType != "" {
		kind = column.KindOf(c.def.DataType)
	}
	if q.trial {
		data := column.New(c.name, kind)
		data.AppendBlank()
		return data
	}
	q.spend(c.table.n)
	rows := make([]int32, c.table.n)
	for i := range rows {
		rows[i] = int32(i)
	}
	rel := baseRelation(sc, rows)
	vals := make([]value.Value, 0, len(rows))
	env := q.env(comp.slots)
	env.each(rel, func(int) {
		v := run(env)
		if kind != value.Blank && kind != value.Text {
			v = must(value.Convert(v, kind))
		}
		vals = append(vals, v)
	})
	if kind == value.Text || kind == value.Blank {
		// TMDL leaves the type of a calculated column out where it is text, and
		// models made by hand leave it out anyway: the values say.
		kind = kindOf(&relation{schema: &schema{cols: []colMeta{{}}}, n: len(vals), cols: []vector{{vals: vals}}}, 0)
	}
	data := column.New(c.name, kind)
	for _, v := range vals {
		data.Append(v)
	}
	data.AppendBlank()
	return data
}
