package sample

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// A draft is a changed copy of a dataset's model, which takes the model's place when
// it is done, so that queries that run keep the one they have.
type draft struct {
	model *knowledge.Model
	names trail
	gone  []string // security roles that are removed
}

// onModel edits the model of a dataset by its name or id.
func (t *Tenant) onModel(datasetName string, do func(*draft) error) error {
	return t.onDataset(datasetName, func(d *dataset) error {
		e := &draft{model: clone(d.model()), names: d.names.clone()}
		if err := do(e); err != nil {
			return fmt.Errorf("dataset %q: %w", d.name, err)
		}
		if d.loaded == nil {
			d.loaded = d.model()
		}
		d.model, d.names = fixed(e.model), e.names
		if len(e.gone) > 0 {
			d.members = slices.DeleteFunc(slices.Clone(d.members), func(m roleMember) bool { return slices.Contains(e.gone, m.role) })
		}
		return nil
	})
}

// clone copies a model as far as an edit may reach.
func clone(of *knowledge.Model) *knowledge.Model {
	m := *of
	m.Tables = slices.Clone(m.Tables)
	for i := range m.Tables {
		t := &m.Tables[i]
		t.Columns, t.Measures = slices.Clone(t.Columns), slices.Clone(t.Measures)
		for j := range t.Columns {
			t.Columns[j].Variations = slices.Clone(t.Columns[j].Variations)
		}
	}
	m.Relationships, m.Roles = slices.Clone(m.Relationships), slices.Clone(m.Roles)
	for i := range m.Roles {
		r := &m.Roles[i]
		r.Tables = slices.Clone(r.Tables)
		for j := range r.Tables {
			r.Tables[j].HiddenColumns = slices.Clone(r.Tables[j].HiddenColumns)
		}
	}
	return &m
}

func same(a, b string) bool { return knowledge.Fold(a) == knowledge.Fold(b) }

// missing says that something of a name is not there.
func missing(kind, name string) error {
	return fmt.Errorf("%s %q: %w", kind, name, knowledge.ErrNotFound)
}

// set puts a text that must not be empty in its place.
func set(to *string, field, text string) error {
	if text == "" {
		return fmt.Errorf("%s is missing", field)
	}
	*to = text
	return nil
}

func (e *draft) table(name string) (*knowledge.Table, error) {
	for i := range e.model.Tables {
		if same(e.model.Tables[i].Name, name) {
			return &e.model.Tables[i], nil
		}
	}
	return nil, missing("table", name)
}

func (e *draft) column(table, name string) (*knowledge.Column, error) {
	t, err := e.table(table)
	if err != nil {
		return nil, err
	}
	for i := range t.Columns {
		if same(t.Columns[i].Name, name) {
			return &t.Columns[i], nil
		}
	}
	return nil, missing("column", table+"["+name+"]")
}

// measure finds a measure in its table.
func (e *draft) measure(name string) (*knowledge.Table, int, error) {
	for i := range e.model.Tables {
		t := &e.model.Tables[i]
		for j := range t.Measures {
			if same(t.Measures[j].Name, name) {
				return t, j, nil
			}
		}
	}
	return nil, 0, missing("measure", name)
}

// free fails where a measure has the name already: it is unique in a model.
func (e *draft) free(measure string) error {
	if _, _, err := e.measure(measure); err == nil {
		return fmt.Errorf("there is a measure %q already", measure)
	}
	return nil
}

func (e *draft) renameTable(from, to string) error {
	t, err := e.table(from)
	if err != nil {
		return err
	}
	if _, err := e.table(to); err == nil && !same(from, to) {
		return fmt.Errorf("there is a table %q already", to)
	}
	from = t.Name
	if err := set(&t.Name, "to", to); err != nil {
		return err
	}
	e.names.renameTable(from, to)
	follow := func(name *string) {
		if same(*name, from) {
			*name = to
		}
	}
	m := e.model
	for i := range m.Relationships {
		follow(&m.Relationships[i].FromTable)
		follow(&m.Relationships[i].ToTable)
	}
	for i := range m.Roles {
		for j := range m.Roles[i].Tables {
			follow(&m.Roles[i].Tables[j].Table)
		}
	}
	for i := range m.Tables {
		for j := range m.Tables[i].Columns {
			for k := range m.Tables[i].Columns[j].Variations {
				follow(&m.Tables[i].Columns[j].Variations[k].Table)
			}
		}
	}
	return nil
}

func (e *draft) removeTable(name string) error {
	if _, err := e.table(name); err != nil {
		return err
	}
	m := e.model
	m.Tables = slices.DeleteFunc(m.Tables, func(t knowledge.Table) bool { return same(t.Name, name) })
	m.Relationships = slices.DeleteFunc(m.Relationships, func(r knowledge.Relationship) bool {
		return same(r.FromTable, name) || same(r.ToTable, name)
	})
	for i := range m.Roles {
		m.Roles[i].Tables = slices.DeleteFunc(m.Roles[i].Tables, func(p knowledge.TablePermission) bool { return same(p.Table, name) })
	}
	for i := range m.Tables {
		for j := range m.Tables[i].Columns {
			c := &m.Tables[i].Columns[j]
			c.Variations = slices.DeleteFunc(c.Variations, func(v knowledge.Variation) bool { return same(v.Table, name) })
		}
	}
	e.names.renameTable(name, "")
	return nil
}

func (e *draft) renameColumn(table, from, to string) error {
	c, err := e.column(table, from)
	if err != nil {
		return err
	}
	if _, err := e.column(table, to); err == nil && !same(from, to) {
		return fmt.Errorf("there is a column %s[%s] already", table, to)
	}
	from = c.Name
	if err := set(&c.Name, "to", to); err != nil {
		return err
	}
	e.names.renameColumn(table, from, to)
	follow := func(of string, name *string) {
		if same(of, table) && same(*name, from) {
			*name = to
		}
	}
	m := e.model
	for i := range m.Relationships {
		r := &m.Relationships[i]
		follow(r.FromTable, &r.FromColumn)
		follow(r.ToTable, &r.ToColumn)
	}
	for i := range m.Roles {
		for _, p := range m.Roles[i].Tables {
			for k := range p.HiddenColumns {
				follow(p.Table, &p.HiddenColumns[k])
			}
		}
	}
	t, _ := e.table(table) // it was found above
	for i := range t.Columns {
		follow(table, &t.Columns[i].SortBy)
	}
	return nil
}

func (e *draft) removeColumn(table, name string) error {
	if _, err := e.column(table, name); err != nil {
		return err
	}
	m := e.model
	t, _ := e.table(table) // it was found above
	t.Columns = slices.DeleteFunc(t.Columns, func(c knowledge.Column) bool { return same(c.Name, name) })
	for i := range t.Columns {
		if same(t.Columns[i].SortBy, name) {
			t.Columns[i].SortBy = ""
		}
	}
	m.Relationships = slices.DeleteFunc(m.Relationships, func(r knowledge.Relationship) bool {
		return same(r.FromTable, table) && same(r.FromColumn, name) || same(r.ToTable, table) && same(r.ToColumn, name)
	})
	for i := range m.Roles {
		for j := range m.Roles[i].Tables {
			p := &m.Roles[i].Tables[j]
			if same(p.Table, table) {
				p.HiddenColumns = slices.DeleteFunc(p.HiddenColumns, func(c string) bool { return same(c, name) })
			}
		}
	}
	e.names.renameColumn(table, name, "")
	return nil
}

// A trail leads from the names under which the rows of a dataset are kept to
// those that its model has by now. What was removed has an empty name, and what
// kept its name is not there.
type trail struct {
	tables  map[string]string    // folded, to the name as it is spelled
	columns map[[2]string]string // table and column as kept, folded, to the column's name
	version int                  // counts the names that changed
}

func (tr trail) clone() trail {
	return trail{tables: maps.Clone(tr.tables), columns: maps.Clone(tr.columns), version: tr.version}
}

// kept is the name under which the rows of a table are kept, folded.
func (tr trail) kept(table string) string {
	for from, to := range tr.tables {
		if same(to, table) {
			return from
		}
	}
	return knowledge.Fold(table)
}

func (tr *trail) renameTable(from, to string) {
	kept := tr.kept(from)
	if tr.tables == nil {
		tr.tables = map[string]string{}
	}
	tr.tables[kept] = to
	tr.version++
}

func (tr *trail) renameColumn(table, from, to string) {
	key := [2]string{tr.kept(table), knowledge.Fold(from)}
	for k, now := range tr.columns {
		if k[0] == key[0] && same(now, from) {
			key = k
		}
	}
	if tr.columns == nil {
		tr.columns = map[[2]string]string{}
	}
	tr.columns[key] = to
	tr.version++
}

// apply gives rows the names of now, and leaves out what was removed.
func (tr trail) apply(list []*eval.Rows) []*eval.Rows {
	var out []*eval.Rows
	for _, r := range list {
		kept, name := knowledge.Fold(r.Table), r.Table
		if now, renamed := tr.tables[kept]; renamed {
			name = now
		}
		if name == "" {
			continue
		}
		r.Rename(name, func(column string) string {
			if now, renamed := tr.columns[[2]string{kept, knowledge.Fold(column)}]; renamed {
				return now
			}
			return column
		})
		out = append(out, r)
	}
	return out
}

// source are the rows of a dataset under the names that its model has now. They
// are read again only after an edit that changed such a name.
func (d *dataset) source() rowSource {
	loaded, names, rows, kept := cmp.Or(d.loaded, d.model()), d.names, d.rows, &d.engine.kept
	return func(*knowledge.Model) ([]*eval.Rows, error) { // under the engine's lock, which guards what is kept
		if kept.rows == nil || kept.version != names.version {
			list, err := rows(loaded)
			if err != nil {
				return nil, err
			}
			kept.rows, kept.version = names.apply(list), names.version
		}
		return kept.rows, nil
	}
}
