package pii_test

import (
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
)

const dateTable = "LocalDateTable_5d6f0a52-7c1e-4f0e-9a44-3b1f6b0c2e11"

func newTable(name string, columns ...string) knowledge.Table {
	t := knowledge.Table{Name: name}
	for _, c := range columns {
		t.Columns = append(t.Columns, knowledge.Column{Name: c, DataType: knowledge.String})
	}
	return t
}

// shop is a model with a column of every kind that the check has to know. Fields
// that a test changes are its own: every call gives a new one.
func shop() *knowledge.Model {
	customer := newTable("Customer", "CustomerKey", "Customer Name", "Email", "Phone", "Birth Date", "City", "Country", "Referred By", "Credit Note")
	customer.Columns[4].DataType = knowledge.DateTime
	customer.Columns[4].Variations = []knowledge.Variation{{Name: "Variation", Relationship: "birth", Table: dateTable}}
	customer.Columns = append(customer.Columns, knowledge.Column{Name: "Initials", Expression: "LEFT ( Customer[Customer Name], 1 )"})
	customer.Measures = []knowledge.Measure{
		{Name: "Contact List", Expression: `CONCATENATEX ( Customer, Customer[Email], ";" )`},
		{Name: "Customer count", Expression: "DISTINCTCOUNT ( Customer[Email] )"},
		{Name: "ABC", Expression: "COUNTROWS ( Customer )"},
	}
	sales := newTable("Sales", "SalesKey", "CustomerKey", "ProductKey", "Order Date", "Amount")
	sales.Columns = append(sales.Columns,
		knowledge.Column{Name: "Buyer Ref", Expression: "RELATED ( Customer[Customer Name] )"},
		knowledge.Column{Name: "Size", Expression: `IF ( Sales[Amount] > 100, "big", "small" )`},
		knowledge.Column{Name: "Mail length", Expression: "LEN ( RELATED ( Customer[Email] ) )"})
	sales.Measures = []knowledge.Measure{
		{Name: "Total Sales", Expression: "SUM ( Sales[Amount] )", DetailRows: `SELECTCOLUMNS ( Sales, "b", RELATED ( Customer[Email] ) )`},
		{Name: "Phone", Expression: "COUNTROWS ( Sales )"},
		{Name: "Net sales", Expression: "[Total Sales] * 0.8"},
		{Name: "Contacts of sales", Expression: "IF ( [Total Sales] > 0, [Contact List] )"},
		{Name: "First mail", Expression: "FIRSTNONBLANKVALUE ( Customer[City], MIN ( Customer[Email] ) )"},
		{Name: "Selected mail", Expression: "SELECTEDVALUE ( Customer[Email] )"},
		{Name: "Has mail", Expression: "IF ( HASONEVALUE ( Customer[Email] ), 1, 0 )"},
		{Name: "Shown by function", Expression: "Contact.Show ( 3 )"},
		{Name: "No text", Expression: ""},
		{Name: "Broken", Expression: "SUM ( "},
		{Name: "From elsewhere", Expression: `EXTERNALMEASURE ( "Contact List", STRING, "CRM" )`},
	}
	timeCalc := newTable("Time Calc", "Calc")
	timeCalc.Items = []knowledge.CalculationItem{
		{Name: "Current", Expression: "SELECTEDMEASURE ()"},
		{Name: "Who", Expression: `CONCATENATEX ( Customer, Customer[Email], ";" )`},
	}
	harmless := newTable("Scale", "Factor")
	harmless.Items = []knowledge.CalculationItem{
		{Name: "Thousands", Expression: "SELECTEDMEASURE () / 1000"},
		{Name: "Both", Expression: `CALCULATE ( SELECTEDMEASURE (), Scale[Factor] = "Thousands" )`},
	}
	contacts := newTable("Contacts", "Mail", "n")
	contacts.Expression = `SELECTCOLUMNS ( Customer, "Mail", Customer[Email], "n", 1 )`
	return &knowledge.Model{
		Name: "Shop",
		Tables: []knowledge.Table{
			customer, newTable("Cust'omer Extra", "CustomerKey", "E]mail"), sales,
			newTable("Product", "ProductKey", "Product Name", "Category"), newTable("Date", "Date", "Year"),
			timeCalc, harmless, contacts, newTable("Pick a field", "Field"), newTable(dateTable, "Date", "Year"),
		},
		Relationships: []knowledge.Relationship{
			{FromTable: "Sales", FromColumn: "CustomerKey", ToTable: "Customer", ToColumn: "CustomerKey"},
			{FromTable: "Sales", FromColumn: "ProductKey", ToTable: "Product", ToColumn: "ProductKey"},
			{FromTable: "Sales", FromColumn: "Order Date", ToTable: "Date", ToColumn: "Date"},
			{Name: "birth", FromTable: "Customer", FromColumn: "Birth Date", ToTable: dateTable, ToColumn: "Date"},
		},
		RelationshipsKnown: true,
		Functions: []knowledge.Function{
			{Name: "Contact.Show", Expression: `( n : INT64 ) => CONCATENATEX ( TOPN ( n, Customer ), Customer[Email], ";" )`},
			{Name: "Twice", Expression: "( x ) => x * 2"},
		},
	}
}

func rule(reference string, marked bool) pii.Rule {
	ref, err := pii.ParseReference(reference, false)
	if err != nil {
		panic(err)
	}
	return pii.Rule{Kind: ref.Kind, Table: ref.Table, Name: ref.Name, PII: marked}
}

func measureRule(reference string, marked bool) pii.Rule {
	ref, err := pii.ParseReference(reference, true)
	if err != nil {
		panic(err)
	}
	return pii.Rule{Kind: ref.Kind, Table: ref.Table, Name: ref.Name, PII: marked}
}

// personal marks the columns of shop that hold personal data.
func personal() []pii.Rule {
	return []pii.Rule{
		rule("Customer[Customer Name]", true), rule("Customer[Email]", true), rule("Customer[Phone]", true),
		rule("Customer[Birth Date]", true), rule("'Cust''omer Extra'[E]]mail]", true),
	}
}
