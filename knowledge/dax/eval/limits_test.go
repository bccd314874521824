package eval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// A query that wants more than there is ends in an error of its own kind, which
// IFERROR does not catch. SAMPLE-05
func TestLimits(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	engine.maxCells = 1 << 20 // the bound itself would take a minute
	var chain strings.Builder
	chain.WriteString("DEFINE MEASURE Sales[m0] = 1\n")
	for i := range 3000 {
		fmt.Fprintf(&chain, "MEASURE Sales[m%d] = [m%d] + 1\n", i+1, i)
	}
	for name, query := range map[string]string{
		"a series without an end":        `EVALUATE { COUNTROWS ( GENERATESERIES ( 1, 1E12 ) ) }`,
		"a series of small steps":        `EVALUATE { COUNTROWS ( GENERATESERIES ( 0, 1, 1E-12 ) ) }`,
		"a series in IFERROR":            `EVALUATE { IFERROR ( COUNTROWS ( GENERATESERIES ( 1, 1E12 ) ), 0 ) }`,
		"a join of large tables":         `DEFINE VAR a = GENERATESERIES ( 1, 100000 ) EVALUATE CROSSJOIN ( a, SELECTCOLUMNS ( a, "b", [Value] ) )`,
		"a join of many":                 `DEFINE VAR a = GENERATESERIES ( 1, 100 ) EVALUATE CROSSJOIN ( a, SELECTCOLUMNS ( a, "b", [Value] ), SELECTCOLUMNS ( a, "c", [Value] ), SELECTCOLUMNS ( a, "d", [Value] ), SELECTCOLUMNS ( a, "e", [Value] ) )`,
		"a join row by row":              `DEFINE VAR a = GENERATESERIES ( 1, 100000 ) EVALUATE GENERATE ( a, SELECTCOLUMNS ( a, "b", [Value] ) )`,
		"a natural join of equal keys":   `DEFINE VAR a = SELECTCOLUMNS ( GENERATESERIES ( 1, 5000 ), "k", 1, "v", [Value] ) EVALUATE NATURALINNERJOIN ( a, SELECTCOLUMNS ( GENERATESERIES ( 1, 5000 ), "k", 1, "w", [Value] ) )`,
		"tables in an iteration":         `EVALUATE { SUMX ( GENERATESERIES ( 1, 1000 ), COUNTROWS ( GENERATESERIES ( 1, 100000 ) ) ) }`,
		"tables kept in variables":       `DEFINE VAR a = GENERATESERIES ( 1, 100000 ) VAR b = ADDCOLUMNS ( a, "b", 1 ) VAR c = ADDCOLUMNS ( b, "c", 1, "d", 1, "e", 1, "f", 1 ) VAR d = UNION ( c, c, c ) EVALUATE { COUNTROWS ( d ) }`,
		"groups of columns not related":  `DEFINE TABLE A = GENERATESERIES ( 1, 5000 ) TABLE B = SELECTCOLUMNS ( GENERATESERIES ( 1, 5000 ), "b", [Value] ) EVALUATE SUMMARIZECOLUMNS ( A[Value], B[b] )`,
		"measures within measures":       chain.String() + "EVALUATE { [m3000] }",
		"functions that double":          `DEFINE FUNCTION f0 = ( x : EXPR ) => x + x FUNCTION f1 = ( x : EXPR ) => f0 ( f0 ( f0 ( f0 ( x ) ) ) ) FUNCTION f2 = ( x : EXPR ) => f1 ( f1 ( f1 ( x ) ) ) FUNCTION f3 = ( x : EXPR ) => f2 ( f2 ( f2 ( x ) ) ) EVALUATE { f3 ( 1 ) }`,
		"an addition with many operands": `EVALUATE { 1` + strings.Repeat(" + 1", 20_000) + ` }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tried(t, engine, query)
			if problem, ok := errors.AsType[*Error](err); !ok || problem.Kind != Exceeded {
				t.Errorf("got %v, want an error of kind %s", err, Exceeded)
			}
		})
	}
}

// A function that calls itself, and a calculation item that applies itself, have
// no end. SAMPLE-05
func TestEndless(t *testing.T) {
	t.Parallel()
	model := &knowledge.Model{Tables: []knowledge.Table{
		{Name: "T", Columns: []knowledge.Column{{Name: "a", DataType: knowledge.Int64}}, Measures: []knowledge.Measure{{Name: "M", Expression: "1"}}},
		{
			Name:    "Calc",
			Columns: []knowledge.Column{{Name: "Name", DataType: knowledge.String}},
			Items:   []knowledge.CalculationItem{{Name: "Again", Expression: `CALCULATE ( SELECTEDMEASURE (), Calc[Name] = "Again" )`}},
		},
	}}
	engine, err := New(model, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for query, kind := range map[string]ErrorKind{
		`EVALUATE { CALCULATE ( [M], Calc[Name] = "Again" ) }`:                                                    Exceeded,
		`DEFINE FUNCTION f = ( x ) => f ( x ) EVALUATE { f ( 1 ) }`:                                               Invalid,
		`DEFINE FUNCTION f = ( x ) => g ( x ) FUNCTION g = ( x ) => f ( x ) EVALUATE { f ( 1 ) }`:                 Invalid,
		`DEFINE MEASURE T[A] = [B] MEASURE T[B] = CALCULATE ( [A] ) EVALUATE { [A] }`:                             Invalid,
		`DEFINE COLUMN T[b] = T[c] COLUMN T[c] = T[b] EVALUATE T`:                                                 Invalid,
		`DEFINE MEASURE T[R] = [R] EVALUATE { IFERROR ( [R], 0 ) }`:                                               Invalid,
		`DEFINE MEASURE T[R] = SUMX ( T, [R] ) EVALUATE { 1 }`:                                                    Invalid,
		`DEFINE TABLE A = SELECTCOLUMNS ( B, "a", 1 ) TABLE B = SELECTCOLUMNS ( A, "a", 1 ) EVALUATE { 1 }`:       Invalid,
		`DEFINE VAR a = b VAR b = 1 EVALUATE { a }`:                                                               UnknownName,
		`EVALUATE { SUMX ( GENERATESERIES ( 1, 1000 ), IFERROR ( CALCULATE ( [M], Calc[Name] = "Again" ), 1 ) )}`: Exceeded,
	} {
		_, err := engine.Query(t.Context(), query, Identity{Unrestricted: true})
		if problem, ok := errors.AsType[*Error](err); !ok || problem.Kind != kind {
			t.Errorf("%s: got %v, want an error of kind %s", query, err, kind)
		}
	}
}

// A counting context says how often a query has looked whether to go on, which
// it does whenever it begins to go through rows.
type counting struct {
	context.Context
	n int
}

func (c *counting) Done() <-chan struct{} { return nil }

func (c *counting) Err() error {
	c.n++
	return nil
}

// A mistake anywhere in a query is told before a row is read, with its place.
// SAMPLE-05
func TestMistakesComeFirst(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	const work = `ADDCOLUMNS ( Sales, "x", SUMX ( Sales, Sales[Amount] ) )`
	for query, mistake := range map[string]string{
		"EVALUATE " + work + "\nEVALUATE Nope":                                                 "2:10 unknownName",
		"DEFINE VAR a = " + work + "\nEVALUATE { Nope[x] }":                                    "2:12 unknownName",
		"DEFINE COLUMN Sales[b] = SUMX ( Sales, 1 )\nEVALUATE { SUM ( Sales[Nope] ) }":         "2:18 unknownName",
		"DEFINE TABLE b = " + work + "\nEVALUATE FILTER ( b, b[Nope] = 1 )":                    "2:22 unknownName",
		"DEFINE VAR a = " + work + "\nVAR b = BETA.NOPE ( 1 )\nEVALUATE a":                     "2:9 unsupported",
		"DEFINE VAR a = " + work + "\nMEASURE Sales[m] = SUMX ( Sales )\nEVALUATE a":           "2:20 invalid",
		"EVALUATE " + work + "\nORDER BY [Nope]":                                               "2:10 unknownName",
		"EVALUATE " + work + "\nORDER BY [x] START AT @p":                                      "2:23 unsupported",
		"EVALUATE " + work + "\nEVALUATE { SUMX ( Sales, INFO.TABLES () ) }":                   "2:26 unsupported",
		"EVALUATE " + work + "\nEVALUATE { CALCULATE ( [Total], Sales[Amount] = [Total] ) }":   "2:49 invalid",
		"EVALUATE " + work + "\nEVALUATE { CALCULATE ( [Total], Sales[Key] = Dim[Key] ) }":     "2:33 invalid",
		"DEFINE VAR a = " + work + "\nEVALUATE FILTER ( a, Sales[Key]":                         "2:17 syntax",
		"DEFINE MEASURE Sales[m] = [n]\nMEASURE Sales[n] = NOPE ()\nEVALUATE " + work:          "2:20 unsupported",
		"DEFINE FUNCTION f = ( a ) =>\n  NOPE ( a )\nVAR v = " + work + "\nEVALUATE { f (1) }": "2:3 unsupported",
	} {
		ctx := &counting{Context: t.Context()}
		_, err := engine.Query(ctx, query, Identity{Unrestricted: true})
		problem, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: got %v, want %s", query, err, mistake)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", problem.Line, problem.Column, problem.Kind); got != mistake {
			t.Errorf("%s: got %s (%v), want %s", query, got, err, mistake)
		}
		if ctx.n > 0 {
			t.Errorf("%s: %d rows or more were read before %v", query, ctx.n, err)
		}
	}
	ctx := &counting{Context: t.Context()}
	if _, err := engine.Query(ctx, "EVALUATE "+work, Identity{Unrestricted: true}); err != nil || ctx.n == 0 {
		t.Errorf("the query without a mistake: %v, and %d rows read", err, ctx.n)
	}
}

// Every function of the language is computed, or refused by its name and place
// before a row is read. SAMPLE-05
func TestEveryFunctionIsKnownOrNamed(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	refused := 0
	for f := range dax.Functions() {
		if _, ok := engine.functions[knowledge.Fold(f.Name)]; ok || f.Kind == dax.StatementWord {
			continue
		}
		refused++
		for _, query := range []string{
			"EVALUATE FILTER ( Sales, SUMX ( Sales, 1 ) > 1 )\nEVALUATE { " + f.Name + " ( Sales ) }",
			"EVALUATE { CALCULATE ( [Total], Sales[Key] = 1,\n           " + f.Name + " ( Sales ) ) }",
			"DEFINE VAR a = SUMX ( Sales, 1 )\n MEASURE Dim[] = " + f.Name + " ()\nEVALUATE { 1 }",
		} {
			query = strings.Replace(query, "Dim[]", "Dim[m]", 1)
			ctx := &counting{Context: t.Context()}
			_, err := engine.Query(ctx, query, Identity{Unrestricted: true})
			problem, ok := errors.AsType[*Error](err)
			if !ok || problem.Kind != Unsupported || problem.Function != f.Name || problem.Line != 2 || problem.Column < 12 || ctx.n > 0 {
				t.Errorf("%s: got %v after %d rows", query, err, ctx.n)
			}
			if ok && !strings.Contains(problem.Message, f.Name) {
				t.Errorf("%s: %q does not name the function", query, problem.Message)
			}
		}
	}
	if refused == 0 {
		t.Log("there is no function that the engine lacks")
	}
}

// A query whose caller goes away in the middle ends soon, wherever it is.
// SAMPLE-05
func TestCanceledInTheMiddle(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	const series = `GENERATESERIES ( 1, 100000 )`
	for _, query := range []string{
		`EVALUATE { SUMX ( ` + series + `, SUMX ( ` + series + `, [Value] ) ) }`,
		`DEFINE VAR a = ` + series + ` EVALUATE { SUMX ( a, RANKX ( a, [Value] ) ) }`,
		`DEFINE VAR a = ` + series + ` EVALUATE FILTER ( a, COUNTROWS ( FILTER ( a, [Value] > EARLIER ( [Value] ) ) ) > 1 )`,
		`DEFINE VAR a = SELECTCOLUMNS ( GENERATESERIES ( 1, 4000 ), "a", [Value] ) EVALUATE { COUNTROWS ( FILTER ( CROSSJOIN ( a, SELECTCOLUMNS ( a, "b", [a] ) ), [a] = [b] ) ) + SUMX ( a, SUMX ( ` + series + `, [Value] ) ) }`,
		`DEFINE TABLE A = SELECTCOLUMNS ( GENERATESERIES ( 1, 3000 ), "a", [Value] ) TABLE B = SELECTCOLUMNS ( GENERATESERIES ( 1, 2000 ), "b", [Value] ) EVALUATE SUMMARIZECOLUMNS ( A[a], B[b], "x", IF ( SUMX ( A, A[a] ) < 0, 1 ) )`,
		`DEFINE MEASURE Sales[m] = SUMX ( ` + series + `, [Value] ) EVALUATE ADDCOLUMNS ( ` + series + `, "m", [m] )`,
		`EVALUATE { CONCATENATEX ( ` + series + `, SUMX ( ` + series + `, 1 ) ) }`,
		`EVALUATE TOPN ( 3, ` + series + `, SUMX ( ` + series + `, 1 ) )`,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		start := time.Now()
		_, err := engine.Query(ctx, query, Identity{Unrestricted: true})
		cancel()
		if problem, ok := errors.AsType[*Error](err); !errors.Is(err, context.Canceled) && !(ok && problem.Kind == Exceeded) {
			t.Errorf("%s: got %v", query, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: ended %s after its caller", query, took)
		}
	}
}
