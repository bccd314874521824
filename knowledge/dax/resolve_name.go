package dax

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// words are the enumeration words of arguments.
var words = wordSet(`ASC DESC DENSE SKIP DAY WEEK MONTH QUARTER YEAR HOUR MINUTE SECOND BOTH NONE ONEWAY
	ONEWAY_LEFTFILTERSRIGHT ONEWAY_RIGHTFILTERSLEFT BLANKS FIRST LAST DEFAULT ABS REL KEEP TEXT ALPHABETICAL
	INTEGER INT64 DOUBLE STRING BOOLEAN LOGICAL CURRENCY DECIMAL DATETIME VARIANT NUMERIC TABLE COLUMN
	MEASURE CALENDAR FULL SELF PARENT ESCAPED UNESCAPED MINIMALLYESCAPED HIGHESTPARENT LOWESTPARENT ROWS
	COLUMNS EXTENDING ENDALIGNED PRECISE DATE`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// isWord tells whether a bare name can be an enumeration word. Several stand
// together in an order such as DESC BLANKS LAST.
func isWord(n *Name) bool {
	if n.Quoted {
		return false
	}
	first, _, _ := strings.Cut(upper(n.Value), " ")
	return words[first]
}

// name binds a bare or quoted name: a parameter or variable, a table of the
// query, a table of the model. Enumeration words are taken before, by the
// function that knows them.
func (r *resolver) name(n *Name, e env) value {
	// A name of the text hides one of the model only where it is written exactly
	// so: models differ in whether letter case and width matter, and to some the
	// two are different names.
	key := r.ix.fold(n.Value)
	t := r.ix.tables[key]
	if l := r.local(key); l != nil && !n.Quoted {
		if t != nil && l.name != n.Value {
			r.bindTable(n, t)
			return tableOf(join(t.row, l.v.tableOr()))
		}
		r.res.Names[n] = Binding{Kind: l.kind, Name: l.name}
		return l.v
	}
	if d := r.tables[key]; d != nil {
		v := r.def(d)
		// Before its definition ends the name may still be the model's table.
		if t != nil && (d.Name != n.Value || n.From.Offset < d.End()) {
			r.bindTable(n, t)
			return tableOf(join(t.row, v.tableOr()))
		}
		r.res.Names[n] = Binding{Kind: BoundQueryTable, Name: d.Name}
		return tableOf(v.tableOr())
	}
	if t != nil {
		r.bindTable(n, t)
		return tableOf(r.tableRow(key, t))
	}
	r.unknown(n, "the name "+shorten(n.Value)+" is not known", r.nearestTable(n.Value))
	return tableOf(openRow(origins{unknown: true}))
}

func (r *resolver) bindTable(n *Name, t *indexTable) {
	r.res.Names[n] = Binding{Kind: BoundTable, Table: t.name, Name: t.name}
	r.useTable(n, t)
}

// ambiguous reports a name that stands for two things of the model when names are
// compared as DAX does: nobody can tell which one a text means.
func (r *resolver) ambiguous(n Node, name string) {
	r.unknown(n, "the model has two things that "+shorten(name)+" may mean: names that differ in letter case or width alone, or a column and a measure of one table", "rename one of them in the model")
}

func (r *resolver) useTable(n Node, t *indexTable) {
	r.res.Tables = append(r.res.Tables, TableUse{Table: t.name, Node: n})
	if t.twice {
		r.ambiguous(n, t.name)
	}
}

// tableRow is the row type of a table of the model with the columns that the
// query adds to it.
func (r *resolver) tableRow(key string, t *indexTable) *RowType {
	added := r.columns[key]
	if len(added) == 0 {
		return t.row
	}
	row := &RowType{base: t.row}
	for folded, d := range added {
		row.cols = append(row.cols, RowColumn{Table: t.name, Name: d.Name, folded: folded, from: r.def(d).from})
	}
	return row
}

// ref binds T[x] or [x], and T[x].[variation], whose values come from the same
// column.
func (r *resolver) ref(x *Ref, e env) value {
	if c := r.plain[plainRef{x.Table, x.Name}]; x.HasTable && c != nil && (x.Quoted || r.local(c.table) == nil) {
		r.res.Refs[x] = c.bound
		return value{from: c.from}
	}
	name := r.ix.fold(x.Name)
	var found []Binding
	var v value
	add := func(kind BindingKind, table, name string, from origins) {
		found = append(found, Binding{Kind: kind, Table: table, Name: name})
		v.from = v.from.with(from)
	}
	addRow := func(c RowColumn) {
		if c.Table != "" {
			if t := r.ix.tables[knowledge.Fold(c.Table)]; t != nil {
				if id, ok := t.columns[c.folded]; ok && t.name == c.Table {
					add(BoundColumn, r.ix.sources[id].Table, r.ix.sources[id].Name, c.from)
					return
				}
			}
		}
		add(BoundNewColumn, c.Table, c.Name, c.from)
	}

	if x.HasTable {
		var opens []string // tables of the text that may have the column
		table := r.ix.fold(x.Table)
		if c := r.plainColumn(x, table, name); c != nil {
			r.res.Refs[x] = c.bound
			return value{from: c.from}
		}
		if l := r.local(table); l != nil && !x.Quoted {
			cols, open := l.v.tableOr().find(name)
			for _, c := range cols {
				addRow(c)
			}
			if len(cols) == 0 && open {
				opens = append(opens, l.name)
				v.from = v.from.with(l.v.scalar())
			}
		}
		if d := r.tables[table]; d != nil {
			cols, open := r.def(d).tableOr().find(name)
			for _, c := range cols {
				addRow(c)
			}
			if len(cols) == 0 && open {
				opens = append(opens, d.Name)
				v.from = v.from.with(r.def(d).scalar())
			}
		}
		if d := r.columns[table][name]; d != nil {
			add(BoundQueryColumn, d.Table, d.Name, r.def(d).from)
		}
		if t := r.ix.tables[table]; t != nil {
			if id, ok := t.columns[name]; ok {
				add(BoundColumn, r.ix.sources[id].Table, r.ix.sources[id].Name, r.ix.origin(id))
				if t.twice {
					r.ambiguous(x, t.name)
				}
			}
		}
		if len(found) == 0 {
			for s := e.rows; s != nil; s = s.parent {
				cols, _ := s.row.find(name)
				for _, c := range cols {
					if knowledge.Fold(c.Table) == table {
						addRow(c)
					}
				}
			}
		}
		if len(found) == 0 && (r.ix.tables[table] != nil || r.tables[table] != nil) {
			r.measure(x, name, add)
		}
		for _, t := range opens {
			add(BoundOpen, t, x.Name, origins{})
		}
		if len(found) == 0 {
			r.unknownRef(x, table)
			v.from.unknown = true
		}
	} else {
		// The innermost row that has the column wins; a row whose columns are not
		// all known may have it or not, so the search goes on.
		certain := false
		open := false
		for s := e.rows; s != nil && !certain; s = s.parent {
			cols, more := s.row.find(name)
			for _, c := range cols {
				addRow(c)
				certain = certain || !more && c.Name == x.Name
			}
			if more {
				open = true
				v.from = v.from.with(s.row.all())
			}
		}
		if !certain || open {
			r.measure(x, name, add)
			if e.home != nil {
				if id, ok := e.home.columns[name]; ok {
					add(BoundColumn, r.ix.sources[id].Table, r.ix.sources[id].Name, r.ix.origin(id))
				}
			}
			if open {
				for _, id := range r.ix.byName[name] {
					if s := r.ix.sources[id]; r.mentioned[knowledge.Fold(s.Table)] {
						add(BoundColumn, s.Table, s.Name, r.ix.origin(id))
					}
				}
				if len(found) == 0 {
					add(BoundOpen, "", x.Name, origins{})
				}
			}
		}
		if len(found) == 0 {
			r.unknownRef(x, "")
			v.from.unknown = true
		}
	}
	r.res.Refs[x] = found
	return v
}

// plainColumn is the column of the model that Table[Column] stands for, where no
// definition or variable of the text has to do with it; nil otherwise.
func (r *resolver) plainColumn(x *Ref, table, name string) *plainColumn {
	t := r.ix.tables[table]
	if t == nil || t.twice || r.tables[table] != nil || r.columns[table][name] != nil || !x.Quoted && r.local(table) != nil {
		return nil
	}
	id, ok := t.columns[name]
	if !ok {
		return nil
	}
	s := r.ix.sources[id]
	c := &plainColumn{table: table, bound: []Binding{{Kind: BoundColumn, Table: s.Table, Name: s.Name}}, from: r.ix.origin(id)}
	r.plain[plainRef{x.Table, x.Name}] = c
	return c
}

// measure adds the measures with a name: the query's before the model's, which it
// replaces.
func (r *resolver) measure(x *Ref, folded string, add func(BindingKind, string, string, origins)) {
	if d := r.measures[folded]; d != nil {
		add(BoundQueryMeasure, d.Table, d.Name, r.def(d).scalar())
		if d.Name == x.Name {
			return
		}
	}
	if id, ok := r.ix.measures[folded]; ok {
		s := r.ix.sources[id]
		if r.ix.twice["["+folded] {
			r.ambiguous(x, s.Name)
		}
		add(BoundMeasure, s.Table, s.Name, r.ix.origin(id))
	}
}
