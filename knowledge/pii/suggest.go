package pii

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A Reason is why something may be personal data.
type Reason string

const (
	ByName     Reason = "name"          // what it is called, and its type
	Identity   Reason = "identity"      // a role of the model compares it with who asks
	Derives    Reason = "derived"       // it is calculated from what is marked
	ShowsValue Reason = "value_measure" // the measure can give a marked value back
)

// A Suggestion is a name that nobody has decided on and that may be personal data.
// It decides nothing.
type Suggestion struct {
	Ref
	Reason     Reason
	Why        string // a sentence
	Confidence Confidence
}

// Suggested are the suggestions over several models.
type Suggested struct {
	Suggestions []Suggestion
	Datasets    []int // in how many datasets each is; zero where that was not counted
	NotRead     int   // datasets whose DAX was not read, since there are too many
}

// SuggestName says whether a column may be personal data by what it is called.
func SuggestName(table, column string, t knowledge.DataType) (Suggestion, bool) {
	what, confidence, ok := byName(table, column, t)
	if !ok {
		return Suggestion{}, false
	}
	why := fmt.Sprintf("Its name says that it is %s.", what)
	if confidence == Low && (t == knowledge.Int64 || t == knowledge.Double || t == knowledge.Decimal) {
		why = fmt.Sprintf("Its name speaks of %s, but it holds figures.", strings.TrimPrefix(strings.TrimPrefix(what, "an "), "a "))
	}
	return Suggestion{Ref: Ref{Column, table, column}, Reason: ByName, Why: why, Confidence: confidence}, true
}

// Suggest looks through one model, with its roles, for what may be personal data
// and no rule is about: by name, by the roles that compare a column with who asks,
// and by DAX that copies or gives back what the rules mark. Each reference is there
// once, with the strongest reason; the likeliest are first.
func Suggest(rules []Rule, m *knowledge.Model) []Suggestion {
	c := Cover(rules, m)
	var all []Suggestion
	for _, r := range RoleColumns(m) {
		all = append(all, Suggestion{
			Ref: Ref{Column, r.Table, r.Name}, Reason: Identity, Confidence: High,
			Why: fmt.Sprintf("The role %s compares it with the account of whoever asks.", legible(r.Role)),
		})
	}
	c.mu.Lock()
	for i := range m.Tables {
		t := &m.Tables[i]
		for j := range t.Columns {
			col := &t.Columns[j]
			if s, ok := c.suggestDerived(t.Name, col.Name); ok {
				all = append(all, s)
			}
			if s, ok := SuggestName(t.Name, col.Name, col.DataType); ok {
				all = append(all, s)
			}
		}
		for j := range t.Measures {
			if s, ok := c.suggestMeasure(t.Name, t.Measures[j].Name); ok {
				all = append(all, s)
			}
		}
	}
	c.mu.Unlock()
	all = slices.DeleteFunc(all, func(s Suggestion) bool { return Decided(rules, s.Ref) })
	return Rank(all)
}

// Decided tells whether a rule is about a reference: its own, or, for a column,
// that of its table.
func Decided(rules []Rule, ref Ref) bool {
	key, table := ref.Key(), Ref{Kind: Table, Table: ref.Table}.Key()
	return slices.ContainsFunc(rules, func(r Rule) bool {
		k := r.Ref().Key()
		return k == key || ref.Kind == Column && k == table
	})
}

// Rank orders suggestions by confidence and name, and keeps of those about one
// reference the strongest.
func Rank(all []Suggestion) []Suggestion {
	order := []Reason{Identity, Derives, ShowsValue, ByName}
	slices.SortStableFunc(all, func(a, b Suggestion) int {
		return cmp.Or(
			cmp.Compare(b.Confidence, a.Confidence),
			cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason)),
			strings.Compare(a.Key(), b.Key()))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Suggestion) bool {
		known := seen[s.Key()]
		seen[s.Key()] = true
		return known
	})
}

// suggestDerived tells of a calculated column that holds values of a covered one.
func (c *Coverage) suggestDerived(table, name string) (Suggestion, bool) {
	t := c.tables[knowledge.Fold(table)]
	col := c.column(columnKey{knowledge.Fold(table), knowledge.Fold(name)})
	if t == nil || col == nil || col.marked || col.cleared {
		return Suggestion{}, false
	}
	source, carried := c.carriedFrom(c.columnSources(t, col))
	if !carried {
		return Suggestion{}, false
	}
	return Suggestion{
		Ref: Ref{Column, t.Name, col.Name}, Reason: Derives, Confidence: High,
		Why: fmt.Sprintf("It is calculated from %s, which is personal data.", source),
	}, true
}

// suggestMeasure tells of a measure that can give a covered value back.
func (c *Coverage) suggestMeasure(table, name string) (Suggestion, bool) {
	if _, reviewed := c.decisions[Ref{Measure, table, name}.Key()]; reviewed {
		return Suggestion{}, false
	}
	source, carried := c.carriedFrom(c.measureSources(table, name))
	if !carried {
		return Suggestion{}, false
	}
	return Suggestion{
		Ref: Ref{Measure, table, name}, Reason: ShowsValue, Confidence: High,
		Why: fmt.Sprintf("Its DAX can show values of %s, which is personal data.", source),
	}, true
}
