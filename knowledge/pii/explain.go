package pii

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// An Explanation is what stands in the way of a query, and why.
type Explanation struct {
	Finding
	Steps []string // from what the query used to the rule behind it, a sentence each
}

// Explain says for each finding of a refusal how the rules lead to it. The steps
// name columns that the query does not use, so they are for those who manage the
// rules and not for the person who was refused.
func (c *Coverage) Explain(r *Refusal) []Explanation {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Explanation, len(r.Findings))
	for i, f := range r.Findings {
		out[i] = Explanation{Finding: f, Steps: c.steps(f, r.Detail)}
	}
	return out
}

// ExplainElement says how the rules lead to an element of the model; none where it
// is free.
func (c *Coverage) ExplainElement(ref Ref) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch ref.Kind {
	case Column:
		return c.columnSteps(ref.Table, ref.Name, nil)
	case Measure:
		return c.measureSteps(ref.Table, ref.Name, nil)
	}
	t := c.tables[knowledge.Fold(ref.Table)]
	if t == nil || !c.tableCause(t) {
		return nil
	}
	return c.wholeTable(t)
}

// steps is the way from one finding to the rule behind it.
func (c *Coverage) steps(f Finding, detail string) []string {
	switch f.Cause {
	case Reader:
		return []string{fmt.Sprintf("%s reads more of the model than its arguments name, and the dataset has marked columns.", f.Element)}
	case NotKnown:
		return []string{fmt.Sprintf("The mirror does not know %s: a name that is new or misspelled may be personal data.", f.Element)}
	case Unreadable:
		return []string{fmt.Sprintf("The query is not understood: %s.", strings.TrimSuffix(detail, "."))}
	case RelationshipsNotKnown:
		return []string{"Nobody has read the relationships of this dataset yet, and they may join what the query uses to a marked column."}
	case UserFunction:
		for i := range c.index.Model().Functions {
			if fn := &c.index.Model().Functions[i]; knowledge.Fold(fn.Name) == knowledge.Fold(f.Element) {
				return c.through("The function "+fn.Name, c.functionFindings(fn))
			}
		}
	case WholeTable:
		if t := c.tables[knowledge.Fold(f.Element)]; t != nil {
			return c.wholeTable(t)
		}
	case Item:
		name := f.Element
		if table, _, ok := c.lookup(f.Element); ok {
			name = table
		}
		if t := c.tables[knowledge.Fold(name)]; t != nil {
			return c.through("A calculation item of "+t.Name, c.itemFindings(t))
		}
	}
	table, name, ok := c.lookup(f.Element)
	if !ok {
		return nil
	}
	if t := c.tables[knowledge.Fold(table)]; t != nil && t.columns[knowledge.Fold(name)] == nil && t.measures[knowledge.Fold(name)] != nil {
		return c.measureSteps(table, name, nil)
	}
	if steps := c.columnSteps(table, name, nil); len(steps) > 0 {
		return steps
	}
	// The column itself is free, and a hidden date table behind it is not.
	if col := c.column(columnKey{knowledge.Fold(table), knowledge.Fold(name)}); col != nil {
		for _, v := range col.Variations {
			if hidden := c.tables[knowledge.Fold(v.Table)]; hidden != nil && c.tableCause(hidden) {
				return append([]string{fmt.Sprintf("%s leads on to the hidden date table %s.", f.Element, hidden.Name)}, c.wholeTable(hidden)...)
			}
		}
	}
	return nil
}

// through explains something of the model that has DAX of its own.
func (c *Coverage) through(what string, found []finding) []string {
	if len(found) == 0 {
		return nil
	}
	f := found[0]
	if f.element == "" {
		return []string{what + " has DAX that is not understood."}
	}
	return append([]string{fmt.Sprintf("%s uses %s.", what, f.element)}, c.steps(Finding{Cause: f.cause, Element: f.element}, f.detail)...)
}

// wholeTable explains with the first covered column of a table.
func (c *Coverage) wholeTable(t *table) []string {
	if t.ruled {
		return []string{fmt.Sprintf("The table %s is marked.", t.Name)}
	}
	for i := range t.Table.Columns {
		name := t.Table.Columns[i].Name
		if steps := c.columnSteps(t.Name, name, nil); len(steps) > 0 {
			return append([]string{fmt.Sprintf("The whole table %s holds %s[%s].", t.Name, t.Name, name)}, steps...)
		}
	}
	return nil
}

// columnSteps leads from a column to a rule. seen guards against DAX that leads
// back to itself.
func (c *Coverage) columnSteps(tableName, name string, seen []string) []string {
	cause, covered := c.columnCause(tableName, name)
	element := c.spelled(tableName, name)
	if !covered || slices.Contains(seen, element) {
		return nil
	}
	seen = append(seen, element)
	key := columnKey{knowledge.Fold(tableName), knowledge.Fold(name)}
	t := c.tables[key[0]]
	switch cause {
	case Marked:
		if c.decisions[Ref{Column, tableName, name}.Key()] {
			return []string{fmt.Sprintf("%s is marked.", element)}
		}
		return []string{fmt.Sprintf("%s is a column of the table %s, which is marked.", element, tableOf(element))}
	case Joined:
		to := c.joinedTo[key]
		return append([]string{fmt.Sprintf("A relationship joins %s to %s.", element, c.spelled(to[0], to[1]))}, c.columnSteps(to[0], to[1], seen)...)
	case Keyed:
		if t == nil {
			return nil
		}
		by := c.spelled(t.key[0], t.key[1])
		return append([]string{fmt.Sprintf("%s is a column of %s, whose rows are keyed by %s.", element, t.Name, by)}, c.columnSteps(t.key[0], t.key[1], seen)...)
	case Derived:
		if t == nil || t.columns[key[1]] == nil {
			return nil
		}
		from, more := c.columnSources(t, t.columns[key[1]])
		return c.derivedSteps(element+" is calculated", from, more, seen)
	}
	return nil
}

// measureSteps leads from a measure to a rule.
func (c *Coverage) measureSteps(tableName, name string, seen []string) []string {
	element := tableName + "[" + name + "]"
	if c.Measure(tableName, name) {
		return []string{fmt.Sprintf("The measure %s is marked.", element)}
	}
	if c.measureVerdict(tableName, name) == free || slices.Contains(seen, element) {
		return nil
	}
	from, more := c.measureSources(tableName, name)
	return c.derivedSteps("The measure "+element+" shows values that come", from, more, append(seen, element))
}

func (c *Coverage) derivedSteps(what string, from []dax.Source, more bool, seen []string) []string {
	source, carried := c.carriedFrom(from, more)
	if !carried {
		return []string{what + " from what its DAX does not tell with certainty."}
	}
	step := fmt.Sprintf("%s from %s.", what, source)
	if source.Measure {
		return append([]string{step}, c.measureSteps(source.Table, source.Name, seen)...)
	}
	return append([]string{step}, c.columnSteps(source.Table, source.Name, seen)...)
}

// lookup takes an element apart. A bracket may be a part of either name, so the
// model says which names there are.
func (c *Coverage) lookup(element string) (tableName, name string, ok bool) {
	if !strings.HasSuffix(element, "]") {
		return "", "", false
	}
	first := -1
	for i := range element {
		if element[i] != '[' {
			continue
		}
		if first < 0 {
			first = i
		}
		tableName, name = element[:i], element[i+1:len(element)-1]
		if t := c.tables[knowledge.Fold(tableName)]; t != nil && (t.columns[knowledge.Fold(name)] != nil || t.measures[knowledge.Fold(name)] != nil) {
			return tableName, name, true
		}
	}
	if first <= 0 {
		return "", "", false
	}
	return element[:first], element[first+1 : len(element)-1], true
}

// tableOf is the table of an element that names a column.
func tableOf(element string) string {
	table, _, _ := strings.Cut(element, "[")
	return table
}
