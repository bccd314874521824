package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
)

// A writer makes up expressions over the shop: few parts, so that many of them
// mean the same.
type writer struct {
	*rand.Rand
	vars []string // in scope: name and kind
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (w *writer) variable(kind string) string {
	var fit []string
	for _, v := range w.vars {
		if v[:1] == kind {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 || w.IntN(3) > 0 {
		return ""
	}
	return pick(w.Rand, fit...)
}

// within writes an expression after a variable or two.
func (w *writer) within(make func() string) string {
	before := len(w.vars)
	defer func() { w.vars = w.vars[:before] }()
	if w.IntN(4) > 0 {
		return make()
	}
	kind := pick(w.Rand, "s", "t", "f")
	value := w.scalar(2)
	switch kind {
	case "t":
		value = w.table(1)
	case "f":
		value = w.filterTable(1)
	}
	name := fmt.Sprint(kind, len(w.vars))
	w.vars = append(w.vars, name)
	return "VAR " + name + " = " + value + " RETURN " + make()
}

func (w *writer) scalar(depth int) string {
	if v := w.variable("s"); v != "" {
		return v
	}
	if depth <= 0 {
		return pick(w.Rand, "[Units]", "SUM ( Sales[Quantity] )", "1", "0", "BLANK ()", "[Net sales]", "2")
	}
	sub := func() string { return w.scalar(depth - 1) }
	switch w.IntN(14) {
	case 0, 1, 2:
		return "CALCULATE ( " + strings.Join(append([]string{sub()}, w.filters()...), ", ") + " )"
	case 3:
		return "( " + w.within(func() string { return w.scalar(depth - 1) }) + " )"
	case 4:
		return sub() + pick(w.Rand, " + ", " - ", " * ") + sub()
	case 5:
		return pick(w.Rand, "SUMX", "AVERAGEX", "MAXX") + " ( " + w.table(depth-1) + ", " + pick(w.Rand, "Sales[Quantity]", w.scalar(depth-1)) + " )"
	case 6:
		return "COUNTROWS ( " + w.table(depth-1) + " )"
	case 7:
		return "IF ( " + w.truth(depth-1, false) + ", " + sub() + pick(w.Rand, "", ", BLANK ()", ", "+sub()) + " )"
	case 8:
		return pick(w.Rand, "SUM ( Sales[Quantity] )", "SUMX ( Sales, Sales[Quantity] )", "[Units]", "CALCULATE ( [Units] )", "COUNTROWS ( Sales )", "AVERAGE ( Sales[Quantity] )")
	case 9:
		return "TOTALYTD ( " + sub() + ", Calendar[Date] )"
	case 10:
		return "DIVIDE ( " + sub() + ", " + sub() + pick(w.Rand, "", ", BLANK ()", ", 0") + " )"
	case 11:
		return "CALCULATE ( " + sub() + " )"
	case 12:
		return pick(w.Rand, "MIN", "MAX") + " ( " + sub() + ", " + sub() + " )"
	}
	return "SWITCH ( " + sub() + ", 1, " + sub() + pick(w.Rand, "", ", BLANK ()") + " )"
}

func (w *writer) truth(depth int, column bool) string {
	what := func() string {
		if column {
			return pick(w.Rand, "Sales[Channel]", "Sales[Channel]", "Sales[Quantity]", "Customer[Region]")
		}
		return w.scalar(depth - 1)
	}
	left := what()
	value := pick(w.Rand, "0", "1", "2", "BLANK ()")
	if strings.HasSuffix(left, "[Channel]") || strings.HasSuffix(left, "[Region]") {
		value = pick(w.Rand, `"a"`, `"B"`, `""`, "BLANK ()")
	}
	switch w.IntN(10) {
	case 0, 1, 2:
		return left + pick(w.Rand, " = ", " == ", " <> ", " > ") + value
	case 3:
		return left + " IN { " + value + " }"
	case 4:
		return "NOT ( " + w.truth(depth-1, column) + " )"
	case 5, 6:
		if depth < -1 {
			break
		}
		return "( " + w.truth(depth-1, column) + pick(w.Rand, " && ", " || ") + w.truth(depth-1, column) + " )"
	case 7:
		return "ISBLANK ( " + left + " )"
	case 8:
		return value + pick(w.Rand, " = ", " < ") + left
	}
	return left + " = " + value
}

func (w *writer) column() string {
	return pick(w.Rand, "Sales[Channel]", "Sales[Quantity]", "Customer[Region]")
}

func (w *writer) filters() []string {
	var list []string
	for range 1 + w.IntN(2) {
		list = append(list, w.filter())
	}
	return list
}

func (w *writer) filter() string {
	switch w.IntN(9) {
	case 0, 1:
		return w.truth(0, true)
	case 2:
		return pick(w.Rand, "ALL", "REMOVEFILTERS", "ALLSELECTED", "VALUES") + " ( " + pick(w.Rand, w.column(), "Sales", "Customer") + " )"
	case 3:
		return pick(w.Rand, "ALL ( Sales[Channel], Sales[Quantity] )", "REMOVEFILTERS ()", "ALL ( Calendar )", "ALL ( Calendar[Date] )")
	case 4:
		return "KEEPFILTERS ( " + pick(w.Rand, w.truth(0, true), w.filterTable(1)) + " )"
	case 5:
		return pick(w.Rand, "DATESYTD ( Calendar[Date] )", "USERELATIONSHIP ( Sales[Shipped], Calendar[Date] )", "SAMEPERIODLASTYEAR ( Calendar[Date] )")
	}
	return w.filterTable(1)
}

// filterTable is a table of a column, mostly.
func (w *writer) filterTable(depth int) string {
	if v := w.variable("f"); v != "" {
		return v
	}
	switch w.IntN(6) {
	case 0:
		return pick(w.Rand, "ALL", "VALUES", "DISTINCT") + " ( " + w.column() + " )"
	case 1:
		return "( " + w.filterTable(depth) + " )"
	case 2:
		return "DATESYTD ( Calendar[Date] )"
	}
	c := w.column()
	value := pick(w.Rand, "0", "1", "BLANK ()")
	if c != "Sales[Quantity]" {
		value = pick(w.Rand, `"a"`, `"B"`, `""`, "BLANK ()")
	}
	condition := c + pick(w.Rand, " = ", " == ", " <> ") + value
	if w.IntN(2) == 0 {
		condition = "NOT ( " + condition + " )"
	}
	if w.IntN(3) == 0 {
		return "FILTER ( FILTER ( " + pick(w.Rand, "ALL", "VALUES") + " ( " + c + " ), " + condition + " ), " + w.scalar(1) + " > 0 )"
	}
	return "FILTER ( " + pick(w.Rand, "ALL ( "+c+" )", "VALUES ( "+c+" )", "ALL ( Sales )", "Sales", "ALL ( Sales[Channel], Sales[Quantity] )") + ", " + pick(w.Rand, condition, w.scalar(1)+" > 1") + " )"
}

func (w *writer) table(depth int) string {
	if v := w.variable("t"); v != "" {
		return v
	}
	switch w.IntN(7) {
	case 0, 1:
		return "Sales"
	case 2:
		return "ALL ( Sales )"
	case 3:
		return "CALCULATETABLE ( " + pick(w.Rand, "Sales", "ALL ( Sales )") + ", " + w.filter() + " )"
	case 4:
		return "FILTER ( " + w.table(depth-1) + ", " + w.truth(depth-1, false) + " )"
	}
	return "FILTER ( Sales, " + pick(w.Rand, `Sales[Channel] = "a"`, "Sales[Quantity] > 1", w.truth(depth, false)) + " )"
}

// BOOK-10: of made-up expressions, those that are the same to Compare give the same.
func TestMadeUpExpressionsThatAreTheSame(t *testing.T) {
	m := shop()
	ix := dax.NewIndex(m)
	e := newEngine(t, m)
	w := &writer{Rand: rand.New(rand.NewPCG(1, 7))}
	byForm := map[string][]string{}
	pairs, evaluated := 0, 0
	for range 8000 {
		w.vars = nil
		text := w.within(func() string { return w.scalar(3) })
		form, err := diff.Read(diff.Side{Text: text, Index: ix, Table: "Sales"})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		key := fmt.Sprint(form.Fingerprint())
		if slices.Contains(byForm[key], text) || len(byForm[key]) > 30 {
			continue
		}
		byForm[key] = append(byForm[key], text)
		if len(byForm[key]) == 1 {
			continue
		}
		pairs++
		agreed, ok, why := agree(t, e, m, "Sales", byForm[key][0], text)
		if !ok {
			continue // a filter on a column of which there is no single value
		}
		evaluated++
		if !agreed {
			t.Errorf("%s\nis the same to Compare as\n%s\nand gives %s", text, byForm[key][0], why)
		}
	}
	t.Logf("%d pairs, %d evaluated", pairs, evaluated)
	if evaluated < 200 {
		t.Error("too few could be evaluated")
	}
}
