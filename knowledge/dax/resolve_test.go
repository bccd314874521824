package dax_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

func shop() *knowledge.Model {
	table := func(name string, columns ...string) knowledge.Table {
		t := knowledge.Table{Name: name}
		for _, c := range columns {
			t.Columns = append(t.Columns, knowledge.Column{Name: c})
		}
		return t
	}
	m := &knowledge.Model{Name: "Shop", Tables: []knowledge.Table{
		table("Customer", "CustomerKey", "Name", "Email", "City"),
		table("Sales", "SalesKey", "CustomerKey", "Amount", "City"),
		table("Date", "Date", "Year"),
	}}
	m.Tables[1].Measures = []knowledge.Measure{{Name: "Total", Expression: "SUM(Sales[Amount])"}, {Name: "Email", Expression: "COUNTROWS(Sales)"}}
	m.Functions = []knowledge.Function{{Name: "Contact.Show", Expression: "( n : INT64 ) => MAXX(TOPN(n, Customer), Customer[Email])"}, {Name: "Contact.Broken", Expression: "?"}}
	return m
}

func bindings(res *dax.Resolution, n dax.Node) string {
	var parts []string
	dax.Walk(n, func(n dax.Node) bool {
		switch n := n.(type) {
		case *dax.Ref:
			var list []string
			for _, b := range res.Refs[n] {
				list = append(list, fmt.Sprintf("%s %s[%s]", b.Kind, b.Table, b.Name))
			}
			parts = append(parts, strings.Join(list, " or "))
		case *dax.Name:
			if b, ok := res.Names[n]; ok {
				parts = append(parts, fmt.Sprintf("%s %s", b.Kind, b.Name))
			} else {
				parts = append(parts, "?"+n.Value)
			}
		}
		return true
	})
	return strings.Join(parts, "; ")
}

func TestNamesOfQueries(t *testing.T) {
	for query, want := range map[string]string{
		"EVALUATE VALUES(customer[EMAIL])":                                                      "column Customer[Email]",
		"EVALUATE VALUES('Customer'[Email])":                                                    "column Customer[Email]",
		"EVALUATE VALUES(ＣＵＳＴＯＭＥＲ[ｅｍａｉｌ])":                                                      "column Customer[Email]", // PII-21
		"EVALUATE FILTER(Customer, [Email] = \"x\")":                                            "table Customer; column Customer[Email]",
		"EVALUATE { [Email] }":                                                                  "measure Sales[Email]",
		"EVALUATE { Date[Total] }":                                                              "measure Sales[Total]",
		"EVALUATE SELECTCOLUMNS(ROW(\"Email\", 1), \"y\", [Email])":                             "new column [Email]",
		"EVALUATE ADDCOLUMNS(Sales, \"a\", [City])":                                             "table Sales; column Sales[City]",
		"EVALUATE CROSSJOIN(Customer, Sales) ORDER BY [City]":                                   "table Customer; table Sales; column Customer[City] or column Sales[City]",
		"DEFINE VAR Customer = VALUES(Date[Year]) EVALUATE Customer":                            "column Date[Year]; variable Customer",
		"DEFINE VAR x = VALUES(Date[Year]) EVALUATE FILTER(x, [Year] > 1)":                      "column Date[Year]; variable x; column Date[Year]",
		"DEFINE MEASURE Sales[Total] = 1 EVALUATE { [Total] }":                                  "query measure Sales[Total]",
		"DEFINE COLUMN Sales[Ref] = RELATED(Customer[Email]) EVALUATE VALUES(Sales[Ref])":       "column Customer[Email]; query column Sales[Ref]",
		"DEFINE COLUMN Customer[x] = [City] EVALUATE { 1 }":                                     "column Customer[City]",
		"DEFINE TABLE Customer = VALUES(Date[Year]) EVALUATE Customer":                          "column Date[Year]; query table Customer",
		"DEFINE TABLE Customer = Customer EVALUATE Customer":                                    "table Customer; query table Customer",
		"DEFINE FUNCTION F = ( Sales : TABLEREF ) => COUNTROWS(Sales) EVALUATE { F(Customer) }": "parameter Sales; table Customer",
		"DEFINE FUNCTION F = ( t ) => CONCATENATEX(t, [Name], \",\") EVALUATE { F(Customer) }":  "parameter t; column Customer[Name]; table Customer",
		"EVALUATE TOPN(1, Date, Date[Year], DESC)":                                              "table Date; column Date[Year]; word DESC",
		// What a reference stood for before does not hold where a variable takes its table's name.
		"EVALUATE { MAX(Customer[City]), VAR Customer = SELECTCOLUMNS(Sales, \"City\", [Amount]) RETURN MAXX(Customer, Customer[City]), MIN(Customer[City]) }": "column Customer[City]; table Sales; column Sales[Amount]; variable Customer; new column [City] or column Customer[City]; column Customer[City]",
		"EVALUATE { DATEDIFF(1, 2, DAY) }": "word DAY",
	} {
		q, err := dax.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		res, err := dax.Resolve(q, shop())
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		got := bindings(res, q)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}

func TestUnknownNamesComeWithTheNearest(t *testing.T) {
	for query, want := range map[string]string{
		"EVALUATE Custmer":                                                    "the name Custmer is not known; did you mean Customer?",
		"EVALUATE VALUES(Customer[Emial])":                                    "the table Customer has no column, and the model no measure, named Emial; did you mean Email?",
		"EVALUATE VALUES(Customers[Email])":                                   "the table Customers is not known; did you mean Customer?",
		"EVALUATE { [Totla] }":                                                "no measure, and no column of the rows here, is named Totla; did you mean Total?",
		"EVALUATE { SUMXX(Sales, 1) }":                                        "the function SUMXX is not known; did you mean SUMX or SUM?",
		"EVALUATE CONCATENATEX(ROW(\"SecretM\",1),1,[SecretM])":               "named SecretM",
		"EVALUATE { [SecretM] & CONCATENATEX(ROW(\"SecretM\",1),[SecretM]) }": "column 12",
		"DEFINE MEASURE Nope[x] = 1 EVALUATE { 1 }":                           "the table Nope is not known",
	} {
		q, err := dax.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = dax.Resolve(q, shop())
		var errs *dax.Errors
		if !errors.As(err, &errs) || !strings.Contains(err.Error(), want) || len(errs.List) != 1 {
			t.Errorf("%s\ngot  %v\nwant %s", query, err, want)
		}
	}
}

func columns(res dax.Result) string {
	var parts []string
	for _, c := range res.Columns {
		s := c.Key
		if len(c.From) > 0 {
			s += " ←"
		}
		for _, f := range c.From {
			s += " " + f.String()
		}
		if c.Unknown {
			s += " ?"
		}
		parts = append(parts, s)
	}
	if res.Open {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// PII-122
func TestWhereTheColumnsOfAResultComeFrom(t *testing.T) {
	for query, want := range map[string]string{
		"EVALUATE Date":               "Date[Date] ← Date[Date], Date[Year] ← Date[Year]",
		"EVALUATE VALUES(date[YEAR])": "Date[Year] ← Date[Year]",
		"EVALUATE SELECTCOLUMNS(Customer, \"x\", LEFT([Name], 1), \"n\", LEN([Name]), [City])":                                                                                         "[x] ← Customer[Name], [n], Customer[City] ← Customer[City]",
		"EVALUATE ADDCOLUMNS(VALUES(Date[Year]), \"t\", [Total])":                                                                                                                      "Date[Year] ← Date[Year], [t] ← Sales[Total]",
		"EVALUATE SUMMARIZE(Sales, Customer[City], \"x\", MAX(Sales[Amount]))":                                                                                                         "Customer[City] ← Customer[City], [x] ← Sales[Amount]",
		"EVALUATE SUMMARIZECOLUMNS(Customer[City], ROLLUPADDISSUBTOTAL(Date[Year], \"sub\"), FILTER(VALUES(Sales[City]), [City] = \"x\"), \"a\", [Total], \"b\", COUNTROWS(Customer))": "Customer[City] ← Customer[City], Date[Year] ← Date[Year], [sub], [a] ← Sales[Total], [b]",
		"EVALUATE ROW(\"a\", MAX(Sales[Amount]), \"b\", SUM(Sales[Amount]))":                                                                                                           "[a] ← Sales[Amount], [b]",
		"EVALUATE { 1, MIN(Customer[Email]) }":                                                                                                                                         "[Value] ← Customer[Email]",
		"EVALUATE { ( 1, MIN(Customer[Email]) ) }":                                                                                                                                     "[Value1], [Value2] ← Customer[Email]",
		"EVALUATE UNION(VALUES(Date[Year]), VALUES(Customer[Email]))":                                                                                                                  "Date[Year] ← Customer[Email] Date[Year]",
		"EVALUATE TREATAS(VALUES(Customer[Email]), Date[Year])":                                                                                                                        "Date[Year] ← Customer[Email]",
		"DEFINE VAR a = SELECTCOLUMNS(Customer, \"x\", [Email]) VAR b = SELECTCOLUMNS(a, \"y\", [x] & \"!\") VAR c = ADDCOLUMNS(b, \"z\", [y]) EVALUATE SELECTCOLUMNS(c, \"w\", [z])": "[w] ← Customer[Email]",
		"DEFINE TABLE T = SELECTCOLUMNS(Customer, \"x\", [Email]) COLUMN T[y] = T[x] EVALUATE SELECTCOLUMNS(T, \"z\", T[y])":                                                          "[z] ← Customer[Email]",
		"EVALUATE GROUPBY(Sales, Sales[City], \"m\", MAXX(CURRENTGROUP(), [Amount]))":                                                                                                 "Sales[City] ← Sales[City], [m] ← Sales[Amount]",
		"EVALUATE GENERATE(VALUES(Date[Year]), ROW(\"y\", [Year] + 1))":                                                                                                               "Date[Year] ← Date[Year], [y] ← Date[Year]",
		"EVALUATE SELECTCOLUMNS(Customer, \"Product[Name]\", [Email])":                                                                                                                "Product[Name] ← Customer[Email]",
		"EVALUATE TOPN(1, VALUES(Date[Year]))":                                                                                                                                        "Date[Year] ← Date[Year]",
		"DEFINE FUNCTION F = ( x ) => x & \"!\" EVALUATE ROW(\"a\", F(MAX(Customer[Email])))":                                                                                         "[a] ← Customer[Email]",
		"EVALUATE ROW(\"a\", Contact.Show(1), \"b\", Contact.Broken(1))":                                                                                                              "[a] ← Customer[Email], [b] ?",
		"EVALUATE ROW(\"a\", IF(MAX(Sales[Amount]) > 1, MAX(Date[Year]), 0))":                                                                                                         "[a] ← Date[Year]",
		"EVALUATE ROW(\"a\", CALCULATE(MAX(Date[Year]), Customer[Email] = \"x\"))":                                                                                                    "[a] ← Date[Year]",
		"EVALUATE ROW(\"a\", TOCSV(Customer))":                                                                                                                                        "[a] ← Customer[CustomerKey] Customer[Name] Customer[Email] Customer[City]",
		"EVALUATE INDEX(1, VALUES(Date[Year]), ORDERBY([Year]))":                                                                                                                      "Date[Year] ← Date[Year]",
	} {
		q, err := dax.ParseQuery(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		res, err := dax.Resolve(q, shop())
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if got := columns(res.Results[0]); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}

// Every name that a public model uses is its own; only functions that nobody
// documents and visual calculations are left.
func TestHostileQueriesResolveInTime(t *testing.T) {
	ix := dax.NewIndex(shop())
	chain := "DEFINE VAR v0 = Customer "
	for i := 1; i < 3000; i++ {
		chain += fmt.Sprintf("VAR v%d = CROSSJOIN(v%d, v%d) ", i, i-1, i-1)
	}
	later := "DEFINE "
	for i := range 2000 {
		later += fmt.Sprintf("TABLE t%d = t%d ", i, i+1)
	}
	for name, text := range map[string]string{
		"doubling":    chain + "EVALUATE v2999",
		"later":       later + "TABLE t2000 = t0 EVALUATE t0",
		"nested adds": "EVALUATE " + strings.Repeat("ADDCOLUMNS(", 900) + "Customer" + strings.Repeat(`, "x", [Email])`, 900),
		"unknown":     "EVALUATE {" + strings.Repeat("[a],F(),", 8000) + "1}",
		"sum":         "EVALUATE {" + strings.Repeat("[Total]+", 8000) + "1}",
	} {
		q, err := dax.ParseQuery(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		start := time.Now()
		ix.Resolve(q)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

// A call with a number of arguments that its function does not take is an error
// that shows how it is called, before anything is evaluated. SAMPLE-05
func TestNumbersOfArguments(t *testing.T) {
	for call, want := range map[string]string{
		"TODAY(1)":                               "line 1, column 12: the function TODAY cannot be called with one argument; write TODAY ()",
		"SUMX(Sales)":                            "line 1, column 12: the function SUMX cannot be called with one argument; write SUMX ( table, expression )",
		"SUMX(Sales, 1, 2)":                      "line 1, column 12: the function SUMX cannot be called with 3 arguments; write SUMX ( table, expression )",
		"DIVIDE()":                               "line 1, column 12: the function DIVIDE cannot be called with no arguments; write DIVIDE ( numerator, denominator, [alternate_result] )",
		"DIVIDE(1, 2, 3)":                        "",
		"COALESCE(1)":                            "line 1, column 12: the function COALESCE cannot be called with one argument; write COALESCE ( expression, expression, … )",
		"COALESCE(1, 2, 3, 4, 5)":                "",
		"SWITCH(1, 2)":                           "line 1, column 12: the function SWITCH cannot be called with 2 arguments; write SWITCH ( expression, value, result, …, [else] )",
		"SWITCH(1, 2, 3)":                        "",
		"SWITCH(1, 2, 3, 4)":                     "",
		"SWITCH(1, 2, 3, 4, 5)":                  "",
		"COUNTROWS(ADDCOLUMNS(Sales, \"a\"))":    "line 1, column 22: the function ADDCOLUMNS cannot be called with 2 arguments; write ADDCOLUMNS ( table, name, expression, … )",
		"COUNTROWS(ADDCOLUMNS(Sales, \"a\", 1))": "",
		"COUNTROWS(ADDCOLUMNS(Sales, \"a\", 1, \"b\"))": "line 1, column 22: the function ADDCOLUMNS cannot be called with 4 arguments; write ADDCOLUMNS ( table, name, expression, … )",
		"COUNTROWS(CALCULATETABLE(Sales))":              "",
		"CALCULATE()":                                   "line 1, column 12: the function CALCULATE cannot be called with no arguments; write CALCULATE ( expression, [filter], … )",
		"t.inv . 2t(1)":                                 "line 1, column 12: the function t.inv.2t cannot be called with one argument; write T.INV.2T ( probability, deg_freedom )",
		"IF(TRUE(), , 1)":                               "",
		"IF(TRUE(), , 1, )":                             "line 1, column 12: the function IF cannot be called with 4 arguments; write IF ( logical_test, value_if_true, [value_if_false] )",
		"F()":                                           "line 1, column 12: the function F cannot be called with no arguments; write F ( a, [b] )",
		"F(1)":                                          "",
		"F(1, 2)":                                       "",
		"F(1, 2, 3)":                                    "line 1, column 12: the function F cannot be called with 3 arguments; write F ( a, [b] )",
		"Contact.Show()":                                "line 1, column 12: the function Contact.Show cannot be called with no arguments; write Contact.Show ( n )",
		"Contact.Show(1)":                               "",
		"Contact.Broken(1, 2, 3)":                       "", // nobody can tell
	} {
		q, err := dax.ParseQuery("EVALUATE { " + call + " }\n")
		if err == nil && strings.HasPrefix(call, "F(") {
			q.Definitions = define(t, "FUNCTION F = ( a, b = 1 ) => a + b")
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := dax.Resolve(q, shop()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", call, got, want)
		}
	}
}

func define(t *testing.T, text string) []dax.Definition {
	t.Helper()
	q, err := dax.ParseQuery("DEFINE " + text + " EVALUATE { 1 }")
	if err != nil {
		t.Fatal(err)
	}
	return q.Definitions
}

// Two things of the model whose names are the same to DAX are refused where they
// are used, and nowhere else. PII-21
func TestNamesThatCollide(t *testing.T) {
	m := &knowledge.Model{Tables: []knowledge.Table{
		{Name: "Sales", Columns: []knowledge.Column{{Name: "Amount"}}, Measures: []knowledge.Measure{{Name: "Total", Expression: "1"}, {Name: "Fine", Expression: "1"}}},
		{Name: "sales", Columns: []knowledge.Column{{Name: "Other"}}},
		{Name: "Columns", Columns: []knowledge.Column{{Name: "Key"}, {Name: "ＫＥＹ"}}},
		{Name: "Mixed", Columns: []knowledge.Column{{Name: "x"}, {Name: "y"}}, Measures: []knowledge.Measure{{Name: "TOTAL", Expression: "2"}, {Name: "X", Expression: "3"}}},
		{Name: "Free", Columns: []knowledge.Column{{Name: "x"}}},
	}, Functions: []knowledge.Function{{Name: "F", Expression: "() => 1"}, {Name: "f", Expression: "() => 2"}}}
	for query, refused := range map[string]bool{
		"EVALUATE Sales":                                      true,
		"EVALUATE VALUES(Sales[Amount])":                      true,
		"EVALUATE VALUES(SALES[Other])":                       true,
		"EVALUATE VALUES(Columns[key])":                       true,
		"EVALUATE Columns":                                    true,
		"EVALUATE { [total] }":                                true,
		"EVALUATE { Mixed[Total] }":                           true,
		"EVALUATE { F() }":                                    true,
		"EVALUATE { [x] }":                                    true,
		"EVALUATE VALUES(Mixed[X])":                           true,
		"EVALUATE { [Fine] }":                                 false,
		"EVALUATE VALUES(Free[X])":                            false,
		"DEFINE MEASURE Free[Total] = 1 EVALUATE { [Total] }": false, // the query's own
	} {
		q, err := dax.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dax.Resolve(q, m); (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "the model has two things") {
			t.Errorf("%s: got %v", query, err)
		}
	}
}
