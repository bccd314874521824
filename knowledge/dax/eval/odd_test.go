package eval

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
)

// newSmall is two related tables with a few rows.
func newSmall(t testing.TB) *Engine {
	t.Helper()
	model := &knowledge.Model{
		Name: "Small",
		Tables: []knowledge.Table{
			{Name: "Sales", Columns: []knowledge.Column{
				{Name: "Key", DataType: knowledge.Int64}, {Name: "Amount", DataType: knowledge.Double},
				{Name: "Text", DataType: knowledge.String}, {Name: "Day", DataType: knowledge.DateTime},
			}, Measures: []knowledge.Measure{{Name: "Total", Expression: "SUM ( Sales[Amount] )"}}},
			{Name: "Dim", Columns: []knowledge.Column{{Name: "Key", DataType: knowledge.Int64}, {Name: "Name", DataType: knowledge.String}}},
		},
		Relationships: []knowledge.Relationship{{FromTable: "Sales", FromColumn: "Key", ToTable: "Dim", ToColumn: "Key"}},
	}
	sales, dim := NewRows("Sales"), NewRows("Dim")
	key, amount := sales.Column("Key", knowledge.Int64), sales.Column("Amount", knowledge.Double)
	text, day := sales.Column("Text", knowledge.String), sales.Column("Day", knowledge.DateTime)
	dimKey, name := dim.Column("Key", knowledge.Int64), dim.Column("Name", knowledge.String)
	for i := range 5 {
		key.AppendInt(int64(i % 3))
		amount.AppendFloat(float64(i) / 2)
		text.AppendText(strings.Repeat("x", i%3))
		day.AppendTime(time.Date(2024, 1, i+1, 0, 0, 0, 0, time.UTC))
	}
	for i := range 2 {
		dimKey.AppendInt(int64(i))
		name.AppendText(string(rune('a' + i)))
	}
	engine, err := New(model, []*Rows{sales, dim}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// oddArguments are of every sort; for most functions, most of them are wrong.
var oddArguments = []string{
	"", "1", "-1", "0.5", "2", "100", `"a"`, "BLANK ()", "TRUE ()", "Sales", "Sales[Amount]", "Sales[Text]", "Sales[Day]", "Sales[Key]",
	"[Total]", "{ 1, 2 }", "{ ( 1, 2 ) }", "VALUES ( Dim[Name] )", "FILTER ( Sales, FALSE () )", `dt"2024-01-02"`, `dt"2031-07-15"`, "DAY", "ASC",
	"1E300", "-1E300", "1E-300", "1 / 0", "0 / 0", "9223372036854775807", `""`, `"1|2"`, "ORDERBY ( Sales[Key] )", `"n"`, "ROLLUPGROUP ( Dim[Name] )",
}

// TestOddArguments calls every function with arguments of every sort, most of
// them wrong. What comes is an answer or an *Error, whatever the function: the
// query of a caller must not bring the process down.
func TestOddArguments(t *testing.T) { // SAMPLE-05
	t.Parallel()
	engine := newSmall(t)
	random := rand.New(rand.NewPCG(1, 2))
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(engine.functions)) {
		f := engine.functions[name]
		most := f.max
		if most < 0 {
			most = f.min + 4
		}
		calls = append(calls, name+" ()")
		for _, a := range oddArguments {
			// Each argument is first of all once; the others are any, more of them
			// numbers, of which most functions want some.
			args := make([]string, max(1, f.min+random.IntN(most-f.min+2)))
			for i := range args {
				args[i] = oddArguments[random.IntN(len(oddArguments))]
				if random.IntN(2) == 0 {
					args[i] = []string{"1", "0.5", "2", "100", `dt"2024-01-02"`, `dt"2031-07-15"`, "Sales[Amount]"}[random.IntN(7)]
				}
			}
			args[0] = a
			calls = append(calls, name+" ( "+strings.Join(args, ", ")+" )")
		}
	}
	answers := 0
	for i, x := range calls {
		query := []string{"EVALUATE " + x, "EVALUATE { " + x + " }", "EVALUATE { CALCULATE ( [Total], " + x + " ) }"}
		for _, query := range []string{query[i%3], query[(i+1)%3]} {
			result, err := tried(t, engine, query)
			var problem *Error
			switch {
			case err == nil && result != nil:
				answers++
			case !errors.As(err, &problem):
				t.Fatalf("%s: %v is no *Error", query, err)
			case problem.Message == "":
				t.Errorf("%s: an error without a message", query)
			}
		}
	}
	if answers < len(calls)/20 {
		t.Errorf("only %d of %d calls have an answer: the arguments are not odd but useless", answers, len(calls))
	}
}

// tried says which query it was that panicked.
func tried(t *testing.T, e *Engine, query string) (*Result, error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic", query)
			panic(r)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return e.Query(ctx, query, Identity{Unrestricted: true})
}

// TestQueriesAtOnce runs queries of one engine side by side, for the race
// detector, and on an engine made of the same rows again.
func TestQueriesAtOnce(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for _, query := range []string{
				`EVALUATE SUMMARIZECOLUMNS ( Dim[Name], "x", [Total] )`,
				`EVALUATE TOPN ( 2, Sales, Sales[Text] )`,
				`DEFINE COLUMN Sales[Twice] = Sales[Amount] * 2 EVALUATE { SUM ( Sales[Twice] ), SUMX ( Sales, [Total] ) }`,
				`EVALUATE { CALCULATE ( [Total], Sales[Text] = "X" ), DISTINCTCOUNT ( Sales[Day] ), MAX ( Sales[Text] ) }`,
			} {
				if _, err := engine.Query(t.Context(), query, Identity{Unrestricted: true}); err != nil {
					t.Errorf("%s: %v", query, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestCanceled ends a query whose caller has gone.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newSmall(t).Query(ctx, `EVALUATE { SUMX ( GENERATESERIES ( 1, 1000000 ), [Value] ) }`, Identity{Unrestricted: true})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestRowsTwice gives the same rows to two engines, as happens when the model is
// changed while the sample tenant runs.
func TestRowsTwice(t *testing.T) {
	t.Parallel()
	model := &knowledge.Model{Tables: []knowledge.Table{{Name: "T", Columns: []knowledge.Column{{Name: "c", DataType: knowledge.Int64}}}}}
	rows := NewRows("T")
	rows.Column("c", knowledge.Int64).AppendInt(7)
	for range 2 {
		engine, err := New(model, []*Rows{rows}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		result, err := engine.Query(t.Context(), "EVALUATE { COUNTROWS ( T ) }", Identity{})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Tables[0].Rows[0][0]; got != int64(1) {
			t.Errorf("got %v rows, want 1", got)
		}
	}
}
