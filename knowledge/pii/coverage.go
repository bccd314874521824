package pii

import (
	"sync"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A Rule is a decision about a name: it is personal data, or, where PII is false,
// somebody looked at it and it is not. A rule holds in every model that has the
// name, and knows no exceptions.
type Rule struct {
	Kind  Kind
	Table string
	Name  string // of a column or measure
	PII   bool

	// Released means that somebody decided, for a column or table that is not
	// personal data, that relationships carry nothing over to it: the shared
	// calendar that one birth date is joined to.
	Released bool
}

// Ref is the name that the rule is about.
func (r Rule) Ref() Ref { return Ref{Kind: r.Kind, Table: r.Table, Name: r.Name} }

// A Coverage is what a set of rules covers in one model. Any number of goroutines
// may use it; neither the rules nor the model may change under it.
type Coverage struct {
	// AllowValueMeasures lets measures through that can give a marked value back,
	// although nobody has reviewed them. Set it before the first use.
	AllowValueMeasures bool

	index     *dax.Index
	tables    map[string]*table // by folded name, as all maps here
	decisions map[string]bool   // rules by Ref.Key
	ruled     map[string]bool   // tables with a table rule, by folded name
	any       bool
	relations bool // they are known

	joinedTo map[columnKey]columnKey // what a relationship joins a joined column to
	// What nobody has read yet: which tables are calculation groups, what their
	// items do, and the model's functions.
	groupsUnread, itemsUnread, functionsUnread bool

	mu       sync.Mutex // guards what is worked out when it is first asked for
	derived  map[columnKey]verdict
	measures map[string]verdict
	inner    map[string][]finding   // in calculation groups and functions
	visiting map[string][]finding   // the same, while they are checked
	results  map[string]*dax.Result // of calculated tables
}

// table is a table of the model with what covers it.
type table struct {
	*knowledge.Table
	columns  map[string]*column
	measures map[string]*knowledge.Measure
	ruled    bool      // a table rule says that it is personal data
	released bool      // its rows are not keyed by a marked value, whatever is joined to them
	marked   bool      // it has a marked column, or may have
	keyed    bool      // the key of its rows is a marked value
	key      columnKey // that key
	touched  bool      // in queries, it has a column that is not free
}

// column is a column of the model with what covers it.
type column struct {
	*knowledge.Column
	marked  bool
	cleared bool // by a rule of its own
	joined  bool

	released bool // nothing is carried over to it
}

// columnKey is a column by folded names.
type columnKey [2]string

// verdict is the answer to whether a value of marked data can come out.
type verdict int8

const (
	undecided verdict = iota
	deciding          // being worked out; asked again by itself
	free
	carries
	unknown // nobody can tell
)

// Cover lays rules over a model.
func Cover(rules []Rule, m *knowledge.Model) *Coverage {
	c := &Coverage{
		index:     dax.NewIndex(m),
		tables:    make(map[string]*table, len(m.Tables)),
		decisions: make(map[string]bool, len(rules)),
		ruled:     map[string]bool{},
		relations: m.RelationshipsKnown,
		joinedTo:  map[columnKey]columnKey{},

		groupsUnread: m.GroupsUnread, itemsUnread: m.ItemsUnread, functionsUnread: m.FunctionsUnread,

		derived:  map[columnKey]verdict{},
		measures: map[string]verdict{},
		inner:    map[string][]finding{},
		results:  map[string]*dax.Result{},
	}
	columnRules, measureRules := map[string]bool{}, false // tables with a column rule
	released := map[string]bool{}                         // by Ref.Key
	for _, r := range rules {
		c.decisions[r.Ref().Key()] = r.PII
		released[r.Ref().Key()] = r.Released && !r.PII
		switch r.Kind {
		case Table:
			c.ruled[knowledge.Fold(r.Table)] = r.PII
		case Column:
			columnRules[knowledge.Fold(r.Table)] = true
		case Measure:
			measureRules = true
		}
	}
	for i := range m.Tables {
		key := knowledge.Fold(m.Tables[i].Name)
		t := c.tables[key]
		if t == nil {
			t = &table{Table: &m.Tables[i], columns: make(map[string]*column, len(m.Tables[i].Columns)), ruled: c.ruled[key]}
			t.released = released[Ref{Kind: Table, Table: t.Name}.Key()]
			t.marked = t.ruled
			c.tables[key] = t
		}
		for j := range m.Tables[i].Columns {
			source := &m.Tables[i].Columns[j]
			col := &column{Column: source, marked: t.ruled}
			if columnRules[key] {
				own := Ref{Column, t.Name, source.Name}.Key()
				if pii, ok := c.decisions[own]; ok {
					col.marked, col.cleared, col.released = pii, !pii, released[own]
				}
			}
			t.marked = t.marked || col.marked
			t.columns[knowledge.Fold(source.Name)] = col
		}
		if len(m.Tables[i].Measures) > 0 && t.measures == nil {
			t.measures = map[string]*knowledge.Measure{}
		}
		for j := range m.Tables[i].Measures {
			measure := &m.Tables[i].Measures[j]
			t.measures[knowledge.Fold(measure.Name)] = measure
			c.any = c.any || measureRules && c.decisions[Ref{Measure, m.Tables[i].Name, measure.Name}.Key()]
		}
		c.any = c.any || t.marked
	}
	if c.any {
		c.spread(m.Relationships)
	}
	return c
}

// Any tells whether the model has anything that the rules cover.
func (c *Coverage) Any() bool { return c.any }

// Column tells whether a column is marked: by its own rule, or by the rule of its
// table where it has none. A column that the model does not have can be marked
// too.
func (c *Coverage) Column(table, column string) bool {
	if pii, ok := c.decisions[Ref{Column, table, column}.Key()]; ok {
		return pii
	}
	return c.ruled[knowledge.Fold(table)]
}

// Measure tells whether a measure is marked. Only a rule of its own does that.
func (c *Coverage) Measure(table, name string) bool {
	return c.decisions[Ref{Measure, table, name}.Key()]
}

// Table tells whether a table has a marked column.
func (c *Coverage) Table(name string) bool {
	t := c.tables[knowledge.Fold(name)]
	return t != nil && t.marked
}

// Count says how many columns and measures of a model a rule is about, whatever
// it decides.
func Count(r Rule, m *knowledge.Model) (columns, measures int) {
	for _, t := range m.Tables {
		if knowledge.Fold(t.Name) != knowledge.Fold(r.Table) {
			continue
		}
		switch r.Kind {
		case Table:
			columns += len(t.Columns)
		case Column:
			for _, c := range t.Columns {
				if knowledge.Fold(c.Name) == knowledge.Fold(r.Name) {
					columns++
				}
			}
		case Measure:
			for _, m := range t.Measures {
				if knowledge.Fold(m.Name) == knowledge.Fold(r.Name) {
					measures++
				}
			}
		}
	}
	return columns, measures
}

// RelationshipsKnown tells whether joined columns could be worked out. Where they
// could not, [Check] refuses every query of a model that has marked columns.
func (c *Coverage) RelationshipsKnown() bool { return c.relations }

// Model is the model that the coverage was made of.
func (c *Coverage) Model() *knowledge.Model { return c.index.Model() }
