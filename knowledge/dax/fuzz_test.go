package dax_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
)

var fuzzSeeds = append([]string{
	"EVALUATE Customer", "1--1", "F(1,,3)", "/* /* */ */", "VAR a = 1 RETURN a", "DEFINE FUNCTION f = ( x : scalar = 1 ) => x EVALUATE { f() }",
	"'a''b'[c]]d].[e]", "NOT a IN { ( 1, 2 ) }", "dt\"2026-01-01\"", "\xff\u2028\u200b", "INFO . VIEW . TABLES ( )", "DESC BLANKS LAST",
	"EVALUATE T ORDER BY [x] DESC START AT 1, @p", "((((", "-\u00a0-1", "1.e5", "ＡＢＣ[ｄ]", "1 + ( VAR a = 2 RETURN a ) * 3", "- - NOT - 1 ^ - 2",
}, everyPart...)

// Every text parses or is refused with errors that are in order and in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []parser{
			func(text string) (dax.Node, error) { return dax.ParseQuery(text) },
			func(text string) (dax.Node, error) { return dax.ParseExpr(text) },
			func(text string) (dax.Node, error) { return dax.ParseFunction("F", text) },
		} {
			n, err := parse(text)
			if err == nil {
				dax.Walk(n, func(n dax.Node) bool {
					if n.Pos().Offset > n.End() || n.End() > len(text) {
						t.Fatalf("%T is from %d to %d of %d", n, n.Pos().Offset, n.End(), len(text))
					}
					return true
				})
				continue
			}
			var errs *dax.Errors
			if !errors.As(err, &errs) || len(errs.List) == 0 || errs.Render() == "" {
				t.Fatalf("%q: got %v", text, err)
			}
			checkProblems(t, text, errs)
		}
	})
}

// What is formatted reads as the same tree and formats to itself.
func FuzzFormat(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	check := func(t *testing.T, text string, parse parser) {
		n, err := parse(text)
		if err != nil {
			return
		}
		once := dax.Format(n)
		again, err := parse(once)
		if err != nil {
			t.Fatalf("%q formats to %q: %v", text, once, err)
		}
		if dax.Outline(again) != dax.Outline(n) {
			t.Fatalf("%q means %s, formatted %s", text, dax.Outline(n), dax.Outline(again))
		}
		if twice := dax.Format(again); twice != once {
			t.Fatalf("%q formats to %q and then to %q", text, once, twice)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t, text, func(text string) (dax.Node, error) { return dax.ParseQuery(text) })
		check(t, text, func(text string) (dax.Node, error) { return dax.ParseExpr(text) })
	})
}

// Names and values come back as they were written.
func FuzzWrite(f *testing.F) {
	for i, s := range hostile {
		f.Add(s, hostile[(i+1)%len(hostile)], hostile[(i+2)%len(hostile)], hostile[(i+3)%len(hostile)], int64(i)-3, math.Pow(-10, float64(i-12)))
	}
	f.Fuzz(func(t *testing.T, table, column, measure, text string, whole int64, number float64) {
		for _, v := range []any{text, whole, number, time.Unix(whole, 0).UTC()} {
			checkWrite(t, table, column, measure, v)
		}
	})
}

// Every name of a query is bound or among the errors.
func FuzzResolve(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	f.Add("EVALUATE ADDCOLUMNS(Sales, \"a\", [City]) ORDER BY [a]")
	f.Add("DEFINE TABLE Customer = Customer MEASURE Sales[Total] = [Total] FUNCTION F = (Sales) => F(Sales[City]) EVALUATE CROSSJOIN(Customer, ROW(\"x\", F(1)))")
	f.Add("EVALUATE SUMMARIZECOLUMNS(Customer[City], ROLLUPADDISSUBTOTAL(Date[Year], \"sub\"), TREATAS({1}, Sales[Amount]), \"x\", Contact.Show(1))")
	ix := dax.NewIndex(shop())
	f.Fuzz(func(t *testing.T, text string) {
		q, err := dax.ParseQuery(text)
		if err != nil {
			x, err := dax.ParseExpr(text)
			if err != nil {
				return
			}
			q = dax.NewQuery(x)
		}
		res, err := ix.Resolve(q)
		if err != nil {
			return
		}
		dax.Walk(q, func(n dax.Node) bool {
			switch n := n.(type) {
			case *dax.Ref:
				if len(res.Refs[n]) == 0 {
					t.Fatalf("%q: the reference at %d is not bound", text, n.Pos().Offset)
				}
			case *dax.Name:
				if _, ok := res.Names[n]; !ok {
					t.Fatalf("%q: the name at %d is not bound", text, n.Pos().Offset)
				}
			case *dax.Call:
				if _, ok := res.Calls[n]; !ok {
					t.Fatalf("%q: the call at %d is not bound", text, n.Pos().Offset)
				}
			}
			return true
		})
	})
}
