package pii

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// The methods here work out what the DAX of the model does with marked columns.
// The caller holds c.mu: what they find is kept.

// columnCause says why a column may not be read; free columns have none. The
// column need not be in the model.
func (c *Coverage) columnCause(tableName, name string) (Cause, bool) {
	key := columnKey{knowledge.Fold(tableName), knowledge.Fold(name)}
	t := c.tables[key[0]]
	if t == nil {
		return Marked, c.Column(tableName, name)
	}
	col := t.columns[key[1]]
	switch {
	case col == nil:
		if c.Column(tableName, name) {
			return Marked, true
		}
		return Keyed, t.keyed
	case col.marked:
		return Marked, true
	case col.joined:
		return Joined, true
	case col.cleared:
		return "", false
	case t.keyed:
		return Keyed, true
	}
	if v := c.derivedColumn(key, t, col); v == carries || v == unknown {
		return Derived, true
	}
	return "", false
}

// tableCause says whether a whole table may not be read.
func (c *Coverage) tableCause(t *table) bool {
	if t.touched || t.ruled {
		return true
	}
	for name, col := range t.columns {
		if col.Expression == "" && t.Expression == "" || col.cleared {
			continue
		}
		if v := c.derivedColumn(columnKey{knowledge.Fold(t.Name), name}, t, col); v == carries || v == unknown {
			return true
		}
	}
	return false
}

// derivedColumn tells whether a calculated column, or a column of a calculated
// table, holds values of columns that may not be read.
func (c *Coverage) derivedColumn(key columnKey, t *table, col *column) verdict {
	if col.Expression == "" && t.Expression == "" || !c.any {
		return free
	}
	switch v := c.derived[key]; v {
	case undecided:
	case deciding:
		return unknown // no model of Power BI refers to itself
	default:
		return v
	}
	c.derived[key] = deciding
	v := c.sources(c.columnSources(t, col))
	c.derived[key] = v
	return v
}

// columnSources is where the values of a calculated column, or of a column of a
// calculated table, come from; more means that they may come from elsewhere too.
func (c *Coverage) columnSources(t *table, col *column) (from []dax.Source, more bool) {
	switch {
	case col.Expression != "":
		x, err := dax.ParseExpr(col.Expression)
		if err != nil {
			return nil, true
		}
		res, err := c.index.ResolveExpr(x, t.Name, true)
		if err != nil || c.reads(res) {
			return nil, true
		}
		return res.Results[0].From, res.Results[0].Unknown
	case t.Expression != "":
		res := c.tableResult(t)
		if res == nil {
			return nil, true
		}
		for _, rc := range res.Columns {
			if sourced(col, rc) {
				return rc.From, rc.Unknown
			}
		}
		return res.From, res.Unknown
	}
	return nil, false
}

// measureSources is where the values that a measure gives come from; more means
// that they may come from elsewhere too.
func (c *Coverage) measureSources(tableName, name string) (from []dax.Source, more bool) {
	t := c.tables[knowledge.Fold(tableName)]
	if t == nil {
		return nil, true
	}
	m := t.measures[knowledge.Fold(name)]
	if m == nil || strings.TrimSpace(m.Expression) == "" {
		return nil, true
	}
	x, err := dax.ParseExpr(m.Expression)
	if err != nil {
		return nil, true
	}
	res, err := c.index.ResolveExpr(x, t.Name, false)
	if err != nil || c.reads(res) {
		return nil, true
	}
	return res.Results[0].From, res.Results[0].Unknown
}

// sourced tells whether a column of a calculated table is this column of its
// expression.
func sourced(col *column, rc dax.ResultColumn) bool {
	if col.SourceColumn != "" && col.SourceColumn != col.Name {
		source := strings.ReplaceAll(col.SourceColumn, "'", "")
		return knowledge.Fold(source) == knowledge.Fold(rc.Key) || knowledge.Fold(source) == knowledge.Fold(rc.Name)
	}
	return knowledge.Fold(col.Name) == knowledge.Fold(rc.Name)
}

// tableResult is what the expression of a calculated table gives; nil where
// nobody can tell.
func (c *Coverage) tableResult(t *table) *dax.Result {
	key := knowledge.Fold(t.Name)
	if res, ok := c.results[key]; ok {
		return res
	}
	c.results[key] = nil
	if x, err := dax.ParseExpr(t.Expression); err == nil {
		if res, err := c.index.ResolveExpr(x, "", false); err == nil && !c.reads(res) {
			c.results[key] = &res.Results[0]
		}
	}
	return c.results[key]
}

// measureVerdict tells whether a measure can give a value back that may not be
// read, by itself or through other measures. A count or a sum does not.
func (c *Coverage) measureVerdict(tableName, name string) verdict {
	if c.Measure(tableName, name) {
		return carries
	}
	if _, reviewed := c.decisions[Ref{Measure, tableName, name}.Key()]; reviewed || c.AllowValueMeasures {
		return free
	}
	key := knowledge.Fold(tableName) + "\x00" + knowledge.Fold(name)
	switch v := c.measures[key]; v {
	case undecided:
	case deciding:
		return unknown
	default:
		return v
	}
	c.measures[key] = deciding
	v := c.sources(c.measureSources(tableName, name))
	c.measures[key] = v
	return v
}

// sources is the verdict over where values come from.
func (c *Coverage) sources(from []dax.Source, more bool) verdict {
	v := free
	if more {
		v = unknown
	}
	for _, s := range from {
		if s.Measure {
			if m := c.measureVerdict(s.Table, s.Name); m != free {
				v = max(v, carries)
				if m == unknown {
					v = unknown
				}
			}
			continue
		}
		if _, covered := c.columnCause(s.Table, s.Name); covered {
			return carries
		}
	}
	return v
}

// reads tells whether a resolved text can give more than its own names say: by a
// function that reads beyond its arguments, or by a calculation group, whose items
// take the place of what is computed. Functions of the model are looked into.
func (c *Coverage) reads(res *dax.Resolution) bool {
	return c.readsIn(res, map[*knowledge.Function]bool{})
}

func (c *Coverage) readsIn(res *dax.Resolution, seen map[*knowledge.Function]bool) bool {
	for _, name := range res.Mentioned {
		if t := c.tables[knowledge.Fold(name)]; t != nil && c.appliesUnsafe(t) {
			return true
		}
	}
	for _, b := range res.Calls {
		if b.Builtin != nil && !harmless(b.Builtin.Reads) && b.Builtin.Reads != dax.ReadsDateColumns {
			return true
		}
		if b.Model == nil || seen[b.Model] {
			continue
		}
		seen[b.Model] = true
		d, err := dax.ParseFunction(b.Model.Name, b.Model.Expression)
		if err != nil {
			return true
		}
		if inner, err := c.index.ResolveFunction(d); err != nil || c.readsIn(inner, seen) {
			return true
		}
	}
	return false
}

// appliesUnsafe tells whether a table is a calculation group whose items reach
// what may not be read, or may. A group that is being checked counts as one: what
// is found meanwhile is kept.
func (c *Coverage) appliesUnsafe(t *table) bool {
	if t.Group && c.itemsUnread {
		return true
	}
	if len(t.Items) == 0 {
		return false
	}
	if _, checking := c.visiting[groupKey(t)]; checking {
		return true
	}
	return len(c.itemFindings(t)) > 0
}

// harmless is the closed list of reading behaviours that the check understands.
func harmless(r dax.Reads) bool { return r == dax.ReadsArguments || r == dax.ReadsIdentity }

// carriedFrom returns the first of the sources that is covered.
func (c *Coverage) carriedFrom(from []dax.Source, _ bool) (dax.Source, bool) {
	for _, s := range from {
		if s.Measure {
			if c.measureVerdict(s.Table, s.Name) == carries {
				return s, true
			}
		} else if _, covered := c.columnCause(s.Table, s.Name); covered {
			return s, true
		}
	}
	return dax.Source{}, false
}
