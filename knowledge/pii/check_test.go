package pii_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
)

type evasion struct {
	ID, Title, Query, Lesson string
	Reads                    []string
}

func evasions(t testing.TB) []evasion {
	t.Helper()
	path := os.Getenv("PBMB_PUBLIC_MODELS")
	for dir, _ := os.Getwd(); path == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "shared/data/powerbi")); err == nil {
			path = filepath.Join(dir, "shared/data/powerbi")
		}
	}
	b, err := os.ReadFile(filepath.Join(path, "dax-evasions.json"))
	if err != nil {
		t.Skip("the list of evasions is not here; set PBMB_PUBLIC_MODELS to its folder")
	}
	var list []evasion
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEvasions(t *testing.T) {
	m := shop()
	c := pii.Cover(personal(), m)
	for _, e := range evasions(t) {
		t.Run(e.ID+" "+e.Title, func(t *testing.T) {
			r := pii.Check(e.Query, m, c)
			if r == nil {
				t.Fatalf("passes: %s\nit reads %v: %s", e.Query, e.Reads, e.Lesson)
			}
			t.Log(r.Sentence())
		})
	}
}

func TestRefusedQueries(t *testing.T) {
	m := shop()
	c := pii.Cover(append(personal(), measureRule("Sales[Net sales]", true)), m)
	for query, want := range map[string]string{
		// PII-81, PII-83
		"EVALUATE VALUES ( Customer[Email] )": "marked Customer[Email]",
		"EVALUATE SUMMARIZECOLUMNS ( Customer[City], Customer[email], CUSTOMER[PHONE], Customer[Email] )": "marked Customer[Email], marked Customer[Phone]",
		// PII-82
		`EVALUATE ROW ( "x", [Net sales] )`:        "marked Sales[Net sales]",
		`EVALUATE ROW ( "x", sales[NET SALES] )`:   "marked Sales[Net sales]",
		`EVALUATE ROW ( "x", Product[Net sales] )`: "marked Sales[Net sales]",
		// PII-84
		"EVALUATE Customer":     "whole_table Customer",
		"EVALUATE 'Customer'":   "whole_table Customer",
		"EVALUATE ( customer )": "whole_table Customer",
		// PII-85
		`EVALUATE FILTER ( Customer, Customer[City] = "x" )`:                            "whole_table Customer",
		`EVALUATE ADDCOLUMNS ( Customer, "n", 1 )`:                                      "whole_table Customer",
		`EVALUATE SELECTCOLUMNS ( Customer, "n", 1 )`:                                   "whole_table Customer",
		"EVALUATE TOPN ( 1, Customer )":                                                 "whole_table Customer",
		"EVALUATE { COUNTROWS ( Customer ) }":                                           "whole_table Customer",
		"EVALUATE SUMMARIZE ( Customer, Customer[City] )":                               "whole_table Customer",
		"EVALUATE CALCULATETABLE ( Customer )":                                          "whole_table Customer",
		"EVALUATE GENERATE ( VALUES ( Product[Category] ), RELATEDTABLE ( Customer ) )": "whole_table Customer",
		"EVALUATE ALL ( Customer )":                                                     "whole_table Customer",
		"EVALUATE DISTINCT ( Customer )":                                                "whole_table Customer",
		"EVALUATE UNION ( Customer, Customer )":                                         "whole_table Customer",
		"EVALUATE NATURALINNERJOIN ( Product, Customer )":                               "whole_table Customer",
		"EVALUATE GENERATE ( Customer, Product )":                                       "whole_table Customer",
		"EVALUATE CROSSJOIN ( Customer, Product )":                                      "whole_table Customer",
		`EVALUATE { TOCSV ( Customer ) }`:                                               "whole_table Customer",
		`EVALUATE { TOJSON ( Customer, 10 ) }`:                                          "whole_table Customer",
		"EVALUATE SUBSTITUTEWITHINDEX ( Customer, \"i\", VALUES ( Customer[City] ) )":   "whole_table Customer",
		"DEFINE MEASURE Customer[m] = COUNTROWS () EVALUATE { [m] }":                    "whole_table Customer",
		// PII-87
		"EVALUATE VALUES ( 'Cust''omer Extra'[New] )": "not_known Cust'omer Extra[New]",
		// PII-88
		"EVALUATE VALUES ( 'Cust''omer Extra'[E]]mail] )":                   "marked Cust'omer Extra[E]mail]",
		"EVALUATE VALUES ( 'Customer'\n\t[Email] )":                         "marked Customer[Email]",
		"EVALUATE VALUES ( Customer /* [City] */ -- x\r\n // y\n [Email] )": "marked Customer[Email]",
		"EVALUATE VALUES ( Customer\u00a0[Email] )":                         "marked Customer[Email]",
		// PII-21
		"EVALUATE VALUES ( ＣＵＳＴＯＭＥＲ[ｅｍａｉｌ] )":   "marked Customer[Email]",
		"EVALUATE VALUES ( 'ｃustomer'[ＥMAIL] )": "marked Customer[Email]",
		"EVALUATE ｃｕｓｔｏｍｅｒ":                     "whole_table Customer",
		// PII-89
		`EVALUATE FILTER ( Customer, [Email] = "a" )`:                        "whole_table Customer, marked Customer[Email]",
		`EVALUATE SELECTCOLUMNS ( VALUES ( Customer[City] ), "x", [Email] )`: "marked Customer[Email]",
		`EVALUATE SUMMARIZECOLUMNS ( Customer[City], "x", [Phone] )`:         "marked Customer[Phone]",
		// PII-91
		"DEFINE VAR x = VALUES ( Customer[Email] ) EVALUATE { 1 }":                                                       "marked Customer[Email]",
		"DEFINE MEASURE Sales[x] = MAX ( Customer[Email] ) EVALUATE { 1 }":                                               "marked Customer[Email]",
		"DEFINE COLUMN Sales[x] = RELATED ( Customer[Email] ) EVALUATE { 1 }":                                            "marked Customer[Email]",
		"DEFINE COLUMN Customer[x] = [Email] EVALUATE { 1 }":                                                             "marked Customer[Email]",
		"DEFINE MEASURE Customer[x] = MAX ( [Email] ) EVALUATE { 1 }":                                                    "marked Customer[Email]",
		"DEFINE TABLE x = VALUES ( Customer[Email] ) EVALUATE { 1 }":                                                     "marked Customer[Email]",
		"DEFINE TABLE x = VALUES ( Product[Category] ) WITH VISUAL SHAPE AXIS ROWS GROUP Customer[Email] EVALUATE { 1 }": "marked Customer[Email]",
		"DEFINE FUNCTION f = ( ) => MAX ( Customer[Email] ) EVALUATE { 1 }":                                              "marked Customer[Email]", // PII-128
		"DEFINE FUNCTION f = ( x = MAX ( Customer[Email] ) ) => x EVALUATE { 1 }":                                        "marked Customer[Email]",
		"EVALUATE VALUES ( Product[Category] ) ORDER BY CALCULATE ( MAX ( Customer[Email] ) )":                           "marked Customer[Email]",
		"EVALUATE VALUES ( Product[Category] ) ORDER BY [Category] START AT Customer[Email]":                             "marked Customer[Email]",
		"EVALUATE { 1 } EVALUATE VALUES ( Customer[Email] )":                                                             "marked Customer[Email]",
		// PII-92
		"DEFINE VAR Customer = VALUES ( Customer[Email] ) EVALUATE Customer":                                                     "marked Customer[Email]",
		"DEFINE VAR Product = Customer EVALUATE Product":                                                                         "whole_table Customer",
		"DEFINE VAR Ｃustomer = VALUES ( Product[Category] ) EVALUATE Customer":                                                   "whole_table Customer",
		"DEFINE VAR customer = VALUES ( Product[Category] ) EVALUATE Customer":                                                   "whole_table Customer",
		"DEFINE VAR Customer = VALUES ( Product[Category] ) EVALUATE 'Customer'":                                                 "whole_table Customer",
		"DEFINE VAR Customer = VALUES ( Product[Category] ) EVALUATE VALUES ( Customer[Email] )":                                 "marked Customer[Email]",
		"DEFINE TABLE Customer = Customer EVALUATE Customer":                                                                     "whole_table Customer",
		"DEFINE TABLE A = Customer TABLE Customer = VALUES ( Product[Category] ) EVALUATE A":                                     "whole_table Customer",
		"DEFINE TABLE Customer = ROW ( \"Email\", 1 ) EVALUATE VALUES ( Customer[Email] )":                                       "marked Customer[Email]",
		"DEFINE COLUMN Customer[Email] = 1 EVALUATE VALUES ( Customer[Email] )":                                                  "marked Customer[Email]",
		"DEFINE FUNCTION F = ( Product : TABLEREF ) => CONCATENATEX ( Product, [Email], \",\" ) EVALUATE { F ( Customer ) }":     "marked Customer[Email], whole_table Customer",
		"DEFINE FUNCTION F = ( t : ANYREF ) => CONCATENATEX ( t, t[Email], \",\" ) EVALUATE { F ( VALUES ( Customer[City] ) ) }": "marked Customer[Email]",
		"DEFINE FUNCTION F = ( e : EXPR ) => CONCATENATEX ( VALUES ( Customer[City] ), e, \",\" ) EVALUATE { F ( [Email] ) }":    "marked Customer[Email]",
		"DEFINE FUNCTION COLUMNSTATISTICS = ( ) => { 1 } EVALUATE COLUMNSTATISTICS ()":                                           "reader COLUMNSTATISTICS",
		"DEFINE FUNCTION ＣOLUMNSTATISTICS = ( ) => { 1 } EVALUATE COLUMNSTATISTICS ()":                                           "reader COLUMNSTATISTICS",
		"DEFINE FUNCTION Contact.Show = ( x ) => 1 EVALUATE { contact.show ( 1 ) }":                                              "user_function Contact.Show",
		"DEFINE MEASURE Sales[Net sales] = 1 EVALUATE { [Net sales] }":                                                           "",
		// PII-97, PII-98, PII-99, PII-100, PII-101
		"EVALUATE COLUMNSTATISTICS ()":                            "reader COLUMNSTATISTICS",
		"EVALUATE ＣＯＬＵＭＮＳＴＡＴＩＳＴＩＣＳ ( )":                           "reader COLUMNSTATISTICS",
		"EVALUATE DETAILROWS ( [Total Sales] )":                   "reader DETAILROWS",
		"EVALUATE INFO.VIEW.MEASURES ()":                          "reader INFO.VIEW.MEASURES",
		"EVALUATE iNfO . ViEw\n. CoLuMnS ( )":                     "reader INFO.VIEW.COLUMNS",
		"EVALUATE ＩＮＦＯ.ＶＩＥＷ.ＴＡＢＬＥＳ()":                             "reader INFO.VIEW.TABLES",
		"EVALUATE INFO.SOMETHING ()":                              "reader INFO.SOMETHING",
		"EVALUATE SELECTCOLUMNS ( INFO.ROLES (), \"x\", [Name] )": "reader INFO.ROLES",
		`EVALUATE { EXTERNALMEASURE ( "x", STRING, "y" ) }`:       "reader EXTERNALMEASURE",
		"EVALUATE TABLEOF ( Customer[City] )":                     "reader TABLEOF",
		"EVALUATE CALENDARAUTO ()":                                "reader CALENDARAUTO",
		"DEFINE MPARAMETER 'x' = 1 EVALUATE { 1 }":                "reader MPARAMETER",
		"EVALUATE { SOMETHINGNEW ( 1 ) }":                         "not_known SOMETHINGNEW()",
		"EVALUATE { RUNNINGSUM ( [Total Sales] ) }":               "reader RUNNINGSUM",
		"SELECT * FROM $SYSTEM.TMSCHEMA_COLUMNS":                  "unreadable ",
		"EVALUATE 'INFO.VIEW.TABLES' ()":                          "unreadable ",
		"EVALUATE { @p }":                                         "not_known @p",
		// PII-105, PII-107
		"EVALUATE VALUES ( '" + dateTable + "'[Date] )":    "joined " + dateTable + "[Date]",
		"EVALUATE VALUES ( '" + dateTable + "'[Year] )":    "keyed " + dateTable + "[Year]",
		"EVALUATE '" + dateTable + "'":                     "whole_table " + dateTable,
		"EVALUATE { MAX ( Customer[Birth Date].[Year] ) }": "marked Customer[Birth Date]",
		"EVALUATE { NAMEOF ( Customer[Email] ) }":          "marked Customer[Email]",
		// Calculated columns and tables that copy a marked column.
		"EVALUATE VALUES ( Sales[Buyer Ref] )":   "derived Sales[Buyer Ref]",
		"EVALUATE VALUES ( Customer[Initials] )": "derived Customer[Initials]",
		"EVALUATE VALUES ( Contacts[Mail] )":     "derived Contacts[Mail]",
		"EVALUATE Contacts":                      "whole_table Contacts",
		"EVALUATE Sales":                         "whole_table Sales",
		// PII-143
		"EVALUATE { [Contact List] }":      "value_measure Customer[Contact List]",
		"EVALUATE { [contacts of sales] }": "value_measure Sales[Contacts of sales]",
		"EVALUATE { [First mail] }":        "value_measure Sales[First mail]",
		"EVALUATE { [Selected mail] }":     "value_measure Sales[Selected mail]",
		"EVALUATE { [Shown by function] }": "value_measure Sales[Shown by function]",
		"EVALUATE { [No text] }":           "value_measure Sales[No text]",
		"EVALUATE { [Broken] }":            "value_measure Sales[Broken]",
		"EVALUATE { [From elsewhere] }":    "value_measure Sales[From elsewhere]",
		`DEFINE TABLE Customer = ADDCOLUMNS ( DISTINCT ( Customer[City] ), "m", Customer[Contact List] ) EVALUATE Customer`: "value_measure Customer[Contact List]",
		// In a model where letter case matters this is the measure.
		`EVALUATE SELECTCOLUMNS ( ROW ( "contact list", 1 ), "x", [Contact List] )`: "value_measure Customer[Contact List]",
		// PII-121: the answer could not be told from a marked one.
		`EVALUATE SELECTCOLUMNS ( Product, "Customer[Email]", Product[Category] )`: "marked Customer[Email]",
		// A column that one part adds to a table is not the table's in another.
		"DEFINE TABLE T = ROW ( \"Contact List\", 1 ) EVALUATE ALLSELECTED ( Product, T[Contact List] ) EVALUATE { CONCATENATEX ( Product, [Contact List], \"\" ) }": "value_measure Customer[Contact List]",
		// PII-126
		"EVALUATE { CALCULATE ( [Total Sales], 'Time Calc'[Calc] = \"Who\" ) }": "calculation_item Time Calc[Calc]",
		"EVALUATE VALUES ( 'Time Calc' )":                                       "calculation_item Time Calc",
		"EVALUATE { Contact.Show ( 1 ) }":                                       "user_function Contact.Show",
		// PII-130
		"EVALUATE 'New table'":                                                     "not_known New table",
		"EVALUATE VALUES ( NewTable[Email] )":                                      "not_known NewTable[Email]",
		"EVALUATE VALUES ( Day )":                                                  "not_known Day",
		"EVALUATE { [Unknown measure] }":                                           "not_known [Unknown measure]",
		"EVALUATE { [_Total Sales FormatString] }":                                 "not_known [_Total Sales FormatString]",
		"EVALUATE { [Secret] & CONCATENATEX ( ROW ( \"Secret\", 1 ), [Secret] ) }": "not_known [Secret]",
		"DEFINE MEASURE Nope[x] = 1 EVALUATE { [x] }":                              "unreadable ",
		"EVALUATE { DIVIDE ( 1 ) }":                                                "unreadable ",
		// PII-131
		"EVALUATE { Customer[ＡＢＣ] }": "not_known Customer[ＡＢＣ]",
		"EVALUATE { [ＡＢＣ] }":         "not_known [ＡＢＣ]",
		// PII-93
		"EVALUATE VALUES ( Customer[Email] ": "unreadable ",
		"EVALUATE { 1 } // \u2028 x":         "unreadable ",
		"EVALUATE { 1 } /* /* */ */":         "unreadable ",
		"nonsense":                           "unreadable ",
		"":                                   "unreadable ",
		"EVALUATE { 1; 2 }":                  "unreadable ",
	} {
		t.Run(query, func(t *testing.T) {
			r := pii.Check(query, m, c)
			if want == "" {
				want = "marked Sales[Net sales]"
				if r == nil {
					return // the query's own measure replaces the model's
				}
			}
			if r == nil {
				t.Fatal("passes")
			}
			var parts []string
			for _, f := range r.Findings {
				parts = append(parts, fmt.Sprintf("%s %s", f.Cause, f.Element))
			}
			if got := strings.Join(parts, ", "); got != want {
				t.Errorf("got %s, want %s\n%s", got, want, r.Sentence())
			}
		})
	}
}

func TestQueriesThatPass(t *testing.T) {
	m := shop()
	c := pii.Cover(personal(), m)
	for _, query := range []string{
		// PII-86
		"EVALUATE VALUES ( Customer[City] )",
		`EVALUATE SUMMARIZECOLUMNS ( Customer[City], "Sales", [Total Sales] )`,
		`EVALUATE FILTER ( SUMMARIZECOLUMNS ( Customer[City], "s", [Total Sales] ), [s] > 0 ) ORDER BY [s] DESC`,
		`EVALUATE CALCULATETABLE ( VALUES ( Customer[City] ), Customer[Country] = "DE" )`,
		`EVALUATE TOPN ( 3, VALUES ( Customer[City] ), [Total Sales], DESC )`,
		"EVALUATE Product",
		"EVALUATE Date ORDER BY Date[Date] START AT dt\"2026-01-01\"",
		"EVALUATE VALUES ( Sales[Size] )",
		"EVALUATE VALUES ( Sales[Mail length] )",
		"EVALUATE VALUES ( Sales[CustomerKey] )",
		"EVALUATE VALUES ( Contacts[n] )",
		// PII-90
		`EVALUATE { "Customer[Email]" } // Customer[Email]` + "\n-- Customer[Email]\n/* Customer[Email] */",
		`EVALUATE SELECTCOLUMNS ( Product, "Customer", Product[Category] )`,
		// PII-92
		"DEFINE VAR Customer = VALUES ( Product[Category] ) EVALUATE Customer",
		"EVALUATE VAR Customer = VALUES ( Product[Category] ) RETURN FILTER ( Customer, [Category] = \"x\" )",
		"DEFINE TABLE Customer = VALUES ( Product[Category] ) EVALUATE Customer",
		`EVALUATE FILTER ( SELECTCOLUMNS ( Product, "Email", Product[Category] ), [Email] = "x" )`,
		"DEFINE MEASURE Customer[My measure] = [Total Sales] EVALUATE { [My measure] + Customer[My measure] }",
		"DEFINE COLUMN Product[Email] = 1 EVALUATE VALUES ( Product[Email] )",
		// PII-125
		"EVALUATE { [Customer count] }",
		"EVALUATE { [Has mail] }",
		"EVALUATE { [Net sales] }",
		"EVALUATE { [Phone] }",
		// PII-126, PII-128
		"EVALUATE { CALCULATE ( [Total Sales], Scale[Factor] = \"Thousands\" ) }",
		"EVALUATE { Twice ( [Total Sales] ) }",
		"DEFINE FUNCTION half = ( x : SCALAR ) => x / 2 EVALUATE { half ( [Total Sales] ) }",
		// PII-131
		"EVALUATE { Customer[abc], [ABC], Customer[ABC] }",
		`EVALUATE { DATEDIFF ( dt"2026-01-01", TODAY (), DAY ), USERPRINCIPALNAME () }`,
		`EVALUATE ADDCOLUMNS ( VALUES ( 'Date'[Year] ), "x", CALCULATE ( [Total Sales], DATESYTD ( 'Date'[Date] ) ) )`,
	} {
		t.Run(query, func(t *testing.T) {
			if r := pii.Check(query, m, c); r != nil {
				t.Errorf("refused: %s", r.Sentence())
			}
		})
	}
}

// PII-83
func TestSentenceOfARefusal(t *testing.T) {
	m := &knowledge.Model{Tables: []knowledge.Table{newTable("Customer", "CustomerKey", "Customer", "Region")}, RelationshipsKnown: true}
	c := pii.Cover([]pii.Rule{rule("customer[CUSTOMER]", true)}, m)
	r := pii.Check("DEFINE VAR customer_names = VALUES(Customer[Customer]) EVALUATE Customer", m, c)
	if r == nil {
		t.Fatal("passes")
	}
	if want := []string{"Customer[Customer]", "Customer"}; !slices.Equal(r.Elements, want) {
		t.Errorf("got elements %q, want %q", r.Elements, want)
	}
	want := "The query was not run because it uses personal data: Customer[Customer] and the whole table Customer; " +
		"query other columns of that table by name, or ask an admin to grant you the role pii_reader."
	if got := r.Sentence(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// PII-118
func TestARefusalOverAJoinNamesWhatTheQueryUsed(t *testing.T) {
	m := shop()
	c := pii.Cover([]pii.Rule{rule("Customer[Birth Date]", true)}, m)
	r := pii.Check("EVALUATE VALUES ( '"+dateTable+"'[Date] )", m, c)
	if r == nil || !slices.Equal(r.Elements, []string{dateTable + "[Date]"}) || strings.Contains(r.Sentence(), "Birth") {
		t.Errorf("got %+v", r)
	}
}

// PII-94
func TestAModelThatNoRuleCovers(t *testing.T) {
	m := shop()
	for name, rules := range map[string][]pii.Rule{
		"no rules":      nil,
		"other tables":  {rule("Supplier", true), rule("Supplier[Email]", true)},
		"cleared names": {rule("Customer", false), rule("Customer[Email]", false)},
	} {
		c := pii.Cover(rules, m)
		for _, query := range []string{"EVALUATE Customer", "EVALUATE COLUMNSTATISTICS ()", "EVALUATE INFO.TABLES ()", "nonsense ((", "EVALUATE Unknown"} {
			if r := pii.Check(query, m, c); r != nil {
				t.Errorf("%s: %s: %s", name, query, r.Sentence())
			}
		}
	}
}

// PII-87
func TestUnknownColumnOfACoveredTable(t *testing.T) {
	m := shop()
	c := pii.Cover([]pii.Rule{rule("Customer", true), rule("Customer[City]", false), rule("Product[Secret]", true), rule("Sales[Amount]", true)}, m)
	for query, want := range map[string]string{
		"EVALUATE VALUES ( Customer[NotSynced] )": "Customer[NotSynced]",
		"EVALUATE VALUES ( Product[secret] )":     "Product[secret]", // ruled before it is found
	} {
		r := pii.Check(query, m, c)
		if r == nil || r.Cause != pii.Marked || !slices.Equal(r.Elements, []string{want}) {
			t.Errorf("%s: got %+v", query, r)
		}
	}
	if r := pii.Check("EVALUATE VALUES ( Customer[City] )", m, c); r != nil {
		t.Errorf("PII-25: %s", r.Sentence())
	}
}

// PII-126, PII-114: what may still be read of calculation groups and functions
// refuses the queries that depend on it, and no others.
func TestItemsAndFunctionsThatNobodyHasRead(t *testing.T) {
	tests := map[string]struct {
		unread func(*knowledge.Model)
		refuse map[string]pii.Cause
		pass   []string
	}{
		"which tables are groups": {
			func(m *knowledge.Model) { m.GroupsUnread = true },
			map[string]pii.Cause{"EVALUATE VALUES ( Product[Category] )": pii.ItemsNotKnown, "EVALUATE { [Total Sales] }": pii.ItemsNotKnown},
			[]string{"EVALUATE { 1 }"},
		},
		"what items do": {
			func(m *knowledge.Model) { m.ItemsUnread = true },
			map[string]pii.Cause{
				"EVALUATE VALUES ( Scale[Factor] )": pii.ItemsNotKnown,
				"EVALUATE Scale":                    pii.ItemsNotKnown,
				`EVALUATE { CALCULATE ( [Total Sales], Scale[Factor] = "Thousands" ) }`: pii.ItemsNotKnown,
				"EVALUATE { [Scaled] }": pii.ValueMeasure,
			},
			[]string{"EVALUATE VALUES ( Product[Category] )", "EVALUATE { [Total Sales] }"},
		},
		"functions": {
			func(m *knowledge.Model) { m.Functions, m.FunctionsUnread = nil, true },
			map[string]pii.Cause{"EVALUATE { Twice ( 1 ) }": pii.FunctionsNotKnown, "EVALUATE { [Doubled] }": pii.ValueMeasure},
			[]string{"EVALUATE VALUES ( Product[Category] )", "EVALUATE { [Total Sales] }"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := shop()
			for i := range m.Tables {
				switch m.Tables[i].Name {
				case "Scale":
					m.Tables[i].Group = true
				case "Sales":
					m.Tables[i].Measures = append(m.Tables[i].Measures,
						knowledge.Measure{Name: "Scaled", Expression: `CALCULATE ( [Total Sales], Scale[Factor] = "Thousands" )`},
						knowledge.Measure{Name: "Doubled", Expression: "Twice ( [Total Sales] )"})
				}
			}
			for query := range tt.refuse { // known, all of them pass
				if r := pii.Check(query, m, pii.Cover(personal(), m)); r != nil {
					t.Errorf("%s: %s", query, r.Sentence())
				}
			}
			tt.unread(m)
			c := pii.Cover(personal(), m)
			for query, cause := range tt.refuse {
				r := pii.Check(query, m, c)
				if r == nil || r.Cause != cause {
					t.Errorf("%s: got %+v, want %s", query, r, cause)
				} else if cause != pii.ValueMeasure && (!strings.Contains(r.Sentence(), "try again in a few minutes") || !strings.Contains(r.Sentence(), "pii_reader")) {
					t.Errorf("%s: %s", query, r.Sentence())
				}
			}
			for _, query := range tt.pass {
				if r := pii.Check(query, m, c); r != nil {
					t.Errorf("%s: %s", query, r.Sentence())
				}
			}
		})
	}
}

// PII-126: a measure, a calculated column or a function that applies a calculation
// group does what its items do.
func TestItemsBehindOtherExpressions(t *testing.T) {
	m := shop()
	for i := range m.Tables {
		if m.Tables[i].Name == "Sales" {
			m.Tables[i].Measures = append(m.Tables[i].Measures,
				knowledge.Measure{Name: "By item", Expression: `CALCULATE ( [Total Sales], 'Time Calc'[Calc] = "Who" )`},
				knowledge.Measure{Name: "By measure", Expression: "[By item] & \"\""},
				knowledge.Measure{Name: "By function", Expression: "Apply ( [Total Sales] )"},
				knowledge.Measure{Name: "Scaled", Expression: `CALCULATE ( [Total Sales], Scale[Factor] = "Thousands" )`})
			m.Tables[i].Columns = append(m.Tables[i].Columns,
				knowledge.Column{Name: "Held", Expression: `CALCULATE ( [Total Sales], 'Time Calc'[Calc] = "Who" )`})
		}
	}
	m.Functions = append(m.Functions, knowledge.Function{Name: "Apply", Expression: `( x : EXPR ) => CALCULATE ( x, 'Time Calc'[Calc] = "Who" )`})
	for query, cause := range map[string]pii.Cause{
		"EVALUATE { [By item] }": pii.ValueMeasure, "EVALUATE { [By measure] }": pii.ValueMeasure, "EVALUATE { [By function] }": pii.ValueMeasure,
		"EVALUATE VALUES ( Sales[Held] )": pii.Derived, "EVALUATE { [Scaled] }": "",
	} {
		var got pii.Cause
		if r := pii.Check(query, m, pii.Cover(personal(), m)); r != nil {
			got = r.Cause
		}
		if got != cause {
			t.Errorf("%s: %q, want %q", query, got, cause)
		}
	}
}

// PII-114
func TestRelationshipsThatNobodyHasRead(t *testing.T) {
	m := shop()
	m.Relationships, m.RelationshipsKnown = nil, false
	c := pii.Cover(personal(), m)
	r := pii.Check("EVALUATE VALUES ( Product[Category] )", m, c)
	if r == nil || r.Cause != pii.RelationshipsNotKnown || !strings.Contains(r.Sentence(), "try again") || !strings.Contains(r.Sentence(), "pii_reader") {
		t.Errorf("got %+v", r)
	}
	if r := pii.Check("EVALUATE VALUES ( Customer[Email] )", m, c); r == nil || r.Cause != pii.Marked {
		t.Errorf("got %+v", r)
	}
	if r := pii.Check("EVALUATE { 1 }", m, c); r != nil {
		t.Errorf("it depends on no relationship: %s", r.Sentence())
	}
	measures := pii.Cover([]pii.Rule{measureRule("Sales[Net sales]", true)}, m)
	if r := pii.Check("EVALUATE VALUES ( Product[Category] )", m, measures); r != nil {
		t.Errorf("a marked measure spreads over no relationship: %s", r.Sentence())
	}
}

// PII-143
func TestAReviewedValueMeasureIsUsable(t *testing.T) {
	m := shop()
	list := `EVALUATE { [Contact List], [Contacts of sales] }`
	reviewed := pii.Cover(append(personal(), measureRule("Customer[Contact list]", false)), m)
	if r := pii.Check(list, m, reviewed); r != nil {
		t.Errorf("cleared: %s", r.Sentence())
	}
	marked := pii.Cover(append(personal(), measureRule("Customer[Contact list]", true)), m)
	if r := pii.Check(list, m, marked); r == nil || !slices.Equal(r.Elements, []string{"Customer[Contact List]", "Sales[Contacts of sales]"}) {
		t.Errorf("marked: %+v", r)
	}
	allowed := pii.Cover(personal(), m)
	allowed.AllowValueMeasures = true
	if r := pii.Check(list, m, allowed); r != nil {
		t.Errorf("allowed: %s", r.Sentence())
	}
}

// PII-93, PII-101
func FuzzCheckNeverLetsAMarkedNamePass(f *testing.F) {
	m := shop()
	c := pii.Cover([]pii.Rule{rule("Customer", true), rule("Sales", true), rule("'Cust''omer Extra'", true), rule("Contacts", true)}, m)
	for _, seed := range []string{
		"Customer", "'Customer'[Email]", "[Email]", "COLUMNSTATISTICS()", "INFO.VIEW.TABLES()", "{ 1 } // \u2028 Customer", "ＣＵＳＴＯＭＥＲ",
		"VAR Customer = Product RETURN 'Customer'", "FILTER(Product, MAX(Customer[Email]) > \"\")", "/**/Customer", "Customer\u200b[Email]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := pii.Check("EVALUATE "+text, m, c)
		if r != nil {
			if r.Sentence() == "" || len(r.Findings) == 0 {
				t.Fatalf("an empty refusal of %q", text)
			}
			return
		}
		// What passes has no code that names a covered table: without comments,
		// texts and names that the query gives itself, it does not occur.
		if folded := knowledge.Fold(code(text)); strings.Contains(folded, "customer") && !strings.Contains(folded, "var ") && !strings.Contains(folded, "define") {
			t.Fatalf("%q passes", text)
		}
	})
}

// code is a text without comments, string literals, and columns or measures in
// brackets.
func code(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		skip := func(closing string, from int) int {
			if j := strings.Index(rest[from:], closing); j >= 0 {
				return from + j + len(closing)
			}
			return len(rest)
		}
		switch {
		case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "--"):
			i += skip("\n", 2)
		case strings.HasPrefix(rest, "/*"):
			i += skip("*/", 2)
		case rest[0] == '"':
			i += skip("\"", 1)
		case rest[0] == '[':
			i += skip("]", 1)
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

func wideModel(columns int) *knowledge.Model {
	m := shop()
	for len(m.Tables) < 10+columns/50 {
		var names []string
		for i := range 50 {
			names = append(names, fmt.Sprintf("Column %d", i))
		}
		t := newTable(fmt.Sprintf("Table %d", len(m.Tables)), names...)
		t.Columns[0].Expression = "LEFT ( 'Table 10'[Column 1], 2 )"
		m.Tables = append(m.Tables, t)
	}
	return m
}

func wideQuery(size int) string {
	var b strings.Builder
	b.WriteString("EVALUATE SUMMARIZECOLUMNS ( ")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "'Table %d'[Column %d], ", 10+i%20, i%50)
	}
	b.WriteString(`"x", [Total Sales] )`)
	return b.String()
}

// PERF: under 5 ms for a model of 1,000 columns, linear in the query's length.
func BenchmarkCheck(b *testing.B) {
	m := wideModel(1000)
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
		query := wideQuery(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			c := pii.Cover(personal(), m)
			if r := pii.Check(query, m, c); r != nil {
				b.Fatal(r.Sentence())
			}
			for b.Loop() {
				pii.Check(query, m, c)
			}
		})
	}
	b.Run("cover and check", func(b *testing.B) {
		query := wideQuery(1 << 10)
		for b.Loop() {
			pii.Check(query, m, pii.Cover(personal(), m))
		}
	})
}

func TestHostileQueriesAreCheckedInTime(t *testing.T) {
	m := wideModel(1000)
	c := pii.Cover(append(personal(), rule("Table 11", true)), m)
	for name, query := range map[string]string{
		"brackets":  "EVALUATE { " + strings.Repeat("[Column 1],", 6000) + " 'Table 11'[Column 1] }",
		"tables":    "EVALUATE UNION ( " + strings.Repeat("'Table 11',", 5000) + "'Table 11' )",
		"unknown":   "EVALUATE { " + strings.Repeat("X[y],", 13000) + "1 }",
		"functions": "EVALUATE { " + strings.Repeat("F(),", 16000) + "1 }",
		"nested":    "EVALUATE " + strings.Repeat("ADDCOLUMNS(", 900) + "'Table 12'" + strings.Repeat(`, "x", [Column 1])`, 900),
		"garbage":   strings.Repeat("[\"'", 20000),
	} {
		start := time.Now()
		if r := pii.Check(query, m, c); r != nil {
			r.Sentence()
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

// A column of a table that a rule covers as a whole may be one that the mirror
// does not know yet, whatever a variable of the query with the name of the table
// has. PII-92
func TestAVariableDoesNotUncoverItsTable(t *testing.T) {
	m := shop()
	c := pii.Cover([]pii.Rule{rule("Customer", true)}, m)
	r := pii.Check(`EVALUATE { VAR Customer = VALUES ( Product[Category] ) RETURN MAXX ( Customer, Customer[Category] ) }`, m, c)
	if r == nil || !slices.Contains(r.Elements, "Customer[Category]") {
		t.Fatalf("got %+v", r)
	}
}

// PII-111: a release stops the spread there, and only there.
func TestRelease(t *testing.T) {
	m := shop()
	m.Relationships = append(m.Relationships, knowledge.Relationship{FromTable: "Customer", FromColumn: "Birth Date", ToTable: "Date", ToColumn: "Date"})
	released := func(reference string) pii.Rule {
		r := rule(reference, false)
		r.Released = true
		return r
	}
	for _, c := range []struct {
		rules   []pii.Rule
		refused map[string]bool
	}{
		{nil, map[string]bool{"Sales[Order Date]": true, "Date[Date]": true, "Date[Year]": true, "Customer[Birth Date]": true}},
		// The calendar's key is released: nothing goes on from there.
		{[]pii.Rule{released("Date[Date]")}, map[string]bool{"Sales[Order Date]": false, "Date[Date]": false, "Date[Year]": false, "Customer[Birth Date]": true}},
		// Only what hangs on it: the calendar itself stays.
		{[]pii.Rule{released("Sales[Order Date]")}, map[string]bool{"Sales[Order Date]": false, "Date[Date]": true, "Date[Year]": true, "Customer[Birth Date]": true}},
		// The table's other columns, and not its key.
		{[]pii.Rule{released("Date")}, map[string]bool{"Sales[Order Date]": true, "Date[Date]": true, "Date[Year]": false, "Customer[Birth Date]": true}},
		// A clear alone holds against no relationship (PII-110).
		{[]pii.Rule{rule("Date[Date]", false)}, map[string]bool{"Sales[Order Date]": true, "Date[Date]": true, "Customer[Birth Date]": true}},
		// A mark is no release, whatever the rule says besides.
		{[]pii.Rule{{Kind: pii.Column, Table: "Date", Name: "Date", PII: true, Released: true}}, map[string]bool{"Sales[Order Date]": true, "Date[Date]": true}},
	} {
		cover := pii.Cover(append(personal(), c.rules...), m)
		for reference, want := range c.refused {
			if got := pii.Check("EVALUATE VALUES ( "+reference+" )", m, cover) != nil; got != want {
				t.Errorf("with %v, %s is refused: %v, want %v", c.rules, reference, got, want)
			}
		}
	}
}
