package dax_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

// A parser reads a whole text.
type parser func(text string) (dax.Node, error)

// parserOf is the parser for a text: of a query, an expression or a function.
func parserOf(text publicText) parser {
	words := strings.Fields(text.text)
	switch {
	case text.function:
		return func(text string) (dax.Node, error) { return dax.ParseFunction("F", text) }
	case len(words) > 0 && (strings.EqualFold(words[0], "EVALUATE") || strings.EqualFold(words[0], "DEFINE")):
		return func(text string) (dax.Node, error) { return dax.ParseQuery(text) }
	}
	return func(text string) (dax.Node, error) { return dax.ParseExpr(text) }
}

func parseAny(text publicText) (dax.Node, error) { return parserOf(text)(text.text) }

// notDAX says of a public text why it is no DAX; empty for all others.
func notDAX(text publicText) string {
	switch {
	case text.text == "1,1" || text.text == "1,25":
		return "a number with a decimal comma"
	case strings.HasSuffix(text.from, "business_logic_DAX.txt"):
		return "a list of Name = expression"
	}
	return ""
}

func TestEveryExpressionOfThePublicModelsParses(t *testing.T) {
	texts := publicTexts(t)
	distinct := map[string]bool{}
	for _, text := range texts {
		if distinct[text.text] {
			continue
		}
		distinct[text.text] = true
		n, err := parseAny(text)
		if reason := notDAX(text); reason != "" {
			if err == nil {
				t.Errorf("%s: parses although it is %s:\n%s", text.from, reason, text.text)
			}
			continue
		}
		if err != nil {
			var errs *dax.Errors
			if errors.As(err, &errs) {
				t.Errorf("%s:\n%s\n%s", text.from, errs.Render(), text.text)
			} else {
				t.Errorf("%s: %v", text.from, err)
			}
			continue
		}
		if d, ok := n.(*dax.Definition); ok {
			n = d.Value
		}
		once := dax.Format(n)
		again, err := parseAny(publicText{text: once})
		if err != nil {
			t.Errorf("%s: formatted text does not parse: %v\n%s", text.from, err, once)
			continue
		}
		if twice := dax.Format(again); twice != once {
			t.Errorf("%s: formatting is not stable:\n%s\n--- then\n%s", text.from, once, twice)
		}
	}
	t.Logf("%d distinct texts of %d", len(distinct), len(texts))
	if len(distinct) < 850 {
		t.Errorf("only %d distinct texts were found: the extraction lost most of them", len(distinct))
	}
}

// shape writes a tree with every grouping in parentheses, so that a test sees how
// operators bind.
func shape(x dax.Expr) string {
	list := func(xs []dax.Expr) string {
		parts := make([]string, len(xs))
		for i, x := range xs {
			if x != nil {
				parts[i] = shape(x)
			}
		}
		return strings.Join(parts, ", ")
	}
	switch x := x.(type) {
	case *dax.Unary:
		return "(" + x.Op + " " + shape(x.X) + ")"
	case *dax.Binary:
		return "(" + shape(x.X) + " " + x.Op + " " + shape(x.Y) + ")"
	case *dax.Paren:
		return shape(x.X)
	case *dax.Tuple:
		return "<" + list(x.Items) + ">"
	case *dax.Call:
		return x.Func + "(" + list(x.Args) + ")"
	case *dax.TableConstructor:
		return "{" + list(x.Rows) + "}"
	case *dax.Vars:
		s := ""
		for _, v := range x.Vars {
			s += "VAR " + v.Name + " = " + shape(v.Value) + " "
		}
		return s + "RETURN " + shape(x.Return)
	case *dax.Ref:
		s := ""
		if x.HasTable {
			s = "T:" + x.Table + ":"
		}
		s += x.Name
		if x.Variation != "" {
			s += "." + x.Variation
		}
		return s
	case *dax.Name:
		return x.Value
	case *dax.Bool:
		return map[bool]string{true: "true", false: "false"}[x.Value]
	case *dax.Text:
		return "«" + x.Value + "»"
	case *dax.Date:
		return "dt«" + x.Value + "»"
	case *dax.Parameter:
		return "@" + x.Name
	}
	return strings.TrimSpace(dax.Format(x))
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		// Operators.
		"-2^2":                     "(- (2 ^ 2))",
		"2^-2":                     "(2 ^ (- 2))",
		"2^-2^2":                   "((2 ^ (- 2)) ^ 2)",
		"2^3^2":                    "((2 ^ 3) ^ 2)",
		"-2*3":                     "((- 2) * 3)",
		"1-2-3":                    "((1 - 2) - 3)",
		"1+2*3":                    "(1 + (2 * 3))",
		"1 - -1":                   "(1 - (- 1))",
		"1--1\n+2":                 "(1 + 2)", // -- starts a comment
		`1&2+3="x"`:                "((1 & (2 + 3)) = «x»)",
		"NOT a = b && c":           "((NOT (a = b)) && c)",
		"NOT NOT a":                "(NOT (NOT a))",
		"not(a) = b":               "(NOT (a = b))",
		"a || b && c":              "(a || (b && c))",
		"a = b = c":                "((a = b) = c)",
		"a == b":                   "(a == b)",
		"a <> b":                   "(a <> b)",
		"NOT x IN { 1, 2 }":        "(NOT (x IN {1, 2}))",
		"( a, b ) IN { ( 1, 2 ) }": "(<a, b> IN {<1, 2>})",
		"(1+2)*3":                  "((1 + 2) * 3)",
		"1 + NOT a = b":            "(1 + (NOT (a = b)))",

		// Names.
		"Sales[Amount]":                        "T:Sales:Amount",
		"'Sales'[Amount]":                      "T:Sales:Amount",
		"Sales /* a */ -- b\n // c\n\t[Email]": "T:Sales:Email",
		"'Cust''omer Extra'[E]]mail]":          "T:Cust'omer Extra:E]mail",
		"[a[b]":                                "a[b",
		"[ x ]":                                " x ",
		"Sales[Date].[Year]":                   "T:Sales:Date.Year",
		"[Date].[Year]":                        "Date.Year",
		"Sales\u00a0[Amount]":                  "T:Sales:Amount",
		"[a\nb]":                               "a\nb",
		"__x":                                  "__x",
		"größe":                                "größe",
		// Full-width letters make a name, which folding then catches. PII-21
		"ＣＵＳＴＯＭＥＲ[ｅｍａｉｌ]": "T:ＣＵＳＴＯＭＥＲ:ｅｍａｉｌ",

		// Literals.
		`"a""b"`:                  `«a"b»`,
		"\"a\nb\"":                "«a\nb»",
		"\"\u2028\u202e\"":        "«\u2028\u202e»",
		`dt"2026-3-1"`:            "dt«2026-3-1»",
		`DT"2026-03-01T10:00:00"`: "dt«2026-03-01T10:00:00»",
		`dt"2026-03-01 10:00"`:    "dt«2026-03-01 10:00»",
		"1.":                      "1.",
		".5":                      ".5",
		"1.5e-3":                  "1.5e-3",
		"1E3":                     "1E3",
		"TRUE":                    "true",
		"true()":                  "true()",
		"{ FALSE }":               "{false}",

		// Calls.
		"F()":                                "F()",
		"F(1,,3)":                            "F(1, , 3)",
		"F(,)":                               "F(, )",
		"iNfO . ViEw /* x */ . CoLuMnS ( )":  "iNfO.ViEw.CoLuMnS()", // PII-101
		"T.INV.2T(1,2)":                      "T.INV.2T(1, 2)",
		"VAR.P(T[x])":                        "VAR.P(T:T:x)",
		"RANK.EQ(1,[x],ASC)":                 "RANK.EQ(1, x, ASC)",
		"ORDERBY([x], DESC BLANKS LAST)":     "ORDERBY(x, DESC BLANKS LAST)",
		"ORDERBY([x], BLANKS FIRST)":         "ORDERBY(x, BLANKS FIRST)",
		"TOPN(@n, T)":                        "TOPN(@n, T)",
		"DATATABLE(\"a\",INTEGER,{{1},{2}})": "DATATABLE(«a», INTEGER, {{1}, {2}})",

		// Variables.
		"VAR a = 1 VAR b = a RETURN a + b":      "VAR a = 1 VAR b = a RETURN (a + b)",
		"VAR a = VAR b = 1 RETURN b RETURN a":   "VAR a = VAR b = 1 RETURN b RETURN a",
		"1 + VAR a = 1 RETURN a * 2":            "(1 + VAR a = 1 RETURN (a * 2))",
		"CALCULATE(VAR x = 1 RETURN x, T[a]=1)": "CALCULATE(VAR x = 1 RETURN x, (T:T:a = 1))",

		// Comments. PII-90
		"1 /* 'x'[y] \"z */ + 2":        "(1 + 2)",
		"\"-- no comment /*\" & [x//y]": "(«-- no comment /*» & x//y)",
		"1 // to the end /* of it":      "1",
		"1 -- CR LF\r\n+ 1":             "(1 + 1)",
	} {
		t.Run(text, func(t *testing.T) {
			x, err := dax.ParseExpr(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(x); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			again, err := dax.ParseExpr(dax.Format(x))
			if err != nil {
				t.Fatalf("formatted: %v\n%s", err, dax.Format(x))
			}
			if got := shape(again); got != want {
				t.Errorf("formatted as %s it means %s, want %s", dax.Format(x), got, want)
			}
		})
	}
}

// A text is refused with the place, what is wrong and what to write instead.
func TestProblems(t *testing.T) {
	for text, want := range map[string]string{
		"1 +":               "line 1, column 4: unexpected end of the text; expected an expression",
		"SUM(Sales[x]":      "line 1, column 4: the ( of SUM is not closed; add )",
		"F(1 2)":            "line 1, column 5: unexpected 2; expected an operator, a comma or )",
		"\n  )":             "line 2, column 3: unexpected ); expected an expression",
		"1 )":               "line 1, column 3: unexpected ); it closes nothing: remove it",
		"F(1; 2)":           "line 1, column 4: ; is not a sign of DAX as Power BI's API takes it; separate arguments with a comma, and write decimals with a point",
		"“a”":               "line 1, column 1: typographic quotation mark “; write \"…\" around texts and '…' around table names (and 1 more)",
		"a != b":            "line 1, column 3: != is not an operator; write <>",
		"x NOT IN {1}":      "line 1, column 3: NOT IN is not an operator; write NOT x IN { … }",
		"\"abc":             "line 1, column 1: the text that starts here has no end; close it with \"",
		"[abc":              "line 1, column 1: the column or measure name that starts here has no end; close it with ]",
		"'a":                "line 1, column 1: the table name that starts here has no end; close it with '",
		"1 /* a":            "line 1, column 3: the comment that starts here has no end; close it with */",
		"1 /* a /* b */ */": "line 1, column 8: a comment starts inside a comment; readers of DAX disagree on where such a comment ends: remove the inner /* (and 1 more)",
		"12abc":             "line 1, column 1: a number runs into a name: 12abc; put a blank or an operator between them, or quote the table name",
		"[]":                "line 1, column 1: the name is empty; write the name of a table, column or measure",
		`dt"31.3.2026"`:     `line 1, column 1: no such date: 31.3.2026; write dt"2026-03-31" or dt"2026-03-31T10:00:00"`,
		"{}":                "line 1, column 2: unexpected }; expected at least one row between the braces",
		"(1, 2) + 3":        "line 1, column 1: a row of several values where one is wanted; only IN and { … } take ( a, b )",
		"a.b":               "line 1, column 1: a.b is not a name; put a table name with dots in '…', or call a function with (…)",
		"'F'(1)":            "line 1, column 1: a table name in quotes before (; write the name of a function without quotes",
		"VAR x = 1":         "line 1, column 10: unexpected end of the text; expected VAR or RETURN after a variable",
		"VAR x 1 RETURN x":  "line 1, column 7: unexpected 1; expected = after the name of a variable",
		"a\u200bb":          "line 1, column 2: invisible character U+200B; remove it, or put the name that holds it in quotes or brackets",
		"1 // x\u2028+ 1":   "line 1, column 7: line end U+2028 in a comment; readers of DAX disagree on whether the comment ends here: end lines with LF or CR LF",
		"1 // x\r+ 1":       "line 1, column 7: line end U+000D in a comment; readers of DAX disagree on whether the comment ends here: end lines with LF or CR LF",
		"1 /* \u0085 */":    "line 1, column 6: line end U+0085 in a comment; readers of DAX disagree on whether the comment ends here: end lines with LF or CR LF",
		"1 // \u202e":       "line 1, column 6: character U+202E in a comment, which changes the order of the text on a screen; remove it",
		"1 \u2029+ 1":       "line 1, column 3: line end U+2029; end lines with LF or CR LF",
		"\u3164":            "line 1, column 1: invisible character U+3164; remove it, or put the name that holds it in quotes or brackets",
		"\xff":              "line 1, column 1: the text is not valid UTF-8; send the query as UTF-8",
		"（1）":               "line 1, column 1: the character （ is not a sign of DAX; put a name that holds it in '…' or […] (and 1 more)",
		"@":                 "line 1, column 1: @ has no name after it; write a parameter as @name",
		"x = 1 => 2":        "line 1, column 7: unexpected =>; a function is defined with DEFINE FUNCTION name = ( parameters ) => expression",
	} {
		t.Run(text, func(t *testing.T) {
			x, err := dax.ParseExpr(text)
			if err == nil {
				t.Fatalf("parses as %s", shape(x))
			}
			if got := err.Error(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAllProblemsOfAQueryAreReported(t *testing.T) {
	const text = `DEFINE
	MEASURE Sales[a] = SUM(,
	VAR x =
EVALUATE F(1 2, 3 4)
ORDER BY
EVALUATE { 1 ) }`
	_, err := dax.ParseQuery(text)
	var errs *dax.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("got %v", err)
	}
	lines := map[int]bool{}
	for _, p := range errs.List {
		lines[p.Pos.Line] = true
	}
	for _, line := range []int{4, 6} {
		if !lines[line] {
			t.Errorf("no problem in line %d:\n%s", line, errs.Render())
		}
	}
	if !strings.Contains(errs.Render(), "  \tMEASURE") && !strings.Contains(errs.Render(), "EVALUATE F(1 2, 3 4)\n  "+strings.Repeat(" ", 13)+"^") {
		t.Errorf("the carets are not where they should be:\n%s", errs.Render())
	}
}

func TestQueries(t *testing.T) {
	const text = `// A comment
DEFINE
	MEASURE 'Pick a measure'[Orders] = COUNTROWS(Sales)
	COLUMN Sales[Ref] = RELATED(Customer[Email])
	VAR x = 1
	/// Adds one.
	/// And that is all.
	FUNCTION My.Add = ( a : SCALAR INT64 VAL, b : ANYREF EXPR = 2, c ) => a + b
	TABLE 't t' = ROW("a", x)
		WITH VISUAL SHAPE
			AXIS ROWS GROUP [a] TOTAL [isTotal] GROUP [b], [c] ORDER BY [a] ASC, [b] DESC
			AXIS COLUMNS GROUP [d] ORDER BY [d]
			DENSIFY "isDense"
	MPARAMETER 'Region' = { "a", "b" }
EVALUATE 't t' ORDER BY 't t'[a] DESC, [b] START AT 1, @p
EVALUATE { My.Add(1) }`
	q, err := dax.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(q.Definitions) != 6 || len(q.Evaluates) != 2 {
		t.Fatalf("got %d definitions and %d EVALUATEs", len(q.Definitions), len(q.Evaluates))
	}
	f := q.Definitions[3]
	if f.Name != "My.Add" || f.Doc != "Adds one.\nAnd that is all." || len(f.Params) != 3 ||
		f.Params[0].Type != "SCALAR" || f.Params[0].Subtype != "INT64" || f.Params[0].ByExpr ||
		!f.Params[1].ByExpr || f.Params[1].Default == nil {
		t.Errorf("got function %+v", f)
	}
	if s := q.Definitions[4].Shape; s == nil || len(s.Axes) != 2 || len(s.Axes[0].Groups) != 2 || s.Axes[0].Groups[0].Total == nil ||
		len(s.Axes[0].Groups[1].Columns) != 2 || len(s.Axes[0].OrderBy) != 2 || s.Densify != "isDense" {
		t.Errorf("got shape %+v", s)
	}
	if e := q.Evaluates[0]; len(e.OrderBy) != 2 || !e.OrderBy[0].Descending || len(e.StartAt) != 2 {
		t.Errorf("got %+v", e)
	}
	if got := q.Definitions[2].Pos(); got.Line != 5 || got.Column != 2 {
		t.Errorf("VAR is at %+v", got)
	}
	if d := q.Definitions[2]; text[d.Pos().Offset:d.End()] != "VAR x = 1" {
		t.Errorf("VAR is %q", text[d.Pos().Offset:d.End()])
	}
	once := dax.Format(q)
	again, err := dax.ParseQuery(once)
	if err != nil {
		t.Fatalf("%v\n%s", err, once)
	}
	if twice := dax.Format(again); twice != once {
		t.Errorf("not stable:\n%s\n---\n%s", once, twice)
	}
}

func TestRefusedQueries(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "expected DEFINE or EVALUATE",
		"SELECT * FROM $SYSTEM.TMSCHEMA_COLUMNS": "this is not DAX", // PII-101
		"SELECT [a] FROM b":                      "this is not DAX",
		"1":                                      "expected DEFINE or EVALUATE",
		"DEFINE VAR x = 1":                       "the query has no EVALUATE",
		"DEFINE EVALUATE T":                      "after DEFINE",
		"EVALUATE T DEFINE VAR x = 1":            "DEFINE after EVALUATE",
		"EVALUATE T START AT 1":                  "START AT without ORDER BY",
		"EVALUATE T;":                            "; is not a sign of DAX",
		"EVALUATE T ORDER BY":                    "expected an expression",
		"DEFINE MEASURE [x] = 1 EVALUATE T":      "expected the name of a table",
	} {
		_, err := dax.ParseQuery(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", text, err, want)
		}
	}
}

// No text makes the parsers, the formatter or the errors hang or grow.
func TestHostileTexts(t *testing.T) {
	const n = 60_000
	const mebi = 1 << 20
	for name, text := range map[string]string{
		"parentheses":         strings.Repeat("(", n),
		"calls":               strings.Repeat("F(", n),
		"braces":              strings.Repeat("{", n),
		"signs":               strings.Repeat("- ", n) + "1",
		"NOTs":                strings.Repeat("NOT ", n) + "1",
		"variables":           strings.Repeat("VAR a = ", n),
		"commas":              "F(" + strings.Repeat(",", n) + ")",
		"sum":                 "1" + strings.Repeat("+1", n/2),
		"ands":                "1" + strings.Repeat("&&1", n/2),
		"comments":            strings.Repeat("/*", n),
		"dots":                strings.Repeat("a.", n),
		"zero width":          strings.Repeat("\u200b", n),
		"words":               strings.Repeat("a ", n),
		"evaluates":           strings.Repeat("EVALUATE ", n),
		"measures":            strings.Repeat("MEASURE ", n),
		"closings":            strings.Repeat(")", n),
		"wide and deep":       strings.Repeat("F(", 900) + strings.Repeat("1,", n) + "1" + strings.Repeat(")", 900),
		"1 MiB of operators":  strings.Repeat("+*&&", mebi/4),
		"1 MiB of a sum":      strings.Repeat("1+", mebi/2),
		"1 MiB of quotes":     strings.Repeat("'", mebi+1),
		"1 MiB of a text":     "\"" + strings.Repeat("\"\"", mebi/2),
		"1 MiB of a name":     strings.Repeat("a", mebi),
		"1 MiB of a number":   strings.Repeat("1", mebi),
		"1 MiB of lines":      strings.Repeat("\n", mebi) + ")",
		"1 MiB of a comment":  "/*" + strings.Repeat("*", mebi),
		"1 MiB of bad UTF-8":  strings.Repeat("\xff", mebi),
		"1 MiB of bad signs":  strings.Repeat("$ ", mebi/2),
		"1 MiB of docs":       strings.Repeat("///\n", mebi/4),
		"1 MiB of parameters": strings.Repeat("@", mebi),
	} {
		t.Run(name, func(t *testing.T) {
			check := func(err error) {
				var errs *dax.Errors
				if err == nil {
					return
				}
				if !errors.As(err, &errs) {
					t.Fatal(err)
				}
				if shown := errs.Render(); len(errs.List) > 50 || len(shown) > 50_000 {
					t.Errorf("%d errors in %d bytes", len(errs.List), len(shown))
				}
			}
			_, err := dax.ParseQuery("EVALUATE " + text)
			check(err)
			x, err := dax.ParseExpr(text)
			check(err)
			if err == nil {
				if formatted := dax.Format(x); len(formatted) > 200*len(text) {
					t.Errorf("formatting makes %d bytes of %d", len(formatted), len(text))
				}
				dax.Walk(x, func(dax.Node) bool { return true })
			}
		})
	}
	deep := strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400)
	if _, err := dax.ParseExpr(deep); err != nil {
		t.Errorf("400 levels: %v", err)
	}
}

// Twice the text takes about twice the memory.
func TestMemoryGrowsWithTheText(t *testing.T) {
	allocated := func(text string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, err := dax.ParseExpr(text)
		if err == nil {
			dax.Format(x)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for name, text := range map[string]func(n int) string{
		"sum":   func(n int) string { return "1" + strings.Repeat("+1", n) },
		"mixed": func(n int) string { return "1" + strings.Repeat("+1*2", n/2) },
		"arguments": func(n int) string {
			return strings.Repeat("F(", 500) + strings.Repeat("[a],", n) + "1" + strings.Repeat(")", 500)
		},
		"variables": func(n int) string { return strings.Repeat("VAR a = 1 ", n/4) + "RETURN a" },
		"errors":    func(n int) string { return strings.Repeat("1 2, $ ", n/4) },
		"comments":  func(n int) string { return strings.Repeat("/* x */ -- y\n", n) + "1" },
	} {
		small, large := allocated(text(10_000)), allocated(text(20_000))
		if large > 3*small+1<<20 {
			t.Errorf("%s: %d bytes for a text, %d for one of twice the length", name, small, large)
		}
	}
}
