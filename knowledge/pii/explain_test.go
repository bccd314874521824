package pii_test

import (
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/pii"
)

// PII-119: the chain from what a query used to the rule behind it.
func TestExplain(t *testing.T) {
	m := shop()
	c := pii.Cover(append(personal(), measureRule("Sales[Net sales]", true)), m)
	for query, want := range map[string]string{
		"EVALUATE VALUES ( Customer[Email] )":           "Customer[Email] is marked.",
		"EVALUATE Customer":                             "The whole table Customer holds Customer[Customer Name]. Customer[Customer Name] is marked.",
		`EVALUATE ROW ( "x", [Net sales] )`:             "The measure Sales[Net sales] is marked.",
		`EVALUATE ROW ( "x", [Contacts of sales] )`:     "The measure Sales[Contacts of sales] shows values that come from Customer[Contact List]. The measure Customer[Contact List] shows values that come from Customer[Email]. Customer[Email] is marked.",
		`EVALUATE ROW ( "x", [No text] )`:               "The measure Sales[No text] shows values that come from what its DAX does not tell with certainty.",
		"EVALUATE VALUES ( Customer[Initials] )":        "Customer[Initials] is calculated from Customer[Customer Name]. Customer[Customer Name] is marked.",
		"EVALUATE VALUES ( '" + dateTable + "'[Year] )": dateTable + "[Year] is a column of " + dateTable + ", whose rows are keyed by " + dateTable + "[Date]. A relationship joins " + dateTable + "[Date] to Customer[Birth Date]. Customer[Birth Date] is marked.",
		"EVALUATE VALUES ( '" + dateTable + "'[Date] )": "A relationship joins " + dateTable + "[Date] to Customer[Birth Date]. Customer[Birth Date] is marked.",
		"EVALUATE VALUES ( 'Time Calc'[Calc] )":         "A calculation item of Time Calc uses Customer. The whole table Customer holds Customer[Customer Name]. Customer[Customer Name] is marked.",
		"EVALUATE COLUMNSTATISTICS ()":                  "COLUMNSTATISTICS reads more of the model than its arguments name, and the dataset has marked columns.",
		"EVALUATE VALUES ( Nowhere[Email] )":            "The mirror does not know Nowhere[Email]: a name that is new or misspelled may be personal data.",
		"EVALUATE (":                                    "The query is not understood:",
	} {
		t.Run(query, func(t *testing.T) {
			r := pii.Check(query, m, c)
			if r == nil {
				t.Fatal("it passes")
			}
			var got []string
			for _, e := range c.Explain(r) {
				if len(e.Steps) == 0 {
					t.Errorf("%s %s is not explained", e.Cause, e.Element)
				}
				got = append(got, strings.Join(e.Steps, " "))
			}
			if !strings.Contains(strings.Join(got, "\n"), want) {
				t.Errorf("%s\nwant %s", strings.Join(got, "\n"), want)
			}
		})
	}
	for _, ref := range []pii.Ref{{Kind: pii.Column, Table: "Sales", Name: "Amount"}, {Kind: pii.Measure, Table: "Sales", Name: "Total Sales"}, {Kind: pii.Table, Table: "Nowhere"}} {
		if steps := c.ExplainElement(ref); len(steps) > 0 {
			t.Errorf("%s is free: %q", ref, steps)
		}
	}
}

// Every finding of every query that is refused has its steps.
func TestEveryRefusalIsExplained(t *testing.T) {
	m := shop()
	c := pii.Cover(personal(), m)
	for _, e := range evasions(t) {
		if r := pii.Check(e.Query, m, c); r != nil {
			for _, x := range c.Explain(r) {
				if len(x.Steps) == 0 {
					t.Errorf("%s: %s of %q has no steps", e.ID, x.Cause, x.Element)
				}
			}
		}
	}
}
