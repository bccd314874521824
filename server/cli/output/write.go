package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

func (s Screen) write(b *bytes.Buffer, a *answer, f Format) error {
	if f == Table {
		s.table(b, a)
		return nil
	}
	records := [][]string{}
	if a.isList {
		records = append(records, a.rows.columns)
		for _, cells := range a.rows.cells {
			records = append(records, texts(cells))
		}
	} else {
		records = append(records, []string{"field", "value"})
		for _, fd := range a.fields {
			if inner, ok := fd.value.(*rows); ok {
				fd.value = inner.records()
			}
			records = append(records, []string{fd.name, text(fd.value)})
		}
	}
	if f == CSV {
		w := csv.NewWriter(b)
		return w.WriteAll(records)
	}
	for _, record := range records {
		for i, cell := range record {
			record[i] = line(cell) // a tab or a line end would be another cell or row
		}
		fmt.Fprintln(b, strings.Join(record, "\t"))
	}
	return nil
}

func texts(cells []any) []string {
	all := make([]string, len(cells))
	for i, c := range cells {
		all[i] = text(c)
	}
	return all
}

// records are the rows as JSON would have them.
func (r *rows) records() []any {
	all := make([]any, len(r.cells))
	for i, cells := range r.cells {
		record := map[string]any{}
		for j, c := range cells {
			if c != nil {
				record[r.columns[j]] = c
			}
		}
		all[i] = record
	}
	return all
}

func (s Screen) table(b *bytes.Buffer, a *answer) {
	if a.isList {
		s.grid(b, a.rows)
		return
	}
	widest := 0
	for _, f := range a.fields {
		if _, inner := f.value.(*rows); !inner {
			widest = max(widest, runewidth.StringWidth(f.name))
		}
	}
	for _, f := range a.fields {
		if inner, ok := f.value.(*rows); ok {
			fmt.Fprintf(b, "\n%s\n", s.Style(Bold, strings.ToUpper(f.name)))
			s.grid(b, inner)
			continue
		}
		said := Clean(text(f.value))
		if said == "" {
			continue
		}
		// A text of many lines stands under its name.
		if strings.Contains(said, "\n") {
			said = "\n    " + strings.ReplaceAll(strings.TrimRight(said, "\n"), "\n", "\n    ")
		}
		name := f.name
		if said[0] != '\n' {
			name = runewidth.FillRight(name, widest) + gap
		}
		fmt.Fprintf(b, "%s%s\n", s.Style(Quiet, name), said)
	}
}

// brief is a moment to the minute, a time of a query without its T and a day
// without its midnight, and any other text as it is.
func brief(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Format("2006-01-02 15:04Z")
	}
	if _, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
		return strings.TrimSuffix(strings.Replace(text, "T", " ", 1), " 00:00:00")
	}
	return text
}

const (
	gap      = "  "
	ellipsis = "…"
)

// grid writes rows so that each takes one line of the terminal: the widest columns
// give way first, and a cell that does not fit ends in an ellipsis.
func (s Screen) grid(b *bytes.Buffer, r *rows) {
	shown := r.shown()
	if len(shown) == 0 {
		return
	}
	cells := make([][]string, 0, len(r.cells)+1)
	head := make([]string, len(shown))
	for i, c := range shown {
		head[i] = line(r.columns[c])
		if !strings.ContainsAny(head[i], "[]") { // a name of a query's column stays as DAX has it
			head[i] = strings.ToUpper(strings.ReplaceAll(head[i], "_", " "))
		}
	}
	cells = append(cells, head)
	isNumber := make([]bool, len(shown))
	for i, c := range shown {
		isNumber[i] = r.isNumber(c)
	}
	for _, row := range r.cells {
		record := make([]string, len(shown))
		for i, c := range shown {
			record[i] = line(brief(text(row[c])))
		}
		cells = append(cells, record)
	}
	widths := fit(cells, s.Width, func(i int) bool { return r.isID(shown[i]) })
	for n, record := range cells {
		var out strings.Builder
		for i, cell := range record {
			cell = runewidth.Truncate(cell, widths[i], ellipsis)
			switch {
			case isNumber[i]:
				cell = runewidth.FillLeft(cell, widths[i])
			case i < len(record)-1:
				cell = runewidth.FillRight(cell, widths[i])
			}
			if i > 0 {
				out.WriteString(gap)
			}
			if n == 0 {
				cell = s.Style(Bold, cell)
			}
			out.WriteString(cell)
		}
		fmt.Fprintln(b, strings.TrimRight(out.String(), " "))
	}
}

// shown are the columns that a person wants to see: those that some row fills, but
// for ids where the rows have names.
func (r *rows) shown() []int {
	named := slices.Contains(r.columns, "name")
	var all []int
	for c, name := range r.columns {
		if r.isEmpty(c) || (named && r.isID(c)) || (strings.HasSuffix(name, "_id") && r.ofAnother(c)) {
			continue
		}
		all = append(all, c)
	}
	return all
}

// isEmpty reports whether a column says nothing: no row has a value, or none is
// other than false.
func (r *rows) isEmpty(column int) bool {
	return !slices.ContainsFunc(r.cells, func(row []any) bool { return row[column] != false && text(row[column]) != "" })
}

var idForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (r *rows) isID(column int) bool {
	return !slices.ContainsFunc(r.cells, func(row []any) bool {
		said := text(row[column])
		return said != "" && !idForm.MatchString(said)
	})
}

// ofAnother reports whether a column has the ids of things whose names another
// column has: dataset_id beside dataset.
func (r *rows) ofAnother(column int) bool {
	return slices.Contains(r.columns, strings.TrimSuffix(r.columns[column], "_id"))
}

func (r *rows) isNumber(column int) bool {
	is := false
	for _, row := range r.cells {
		switch row[column].(type) {
		case json.Number:
			is = true
		case nil:
		default:
			return false
		}
	}
	return is
}

// narrowest is the width below which no column gives way, as long as another can.
const narrowest = 8

// fit returns the width of each column, so that all of them and the gaps between
// are no wider than width, where that is possible at all. An id is of use only as
// a whole and gives way last.
func fit(cells [][]string, width int, isID func(int) bool) []int {
	widths := make([]int, len(cells[0]))
	for _, record := range cells {
		for i, cell := range record {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	if width <= 0 {
		return widths
	}
	for _, least := range []int{narrowest, narrowest / 2, 1} {
		for {
			total, widest := len(gap)*(len(widths)-1), -1
			for i, w := range widths {
				total += w
				if w > least && (least == 1 || !isID(i)) && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if total <= width {
				return widths
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}
