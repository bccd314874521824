package eval_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// newShop is a star with n sales, 5,000 customers, 400 products and two years.
func newShop(t testing.TB, n int) *eval.Engine {
	t.Helper()
	column := func(name string, typ knowledge.DataType) knowledge.Column {
		return knowledge.Column{Name: name, DataType: typ}
	}
	model := &knowledge.Model{
		Name: "Shop",
		Tables: []knowledge.Table{
			{Name: "Sales", Columns: []knowledge.Column{
				column("Key", knowledge.Int64), column("Date", knowledge.DateTime), column("ProductKey", knowledge.Int64),
				column("CustomerKey", knowledge.Int64), column("Quantity", knowledge.Int64), column("Price", knowledge.Decimal),
			}, Measures: []knowledge.Measure{
				{Name: "Units", Expression: "SUM ( Sales[Quantity] )"},
				{Name: "Net sales", Expression: "SUMX ( Sales, Sales[Quantity] * Sales[Price] )"},
				{Name: "Last year", Expression: "CALCULATE ( [Units], SAMEPERIODLASTYEAR ( Dates[Date] ) )"},
			}},
			{Name: "Product", Columns: []knowledge.Column{
				column("ProductKey", knowledge.Int64), column("Product", knowledge.String), column("Category", knowledge.String),
			}},
			{Name: "Customer", Columns: []knowledge.Column{
				column("CustomerKey", knowledge.Int64), column("Customer", knowledge.String), column("Country", knowledge.String),
			}},
			{Name: "Dates", Expression: `ADDCOLUMNS ( CALENDAR ( DATE ( 2023, 1, 1 ), DATE ( 2024, 12, 31 ) ), "Year", YEAR ( [Date] ), "Month", FORMAT ( [Date], "yyyy-MM" ) )`},
		},
		Relationships: []knowledge.Relationship{
			{FromTable: "Sales", FromColumn: "ProductKey", ToTable: "Product", ToColumn: "ProductKey"},
			{FromTable: "Sales", FromColumn: "CustomerKey", ToTable: "Customer", ToColumn: "CustomerKey"},
			{FromTable: "Sales", FromColumn: "Date", ToTable: "Dates", ToColumn: "Date"},
		},
	}
	random := rand.New(rand.NewPCG(1, 2))
	sales, product, customer := eval.NewRows("Sales"), eval.NewRows("Product"), eval.NewRows("Customer")
	key, date := sales.Column("Key", knowledge.Int64), sales.Column("Date", knowledge.DateTime)
	productKey, customerKey := sales.Column("ProductKey", knowledge.Int64), sales.Column("CustomerKey", knowledge.Int64)
	quantity, price := sales.Column("Quantity", knowledge.Int64), sales.Column("Price", knowledge.Decimal)
	start := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		key.AppendInt(int64(i))
		date.AppendTime(start.AddDate(0, 0, random.IntN(731)))
		productKey.AppendInt(int64(random.IntN(400)))
		customerKey.AppendInt(int64(random.IntN(5000)))
		quantity.AppendInt(int64(1 + random.IntN(9)))
		price.AppendFloat(float64(random.IntN(10000)) / 100)
	}
	fill := func(rows *eval.Rows, keyName, name, group string, n, groups int) {
		k, label, g := rows.Column(keyName, knowledge.Int64), rows.Column(name, knowledge.String), rows.Column(group, knowledge.String)
		for i := range n {
			k.AppendInt(int64(i))
			label.AppendText(fmt.Sprintf("%s %d", name, i))
			g.AppendText(fmt.Sprintf("%s %d", group, i%groups))
		}
	}
	fill(product, "ProductKey", "Product", "Category", 400, 8)
	fill(customer, "CustomerKey", "Customer", "Country", 5000, 30)
	engine, err := eval.New(model, []*eval.Rows{sales, product, customer}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if u := engine.Unsupported(); len(u) > 0 {
		t.Fatal(u)
	}
	return engine
}

// BenchmarkQuery runs what reports and agents ask over 100,000 rows.
func BenchmarkQuery(b *testing.B) {
	engine := newShop(b, 100_000)
	for name, query := range map[string]string{
		"total":                    `EVALUATE { [Units] }`,
		"by category":              `EVALUATE SUMMARIZECOLUMNS ( Product[Category], "x", [Units] )`,
		"by customer":              `EVALUATE SUMMARIZECOLUMNS ( Customer[Customer], "x", [Units] )`,
		"by product and month":     `EVALUATE SUMMARIZECOLUMNS ( Product[Product], Dates[Month], "x", [Units] )`,
		"row by row, by category":  `EVALUATE SUMMARIZECOLUMNS ( Product[Category], "x", [Net sales] )`,
		"last year by month":       `EVALUATE SUMMARIZECOLUMNS ( Dates[Month], "x", [Last year] )`,
		"filtered rows":            `EVALUATE TOPN ( 10, FILTER ( Sales, Sales[Quantity] > 5 && Sales[Price] > 50 ), Sales[Price] )`,
		"context transition":       `EVALUATE { SUMX ( Customer, [Units] ) }`,
		"condition on many values": `EVALUATE { CALCULATE ( [Units], Sales[Price] > 50 ) }`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := engine.Query(b.Context(), query, eval.Identity{Unrestricted: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad is what New costs with 100,000 rows.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		newShop(b, 100_000)
	}
}
