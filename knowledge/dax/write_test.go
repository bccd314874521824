package dax_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// filtered is a query with the names and the value in every place that takes one.
func filtered(table, column, measure string, value dax.Expr) *dax.Query {
	return dax.NewQuery(
		dax.Fn("FILTER", dax.TableName(table), &dax.Binary{Op: "&&",
			X: dax.Equal(dax.Column(table, column), value),
			Y: &dax.Binary{Op: "IN", X: dax.Measure(measure), Y: &dax.TableConstructor{Rows: []dax.Expr{value, value}}},
		}),
		dax.OrderTerm{Expr: dax.Column(table, column), Descending: true})
}

// readBack parses a text of filtered and takes its parts out again.
func readBack(t *testing.T, text string) (table, column, measure string, value dax.Expr) {
	t.Helper()
	q, err := dax.ParseQuery(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(q.Definitions) != 0 || len(q.Evaluates) != 1 || len(q.Evaluates[0].OrderBy) != 1 || len(q.Evaluates[0].StartAt) != 0 {
		t.Fatalf("there is more than was written:\n%s", text)
	}
	filter, ok := q.Evaluates[0].Table.(*dax.Call)
	if !ok || filter.Func != "FILTER" || len(filter.Args) != 2 {
		t.Fatalf("no FILTER of two arguments:\n%s", text)
	}
	and, ok := filter.Args[1].(*dax.Binary)
	if !ok || and.Op != "&&" {
		t.Fatalf("no condition of two sides:\n%s", text)
	}
	equal, in := and.X.(*dax.Binary), and.Y.(*dax.Binary)
	list, ok := in.Y.(*dax.TableConstructor)
	if !ok || equal.Op != "=" || in.Op != "IN" || len(list.Rows) != 2 || dax.Outline(list.Rows[0]) != dax.Outline(equal.Y) {
		t.Fatalf("the condition is another one:\n%s", text)
	}
	name, ref, m := filter.Args[0].(*dax.Name), equal.X.(*dax.Ref), in.X.(*dax.Ref)
	order := q.Evaluates[0].OrderBy[0].Expr.(*dax.Ref)
	if !name.Quoted || !ref.Quoted || ref.Table != name.Value || m.HasTable || *order != (dax.Ref{Span: order.Span, Table: ref.Table, HasTable: true, Quoted: true, Name: ref.Name}) {
		t.Fatalf("the names are other ones:\n%s", text)
	}
	return name.Value, ref.Name, m.Name, equal.Y
}

// valueOf is the Go value of a literal.
func valueOf(t *testing.T, x dax.Expr) any {
	t.Helper()
	switch x := x.(type) {
	case *dax.Paren:
		return valueOf(t, x.X)
	case *dax.Text:
		return x.Value
	case *dax.Call:
		if len(x.Args) == 0 {
			return map[string]any{"TRUE": true, "FALSE": false, "BLANK": nil}[x.Func]
		}
	case *dax.Number:
		f, err := strconv.ParseFloat(x.Text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	case *dax.Unary:
		if f, ok := valueOf(t, x.X).(float64); ok && x.Op == "-" {
			return -f
		}
	case *dax.Binary: // the smallest whole number
		if x.Op == "-" {
			return valueOf(t, x.X).(float64) - valueOf(t, x.Y).(float64)
		}
	case *dax.Date:
		d, err := time.Parse("2006-01-02T15:04:05", x.Value)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatalf("no literal: %T", x)
	return nil
}

// Names and values come back as they were written, and nothing else does, whatever
// they hold. SAMPLE-05
func checkWrite(t *testing.T, table, column, measure string, v any) {
	t.Helper()
	value, ok := dax.Value(v)
	if !ok {
		return
	}
	text, err := dax.Write(filtered(table, column, measure, value))
	writable := true
	for _, name := range []string{table, column, measure} {
		writable = writable && name != "" && utf8.ValidString(name) && !strings.Contains(name, "\x00")
	}
	if (err == nil) != writable {
		t.Fatalf("%q %q %q %v: got %v, writable: %v", table, column, measure, v, err, writable)
	}
	if err != nil {
		return
	}
	gotTable, gotColumn, gotMeasure, x := readBack(t, text)
	if gotTable != table || gotColumn != column || gotMeasure != measure {
		t.Fatalf("the names %q, %q and %q came back as %q, %q and %q from\n%s", table, column, measure, gotTable, gotColumn, gotMeasure, text)
	}
	want := v
	switch n := v.(type) {
	case int:
		want = float64(n)
	case int64:
		want = float64(n)
	case time.Time:
		want = time.Date(n.Year(), n.Month(), n.Day(), n.Hour(), n.Minute(), n.Second(), 0, time.UTC)
	}
	if got := valueOf(t, x); got != want {
		t.Fatalf("the value %v came back as %v from\n%s", v, got, text)
	}
}

// hostile are names and texts that try to end early or to be something else.
var hostile = []string{
	"a", "", "'", "''", "]", "]]", "\"", "\"\"", `x'] "y") EVALUATE Customer //`, "a\nb", "a\r\nb", "--", "/*", "*/", "[", "{", "};", "\\", "\\'", "'\\",
	"a\x00b", "\xff", "\u2028", "\u202e", "\u200b", "’", "ＡＢ", "'[x]", "] + [", "x]]y", "@p", "$", "1", "EVALUATE", " x ", "\t",
}

func TestWhatIsWrittenComesBack(t *testing.T) {
	values := []any{
		nil, true, false, 0, 1, -1, math.MaxInt64, int64(math.MinInt64), 0.1, -2.5, 1e300, -1e-300, 5e-324, math.MaxFloat64, 1e21, 123456789.0,
		time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.FixedZone("", 7200)),
	}
	for _, s := range hostile {
		values = append(values, s)
	}
	for i, name := range hostile {
		for _, v := range values {
			checkWrite(t, name, hostile[(i*7+3)%len(hostile)], hostile[(i*5+1)%len(hostile)], v)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab'\"]}[{)(,;-/*\n\r\t \\@.:=äＡ\u202e\u2028")
	name := func() string {
		s := make([]rune, 1+random.IntN(12))
		for i := range s {
			s[i] = letters[random.IntN(len(letters))]
		}
		return string(s)
	}
	for range 2000 {
		checkWrite(t, name(), name(), name(), name())
	}
}

func TestValuesWithoutALiteral(t *testing.T) {
	for _, v := range []any{
		math.NaN(), math.Inf(1), math.Inf(-1), "a\x00", "\xff", uint8(1), []byte("a"), struct{}{},
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC),
	} {
		if x, ok := dax.Value(v); ok {
			t.Errorf("%v is written as %s", v, dax.Format(x))
		}
	}
}

// What is pasted into a tree where code stands is found out.
func TestWriteRefusesCode(t *testing.T) {
	const evil = "1 } EVALUATE { 2"
	for name, x := range map[string]dax.Expr{
		"a number":             &dax.Number{Text: evil},
		"a number with a name": &dax.Number{Text: "1 + [Secret]"},
		"a bare name":          &dax.Name{Value: "Sales } EVALUATE { 1"},
		"a bare name of two":   &dax.Name{Value: "Sales, Customer"},
		"a bare table":         &dax.Ref{Table: "Sales[a], Customer", HasTable: true, Name: "b"},
		"a function":           dax.Fn("BLANK(), F"),
		"a comment":            &dax.Name{Value: "a // "},
		"a date":               &dax.Date{Value: `2026-01-01" } EVALUATE { "x`},
		"a parameter":          &dax.Parameter{Name: "p } EVALUATE { 1"},
		"a variable":           &dax.Vars{Vars: []dax.VarDef{{Name: "a = 1 VAR b", Value: &dax.Number{Text: "2"}}}, Return: &dax.Number{Text: "3"}},
		"an operator":          &dax.Binary{Op: "+ 2 *", X: &dax.Number{Text: "1"}, Y: &dax.Number{Text: "3"}},
		"nothing":              nil,
	} {
		if text, err := dax.Write(dax.NewQuery(&dax.TableConstructor{Rows: []dax.Expr{x}})); err == nil {
			t.Errorf("%s is written:\n%s", name, text)
		}
	}
}
