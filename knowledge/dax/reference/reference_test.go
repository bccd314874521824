package reference_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/reference"
)

// shop is a model with something of every kind.
func shop() *knowledge.Model {
	column := func(name string, t knowledge.DataType) knowledge.Column {
		return knowledge.Column{Name: name, DataType: t}
	}
	return &knowledge.Model{
		Name: "Shop",
		Tables: []knowledge.Table{
			{
				Name: "Sales",
				Columns: []knowledge.Column{
					column("Amount", knowledge.Decimal), column("CustomerKey", knowledge.Int64),
					{Name: "Day", DataType: knowledge.DateTime, Variations: []knowledge.Variation{{Name: "Variation", Table: "LocalDateTable_1"}}},
					{Name: "Taxed", Expression: "WithTax(Sales[Amount])", DataType: knowledge.Decimal},
				},
				Measures: []knowledge.Measure{
					{Name: "Net sales", Expression: "SUM(Sales[Amount])", DetailRows: "SELECTCOLUMNS(Sales, \"a\", Sales[Amount])"},
					{Name: "Per customer", Expression: "DIVIDE([Net sales], COUNTROWS(Customer))"},
					{Name: "By year", Expression: "CALCULATE([Net sales], Sales[Day].[Year] = 2024)"},
					{Name: "Broken", Expression: "SUM(Sales[Amount]"},
					{Name: "Unknown", Expression: "[Net sale] + SUM(Sales[Amunt])"},
					{Name: "No text"},
				},
			},
			{Name: "Customer", Columns: []knowledge.Column{column("CustomerKey", knowledge.Int64), column("Region", knowledge.String)}},
			{Name: "LocalDateTable_1", Expression: "CALENDAR(MIN(Sales[Day]), MAX(Sales[Day]))", Columns: []knowledge.Column{
				column("Date", knowledge.DateTime), {Name: "Year", Expression: "YEAR([Date])"},
			}},
			{Name: "Every day", Expression: "CALENDARAUTO()", Columns: []knowledge.Column{column("Date", knowledge.DateTime)}},
			{Name: "View", Columns: []knowledge.Column{column("View", knowledge.String)}, Items: []knowledge.CalculationItem{
				{Name: "Everybody", Expression: "CALCULATE(SELECTEDMEASURE(), ALL(Customer))"},
			}},
		},
		Functions: []knowledge.Function{{Name: "WithTax", Expression: "(x) => x * (1 + Rate())"}, {Name: "Rate", Expression: "() => MAX(Sales[Taxed])"}},
		Roles: []knowledge.Role{
			{Name: "West", Tables: []knowledge.TablePermission{{Table: "Customer", Filter: `[Region] = "West"`}}},
			{Name: "No money", Tables: []knowledge.TablePermission{{Table: "Sales", HiddenColumns: []string{"amount"}}}},
		},
	}
}

func uses(refs *reference.References) string {
	var parts []string
	for _, u := range refs.Uses {
		part := fmt.Sprintf("%s@%d-%d", u.Element, u.Pos.Offset, u.End)
		if u.Implied {
			part += " implied"
		}
		parts = append(parts, part)
	}
	if refs.EveryDate {
		parts = append(parts, "every date")
	}
	if refs.EveryColumn {
		parts = append(parts, "every column")
	}
	return strings.Join(parts, "; ")
}

func TestEveryUseHasItsPlace(t *testing.T) { // BOOK-05
	f := reference.NewFinder(shop())
	for text, want := range map[string]string{
		"sum ( 'sales'[AMOUNT] )":                   "Sales[Amount]@6-21",
		"SUMX(Sales, [Amount]) + [net sales]":       "Sales@5-10; Sales[Amount]@12-20; Sales[Net sales]@24-35",
		"SUMX(Customer, Customer[Net sales])":       "Customer@5-13; Sales[Net sales]@15-34", // a measure with another table
		"VAR Amount = 1 RETURN Amount":              "",
		"SUMX(ADDCOLUMNS(Customer, \"x\", 1), [x])": "Customer@16-24",
		"VAR t = Customer RETURN COUNTROWS(t)":      "Customer@8-16",
		"COUNTROWS()":                               "Sales@0-11 implied",
		"MAX(Sales[Day].[Year])":                    "Sales[Day]@4-21; LocalDateTable_1[Year]@4-21 implied",
		"TABLEOF(Sales[Amount])":                    "Sales@0-22 implied; Sales[Amount]@8-21",
		"COUNTROWS(DETAILROWS([Net sales]))":        "detail rows of Sales[Net sales]@10-33 implied; Sales[Net sales]@21-32",
		"COUNTROWS(DETAILROWS([By year]))":          "Sales[By year]@21-30",
		"WithTax(1)":                                "WithTax()@0-10",
		"COUNTROWS(CALENDARAUTO())":                 "every date",
		"COUNTROWS(COLUMNSTATISTICS())":             "every column",
		"CALCULATE(1, CROSSFILTER(Sales[CustomerKey], Customer[CustomerKey], BOTH))": "Sales[CustomerKey]@25-43; Customer[CustomerKey]@45-66",
	} {
		refs := f.Of(text, "Sales", false)
		if refs.Invalid != nil || len(refs.Unresolved) > 0 {
			t.Errorf("%s: %v %v", text, refs.Invalid, refs.Unresolved)
		}
		if got := uses(refs); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestUnresolvedNamesComeWithPlaceAndNearest(t *testing.T) { // BOOK-05
	refs := reference.NewFinder(shop()).Of("[Net sale] +\n SUM(Sales[Amunt]) + SUMXX(Custmer)", "Sales", false)
	var got []string
	for _, u := range refs.Unresolved {
		got = append(got, fmt.Sprintf("%s at line %d, column %d: %s", u.Text, u.Pos.Line, u.Pos.Column, u.Remedy))
	}
	want := []string{
		"[Net sale] at line 1, column 1: did you mean Net sales?",
		"Sales[Amunt] at line 2, column 6: did you mean Amount?",
		"SUMXX(Custmer) at line 2, column 22: did you mean SUMX or SUM?",
		"Custmer at line 2, column 28: did you mean Customer?",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAnExpressionThatDoesNotParseIsMarked(t *testing.T) { // BOOK-05
	m := shop()
	g := reference.NewGraph(m)
	if got, want := names(g.Invalid()), []string{"Sales[Broken]"}; !slices.Equal(got, want) {
		t.Errorf("invalid are %q, want %q", got, want)
	}
	refs := g.References(find(t, m, "Sales[Broken]"))
	if refs.Invalid == nil || len(refs.Uses) > 0 || refs.Invalid.List[0].Pos.Column != 4 {
		t.Errorf("got %+v", refs)
	}
	if refs := g.References(find(t, m, "Sales[No text]")); refs != nil {
		t.Errorf("a measure whose text is not known has references: %+v", refs)
	}
}
