package reference_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/reference"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// publicModel loads one of the public models, or skips the test.
func publicModel(t testing.TB, path string) *knowledge.Model {
	t.Helper()
	root := os.Getenv("PBMB_PUBLIC_MODELS")
	for dir, _ := os.Getwd(); root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "shared/data/powerbi")); err == nil {
			root = filepath.Join(dir, "shared/data/powerbi")
		}
	}
	if root == "" {
		t.Skip("the public models are not here; set PBMB_PUBLIC_MODELS to their folder")
	}
	source, err := tmdl.Load(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return source.Model
}

const (
	adventureWorks = "tabulareditor/TOMWrapperTest/TestData/AdventureWorks.bim"
	microsoftSales = "sidemantic-fixtures/fixtures/external_powerbi/microsoft-analysis-services-sales"
	fuam           = "fabric-toolbox/monitoring/fabric-unified-admin-monitoring/src/FUAM_Core_SM.SemanticModel"
)

// find looks an element up by what its String gives.
func find(t testing.TB, m *knowledge.Model, name string) reference.Element {
	t.Helper()
	var all []reference.Element
	for _, table := range m.Tables {
		all = append(all, reference.Element{Kind: reference.Table, Table: table.Name})
		for _, c := range table.Columns {
			all = append(all, reference.Element{Kind: reference.Column, Table: table.Name, Name: c.Name})
		}
		for _, measure := range table.Measures {
			all = append(all, reference.Element{Kind: reference.Measure, Table: table.Name, Name: measure.Name})
			if measure.DetailRows != "" {
				all = append(all, reference.Element{Kind: reference.Details, Table: table.Name, Name: measure.Name})
			}
		}
		for _, item := range table.Items {
			all = append(all, reference.Element{Kind: reference.Item, Table: table.Name, Name: item.Name})
		}
	}
	for _, f := range m.Functions {
		all = append(all, reference.Element{Kind: reference.Function, Name: f.Name})
	}
	for _, r := range m.Roles {
		for _, p := range r.Tables {
			all = append(all, reference.Element{Kind: reference.Role, Table: p.Table, Name: r.Name})
		}
	}
	for _, e := range all {
		if e.String() == name {
			return e
		}
	}
	t.Fatalf("%s has no element %s", m.Name, name)
	return reference.Element{}
}

func names[E interface{ String() string }](list []E) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.String())
	}
	return out
}

// BOOK-05: the lists were made by reading the models' files.
func TestReferencesOfPublicModels(t *testing.T) {
	type sample struct {
		of         string
		want       []string // in the order of the text
		unresolved []string
	}
	for path, samples := range map[string][]sample{
		adventureWorks: {
			// [Sales Order Number] without its table is the column of the measure's home.
			{of: "Internet Sales[Internet Distinct Count Sales Order]", want: []string{"Internet Sales[Sales Order Number]"}},
			{of: "Internet Sales[Internet Total Sales]", want: []string{"Internet Sales[Sales Amount]"}},
			{of: "Internet Sales[Gross Profit]", want: []string{"Internet Sales[Sales Amount]", "Internet Sales[Total Product Cost]"}},
			{of: "Internet Sales[Internet Total Gross Profit]", want: []string{"Internet Sales[Gross Profit]"}},
			{of: "Product[Product Category Name]", want: []string{"Product Category[Product Category Name]"}},
			{of: "Product Inventory[Product-Date OverStocked]", want: []string{"Product Inventory[Units Balance]", "Product[Safety Stock Level]"}},
			{of: "Product Inventory[Total Units]", want: []string{"Product Inventory[Units Balance]", "Product Inventory[Movement Date]"}},
			{of: "Product Inventory[Total Inventory Value Performance]", want: []string{
				"Product Inventory[Total Inventory Value]", "Product Inventory[Total Inventory Optimal Value]", "Product Inventory[Total Inventory Maximum Value]",
			}},
			{of: "Sales Territory[Total Sales]", want: []string{"Reseller Sales[Reseller Total Sales]", "Internet Sales[Internet Total Sales]"}},
			{of: "Sales Territory[Total Current Quarter Sales]", want: []string{"Sales Territory[Total Sales]", "Date[Date]"}},
			{of: "Sales Territory[Total Current Quarter Sales Performance]", want: []string{
				"Sales Territory[Total Current Quarter Sales]", "Sales Territory[Total Previous Quarter Sales Proportion to QTD]",
			}},
			// USERELATIONSHIP names the columns of relationships.
			{of: "Reseller Sales[Reseller Total Sales - Sales Territory sliced by Reseller]", want: []string{
				"Reseller Sales[Sales Amount]", "Reseller[ResellerKey]", "Reseller Sales[ResellerKey]", "Geography[GeographyKey]",
				"Reseller[GeographyKey]", "Sales Territory[SalesTerritoryKey]", "Geography[SalesTerritoryKey]",
			}},
		},
		microsoftSales: {
			{of: "Sales[# Customers (with Sales)]", want: []string{"Sales[CustomerKey]"}},
			{of: "Sales[Sales Amount]", want: []string{"Sales", "Sales[Quantity]", "Sales[Net Price]"}},
			{of: "Sales[Sales Amount  (Δ LY)]", want: []string{"Sales[Sales Amount]", "Sales[Sales Amount (LY)]"}},
			{of: "Sales[Sales Amount  (% Δ LY)]", want: []string{"Sales[Sales Amount (LY)]", "Sales[Sales Amount]"}},
			{of: "Sales[# Sales]", want: []string{"Sales"}},
			{of: "Sales[Sales Amount Avg per Day]", want: []string{"Calendar[Date]", "Sales[Sales Amount]"}},
			{of: "Sales[Sales Qty by Delivery Date]", want: []string{"Sales[Sales Qty]", "Sales[Delivery Date]", "Calendar[Date]"}},
			// The variables are none of the model's elements.
			{of: "Sales[Sales Amount (12M average)]", want: []string{"Calendar[Date]", "Sales[Sales Amount]", "Sales[Order Date]"}},
			{of: "Sales[Margin % Overall]", want: []string{"Sales[Margin %]"}},
			{of: "Time Intelligence: PY", want: []string{"Calendar[Date]"}},
			{of: "Time Intelligence: YOY", want: []string{"Time Intelligence[Show as]"}}, // written 'Time intelligence'
			{of: "Smart Calcs: Randomize"},
			{of: "Smart Calcs: Normalize", want: []string{"Calendar"}},
			{of: "Dynamic Measure[Value]", want: []string{
				"Dynamic Measure[Code]", "Sales[Sales Amount]", "Sales[Sales Amount  (% Δ LY)]", "Sales[# Customers (with Sales)]",
				"Sales[Sales Qty]", "Sales[Margin]",
			}},
			{of: "Parameter - Dimension", want: []string{"Customer[Customer]", "Product[Product]", "Store[Store]"}},
			{of: "Parameter - Measure", want: []string{
				"Sales[# Sales]", "Sales[# Products (with Sales)]", "Sales[# Customers (with Sales)]", "Sales[Margin]",
				"Sales[Sales Amount]", "Sales[Sales Qty]",
			}},
			{of: "Dynamic Measure"}, // DATATABLE
			{of: "Stores Cluster 1 on Store", want: []string{"Store[Store Code]"}},
		},
		fuam: {
			{of: "Metrics[# Active Artifacts]", want: []string{"active_items[id]", "active_items[fuam_deleted]"}},
			{of: "Metrics[# Activities]", want: []string{"activities"}},
			{of: "Metrics[Considered Days]", want: []string{"capacity_refreshable_summaries[ConsiderationDurationSeconds]"}},
			{of: "Metrics[Data Size (table)]", want: []string{"semantic_model_vertipaq_tables[DataSize]", "Metrics[Selected Unit Value]"}},
			// [scheduledRefreshes] is a column that the text makes.
			{of: "Metrics[# Scheduled Refreshables]", want: []string{
				"capacity_refreshables[WorkspaceId]", "capacity_refreshables[ItemId]", "capacity_refreshable_days[Day]",
				"capacity_refreshable_times[Time]", "capacity_refreshables[IsRefreshEnabled]", "Metrics[# Refreshable Items]",
			}},
			{of: "Metrics[Avg CU by Item by Day IOD]", want: []string{
				"calendar[Date2Key]", "capacity_metrics_by_item_by_operation_by_day[ItemId]", "Metrics[Total CUs IOD]",
			}},
			{of: "Metrics[Trend of Avg CU by Item by Day 30d IOD]", want: []string{
				"capacity_metrics_by_item_by_operation_by_day[Date]", "Metrics[Avg CU by Item by Day IOD]", "calendar[Date2Key]",
			}},
			{of: "Metrics[FUAM Release]"},
			// The published model has no such table.
			{
				of: "Metrics[Workspace Monitoring URL]", want: []string{"active_items[type]", "workspaces[WorkspaceId]", "active_items[id]"},
				unresolved: []string{"workspace_monitoring_reports", "workspace_monitoring_reports[ReportId]"},
			},
		},
	} {
		m := publicModel(t, path)
		g := reference.NewGraph(m)
		for _, s := range samples {
			refs := g.References(find(t, m, s.of))
			if refs == nil || refs.Invalid != nil {
				t.Errorf("%s: %s has no references", path, s.of)
				continue
			}
			if got := names(refs.Elements()); !slices.Equal(got, s.want) {
				t.Errorf("%s: %s refers to\n %s, want\n %s", path, s.of, strings.Join(got, ", "), strings.Join(s.want, ", "))
			}
			var unresolved []string
			for _, u := range refs.Unresolved {
				unresolved = append(unresolved, u.Text)
			}
			if !slices.Equal(unresolved, s.unresolved) {
				t.Errorf("%s: %s has the unresolved names %q, want %q", path, s.of, unresolved, s.unresolved)
			}
		}
	}
}
