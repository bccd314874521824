package report

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/pbmb/pbmb/knowledge"
)

// A Kind is what a visual looks like.
type Kind string

// The kinds of visuals.
const (
	Card   Kind = "card"   // one value, large
	Table  Kind = "table"  // a row for each combination, with totals
	Matrix Kind = "matrix" // the values of one column across, with totals
	Bar    Kind = "bar"    // a horizontal bar for each value of a column
	Line   Kind = "line"   // a line over the values of a column
	Slicer Kind = "slicer" // a choice of the values of a column
)

// typeNames are what Power BI calls the kinds.
var typeNames = map[Kind]string{
	Card: "card", Table: "tableEx", Matrix: "pivotTable", Bar: "clusteredBarChart", Line: "lineChart", Slicer: "slicer",
}

// A Report is the definition of one: pages over a model.
type Report struct {
	Filters []Shown `yaml:"filters"` // on every visual
	Pages   []Page  `yaml:"pages"`
}

// A Page has visuals, which flow in rows of 12 columns.
type Page struct {
	ID      string   `yaml:"-"`
	Name    string   `yaml:"name"`
	Filters []Shown  `yaml:"filters"`
	Visuals []Visual `yaml:"visuals"`
}

// A Visual asks for values by rows and by columns.
type Visual struct {
	ID      string   `yaml:"-"`
	Title   string   `yaml:"title"`
	Kind    Kind     `yaml:"type"`
	Width   int      `yaml:"width"`   // of 12
	Rows    []Field  `yaml:"rows"`    // what is grouped by; the axis of a chart
	Columns *Field   `yaml:"columns"` // across a matrix, the series of a chart
	Values  []string `yaml:"values"`  // measures
	Top     int      `yaml:"top"`     // only so many rows, those with the largest first value
	Filters []Shown  `yaml:"filters"`
}

// Shown is a filter of a definition: the rows with one of the values.
type Shown struct {
	Column Field `yaml:"column"`
	In     []any `yaml:"in"`
}

// A Field is a column of the model, written Table[Column].
type Field struct {
	Table, Column string
}

// UnmarshalYAML reads Table[Column].
func (f *Field) UnmarshalYAML(data []byte) error {
	var text string
	if err := yaml.Unmarshal(data, &text); err != nil {
		return err
	}
	table, rest, ok := strings.Cut(text, "[")
	column, end, closed := strings.Cut(rest, "]")
	if table = strings.TrimSpace(table); !ok || !closed || end != "" || table == "" || column == "" {
		return fmt.Errorf("%q is no column: write Table[Column]", text)
	}
	*f = Field{Table: table, Column: column}
	return nil
}

// String writes the field as a definition does.
func (f Field) String() string { return f.Table + "[" + f.Column + "]" }

// Parse reads the definition of a report over a model. The key, such as the
// report's id, tells its pages and visuals from those of other reports. The error
// says what of the text makes no sense, or is not in the model.
func Parse(data []byte, key string, m *knowledge.Model) (*Report, error) {
	var r Report
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&r); err != nil {
		return nil, err
	}
	if len(r.Pages) == 0 {
		return nil, fmt.Errorf("a report needs a page")
	}
	if err := checkFilters(m, r.Filters); err != nil {
		return nil, err
	}
	for i := range r.Pages {
		p := &r.Pages[i]
		p.ID = "ReportSection" + digest(key, fmt.Sprint(i))
		if p.Name == "" || len(p.Visuals) == 0 {
			return nil, fmt.Errorf("page %d needs a name and visuals", i+1)
		}
		if err := checkFilters(m, p.Filters); err != nil {
			return nil, fmt.Errorf("page %s: %w", p.Name, err)
		}
		for j := range p.Visuals {
			v := &p.Visuals[j]
			v.ID = digest(key, fmt.Sprint(i, "/", j))
			if err := v.check(m); err != nil {
				return nil, fmt.Errorf("page %s, visual %d (%s): %w", p.Name, j+1, v.Title, err)
			}
		}
	}
	return &r, nil
}

// digest makes names of the length that Power BI's have.
func digest(key, part string) string {
	sum := sha1.Sum([]byte(key + "/" + part)) //nolint:gosec // a name, not a secret
	return hex.EncodeToString(sum[:10])
}

// needs says, for each kind, how many rows and values a visual has, and whether
// there may be columns.
var needs = map[Kind]struct {
	rows, values [2]int
	columns      bool
}{
	Card:   {rows: [2]int{0, 0}, values: [2]int{1, 1}},
	Table:  {rows: [2]int{1, 8}, values: [2]int{0, 8}},
	Matrix: {rows: [2]int{1, 3}, values: [2]int{1, 1}, columns: true},
	Bar:    {rows: [2]int{1, 1}, values: [2]int{1, 1}, columns: true},
	Line:   {rows: [2]int{1, 1}, values: [2]int{1, 3}, columns: true},
	Slicer: {rows: [2]int{1, 1}, values: [2]int{0, 0}},
}

func (v *Visual) check(m *knowledge.Model) error {
	need, known := needs[v.Kind]
	within := func(n int, limits [2]int) bool { return n >= limits[0] && n <= limits[1] }
	switch {
	case !known:
		return fmt.Errorf("the type %q is none of card, table, matrix, bar, line and slicer", v.Kind)
	case v.Title == "":
		return fmt.Errorf("a visual needs a title")
	case v.Width < 1 || v.Width > 12:
		return fmt.Errorf("the width is %d and must be from 1 to 12", v.Width)
	case !within(len(v.Rows), need.rows):
		return fmt.Errorf("a %s takes from %d to %d rows, and has %d", v.Kind, need.rows[0], need.rows[1], len(v.Rows))
	case !within(len(v.Values), need.values):
		return fmt.Errorf("a %s takes from %d to %d values, and has %d", v.Kind, need.values[0], need.values[1], len(v.Values))
	case v.Columns != nil && !need.columns:
		return fmt.Errorf("a %s takes no columns", v.Kind)
	case v.Columns == nil && v.Kind == Matrix:
		return fmt.Errorf("a matrix needs columns")
	case v.Columns != nil && len(v.Values) > 1:
		return fmt.Errorf("with columns there is one value")
	case v.Top != 0 && (v.Top < 1 || len(v.Values) == 0 || v.Columns != nil):
		return fmt.Errorf("top needs a value to rank by, no columns, and to be above 0")
	}
	for _, f := range v.groups() {
		if _, err := findColumn(m, f); err != nil {
			return err
		}
	}
	for _, name := range v.Values {
		if findMeasure(m, name) == nil {
			return fmt.Errorf("no measure is named %q", name)
		}
	}
	return checkFilters(m, v.Filters)
}

func checkFilters(m *knowledge.Model, list []Shown) error {
	for _, s := range list {
		if _, err := s.filter().condition(m); err != nil {
			return err
		}
	}
	return nil
}

// groups are the columns that a visual groups by.
func (v *Visual) groups() []Field {
	list := slices.Clone(v.Rows)
	if v.Columns != nil {
		list = append(list, *v.Columns)
	}
	return list
}

// Page finds a page by its name in the protocol, or nil.
func (r *Report) Page(id string) *Page {
	for i := range r.Pages {
		if r.Pages[i].ID == id {
			return &r.Pages[i]
		}
	}
	return nil
}

func findColumn(m *knowledge.Model, f Field) (*knowledge.Column, error) {
	for i := range m.Tables {
		if !same(m.Tables[i].Name, f.Table) {
			continue
		}
		for j := range m.Tables[i].Columns {
			if c := &m.Tables[i].Columns[j]; same(c.Name, f.Column) {
				return c, nil
			}
		}
	}
	return nil, &UnknownColumn{Field: f}
}

// An UnknownColumn is a column that the model does not have.
type UnknownColumn struct{ Field Field }

func (e *UnknownColumn) Error() string { return fmt.Sprintf("no column is named %s", e.Field) }

func findMeasure(m *knowledge.Model, name string) *knowledge.Measure {
	for i := range m.Tables {
		for j := range m.Tables[i].Measures {
			if me := &m.Tables[i].Measures[j]; same(me.Name, name) {
				return me
			}
		}
	}
	return nil
}

// homeOf is the table that has a measure.
func homeOf(m *knowledge.Model, measure string) string {
	for i := range m.Tables {
		for _, me := range m.Tables[i].Measures {
			if same(me.Name, measure) {
				return m.Tables[i].Name
			}
		}
	}
	return ""
}

func same(a, b string) bool { return knowledge.Fold(a) == knowledge.Fold(b) }
