package pii_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/pii"
)

// twins are two engines over one model whose rows differ in nothing but marked
// values. An answer that differs has read one, whether it shows it or not: as a
// predicate, as an order, as an error. The values of both are as long, and as many
// are different, since counting people is nobody's secret (PII-125).
func twins(t *testing.T) (*pii.Coverage, func(query string) (ran bool, difference string)) {
	t.Helper()
	m, one := leakModelWith(t, secret+"a", secret+"b", secret+"c")
	_, other := leakModelWith(t, "HIDDENz", "HIDDENm", "HIDDENd")
	answer := func(e *eval.Engine, query string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		result, err := e.Query(ctx, query, eval.Identity{Unrestricted: true})
		if err != nil {
			return "an error" // what it quotes, another control takes out
		}
		return fmt.Sprint(result.Tables)
	}
	return pii.Cover([]pii.Rule{rule("Customer[Email]", true)}, m), func(query string) (bool, string) {
		a, b := answer(one, query), answer(other, query)
		if a != b {
			return true, a + "\n" + b
		}
		return a != "an error", ""
	}
}

// Whatever passes the check answers the same, whatever the marked values are. The
// queries are random; the engine knows nothing of the check.
func TestMarkedValuesMakeNoDifference(t *testing.T) {
	c, differ := twins(t)
	f := &forger{Rand: rand.New(rand.NewPCG(3, 5)), mild: true}
	n := 40_000
	if testing.Short() {
		n = 4_000
	}
	passed, ran, refused, caught := 0, 0, 0, 0
	for range n {
		query := f.query()
		if pii.Check(query, c.Model(), c) != nil {
			if refused++; refused%25 == 0 {
				if _, difference := differ(query); difference != "" {
					caught++
				}
			}
			continue
		}
		passed++
		ok, difference := differ(query)
		if difference != "" {
			t.Fatalf("passes and depends on marked values:\n%s\n%s", query, difference)
		}
		if ok {
			ran++
		}
	}
	t.Logf("of %d queries %d passed and %d of them ran; of every 25th that was refused, %d depended on marked values", n, passed, ran, caught)
	if ran < n/50 || caught == 0 {
		t.Errorf("the queries are no test: %d ran, %d were caught", ran, caught)
	}
}

// argument is something to put where a function takes an argument of that letter.
func (f *forger) argument(letter byte) string {
	switch letter | 0x20 {
	case 't':
		return f.pick("Product", "Sales", "VALUES ( Customer[City] )", "VALUES ( Sales[Product] )", "ALL ( Product )", `ROW ( "Email", 1 )`, "CALENDAR ( 1, 3 )")
	case 'c':
		return f.pick("Customer[City]", "Customer[Key]", "Product[Kind]", "Sales[City]", "[City]")
	case 'm':
		return f.pick("[Count]", "[People]", "Sales[Count]")
	case 'f':
		return f.pick(`Customer[City] = "Oslo"`, "VALUES ( Product[Kind] )", "ALL ( Customer[City] )", "REMOVEFILTERS ( Product )", "Product")
	case 'n':
		return f.pick(`"Email"`, `"x"`, `"Customer[Email]"`)
	case 'w':
		return f.pick("ASC", "DESC", "DENSE", "INTEGER", "STRING", "DAY", "MONTH", "BOTH", "NONE", "KEEP", "1", `"Email"`)
	default:
		return f.pick("1", "2", `"a"`, `"`+secret+`a"`, "[Count]", "[People]", "BLANK ()", "TRUE ()", "Customer[City]", "Product[Kind]", "VALUES ( Product[Kind] )", "Product", "ASC", "0.5", "DATE ( 2026, 1, 1 )")
	}
}

// marks are spellings of something marked.
var marks = []string{
	"Customer[Email]", "customer[EMAIL]", "'Customer' [Email]", "ＣＵＳＴＯＭＥＲ[ｅｍａｉｌ]", "Customer", "'customer'", "VALUES ( Customer[Email] )",
	"Customer[Copy]", "Sales[Buyer]", "[List]", "[Any]", "[Top]", "Customer /* */ [Email]", "( Customer[Email] )", "- Customer[Email]",
	"MAXX ( Customer, 1 )", "FILTER ( ALL ( Customer ), TRUE )", `Customer[Email] & ""`, "{ Customer[Email] }", "NAMEOF ( Customer[Email] )",
}

// PII-83, PII-85, PII-91: every function, and in every place of it something
// marked: refused. With nothing marked in any place, what passes answers the same
// whatever the marked values are.
func TestEveryFunctionInEveryPlace(t *testing.T) {
	c, differ := twins(t)
	f := &forger{Rand: rand.New(rand.NewPCG(13, 17))}
	draws := 30
	if testing.Short() {
		draws = 4
	}
	functions, mentions, ran := 0, 0, 0
	for function := range dax.Functions() {
		functions++
		if strings.HasPrefix(function.Name, "RAND") || function.Name == "SAMPLE" {
			continue // no two answers are the same
		}
		for range draws {
			var args []string
			for i, n := 0, f.IntN(8); i < n && function.Arg(i) != 0; i++ {
				args = append(args, f.argument(function.Arg(i)))
			}
			for i := range args {
				marked := append([]string{}, args...)
				marked[i] = f.pick(marks...)
				query := called(function, marked)
				mentions++
				if pii.Check(query, c.Model(), c) == nil {
					t.Errorf("passes, with something marked as argument %d: %s", i+1, query)
				}
			}
			query := called(function, args)
			if pii.Check(query, c.Model(), c) != nil {
				continue
			}
			ok, difference := differ(query)
			if difference != "" {
				t.Errorf("passes and depends on marked values: %s\n%s", query, difference)
			}
			if ok {
				ran++
			}
		}
	}
	t.Logf("%d functions, %d calls with something marked, %d calls without that ran", functions, mentions, ran)
	if mentions < 20*functions*draws/30 || ran < functions*draws/60 {
		t.Errorf("the calls are no test")
	}
}

func called(f *dax.Function, args []string) string {
	call := f.Name + " ( " + strings.Join(args, ", ") + " )"
	switch f.Kind {
	case dax.TableFunction, dax.EitherFunction:
		return "EVALUATE " + call
	case dax.FilterModifier:
		return "EVALUATE { CALCULATE ( [Count], " + call + " ) }"
	case dax.GroupModifier:
		return `EVALUATE SUMMARIZE ( Product, ` + call + `, "x", [Count] )`
	case dax.WindowSpec:
		return "EVALUATE WINDOW ( 1, ABS, 2, ABS, ALL ( Product ), " + call + " )"
	}
	return "EVALUATE { " + call + " }"
}
