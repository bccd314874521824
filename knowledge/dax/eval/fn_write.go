package eval

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// writingFunctions show a table as text.
func writingFunctions() map[string]function {
	return map[string]function{
		"tocsv":          scalarFunction(1, 4, (*compiler).toCSV),
		"tojson":         scalarFunction(1, 2, (*compiler).toJSON),
		"evaluateandlog": {min: 1, max: 3, compile: (*compiler).evaluateAndLog},
	}
}

// shownRows is how many rows are written where the call does not say.
const shownRows = 10

// rowsArg is the argument that says how many rows to write.
func (c *compiler) rowsArg(s *scope, x *dax.Call) func(e *env, rel *relation) int {
	if len(x.Args) < 2 || x.Args[1] == nil {
		return func(_ *env, rel *relation) int { return min(rel.n, shownRows) }
	}
	rows := c.scalarOf(s, x.Args[1])
	return func(e *env, rel *relation) int { return min(rel.n, max(0, small(rows(e)))) }
}

// toCSV is TOCSV ( table, rows, delimiter, headers ).
func (c *compiler) toCSV(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	rows := c.rowsArg(s, x)
	delimiter, headers := constant(value.OfText(",")).scalar, constant(value.True).scalar
	if len(x.Args) > 2 && x.Args[2] != nil {
		delimiter = c.scalarOf(s, x.Args[2])
	}
	if len(x.Args) > 3 && x.Args[3] != nil {
		headers = c.scalarOf(s, x.Args[3])
	}
	return node{scalar: func(e *env) value.Value {
		rel, between := table(e), delimiter(e).String()
		var lines []string
		if must(value.Truth(headers(e))) {
			lines = append(lines, strings.Join(columnNames(sc), between))
		}
		size := 0
		for row := range rows(e, rel) {
			cells := make([]string, len(sc.cols))
			for i := range cells {
				cells[i] = rel.at(i, row).String()
				if strings.ContainsAny(cells[i], "\"\n\r") || between != "" && strings.Contains(cells[i], between) {
					cells[i] = `"` + strings.ReplaceAll(cells[i], `"`, `""`) + `"`
				}
			}
			line := strings.Join(cells, between)
			if size += len(line); size > maxText {
				fail(Evaluation, "The text of the table would be too long.")
			}
			lines = append(lines, line)
		}
		return e.q.made(value.OfText(strings.Join(lines, "\n")))
	}}
}

// columnNames are the columns as TOCSV and TOJSON name them.
func columnNames(sc *schema) []string {
	var names []string
	for _, m := range sc.cols {
		names = append(names, quoteTable(m.table)+quoteColumn(m.name))
	}
	return names
}

// toJSON is TOJSON ( table, rows ). The number of rows is that of the table, also
// where fewer are written.
func (c *compiler) toJSON(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	rows := c.rowsArg(s, x)
	return node{scalar: func(e *env) value.Value {
		rel := table(e)
		var b strings.Builder
		b.WriteString("{\n\"header\": ")
		b.WriteString(jsonList(columnNames(sc)))
		b.WriteString(",\n\"rowCount\": ")
		b.WriteString(value.OfInt(int64(rel.n)).String())
		b.WriteString(",\n\"data\": [\n")
		for row := range rows(e, rel) {
			if row > 0 {
				b.WriteString(",\n")
			}
			cells := make([]any, len(sc.cols))
			for i := range cells {
				cells[i] = jsonValue(rel.at(i, row))
			}
			b.WriteString(jsonList(cells))
			if b.Len() > maxText {
				fail(Evaluation, "The text of the table would be too long.")
			}
		}
		b.WriteString("\n]\n}")
		return e.q.made(value.OfText(b.String()))
	}}
}

// jsonValue is a cell as JSON can hold it.
func jsonValue(v value.Value) any {
	switch f := v.Float(); {
	case v.Kind() == value.Date:
		return v.Time().Format("2006-01-02T15:04:05")
	case math.IsNaN(f) || math.IsInf(f, 0):
		return v.String()
	}
	return v.Any()
}

// jsonList writes values with a space after each comma.
func jsonList[T any](items []T) string {
	var parts []string
	for _, item := range items {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(item); err != nil {
			fail(Evaluation, "A value cannot be written as JSON: %s", err)
		}
		parts = append(parts, strings.TrimSuffix(b.String(), "\n"))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// evaluateAndLog is EVALUATEANDLOG ( value, label, rows ), which gives the value.
// Nobody listens to the log of the sample tenant.
func (c *compiler) evaluateAndLog(s *scope, x *dax.Call) node {
	for _, arg := range x.Args[1:] {
		c.scalarOf(s, arg)
	}
	return c.any(s, x.Args[0])
}
