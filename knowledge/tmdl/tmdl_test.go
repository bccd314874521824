package tmdl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

const salesTable = `/// One row for each line
/// of an order
table Sales
	lineageTag: 1

	/// What is left
	measure 'Net sales' = SUM ( Sales[Amount] )
		formatString: #,0.00
		displayFolder: Money

	measure Margin =

			VAR x = [Net sales]

			RETURN
			    x
		isHidden

	measure 'It''s fenced' = ` + "```" + `
			SUMX (
			    Sales,
			    1
			)
			` + "```" + `
		formatString: 0

		annotation PBI_FormatHint = {"isCustom":true}

	column Amount
		dataType: decimal
		summarizeBy: sum
		sourceColumn: net amount
		sortByColumn: 'Order No'

	column 'Order No'
		dataType: int64
		isKey
		isHidden: true

	column Year = YEAR ( Sales[Date] )
		dataType: int64

	column Date
		dataType: dateTime

		variation Variation
			isDefault
			relationship: r9
			defaultHierarchy: 'Local Date'.'Date Hierarchy'

	partition Sales = m
		mode: import
		source =
				let
					Source = 1
				in
					Source
`

func TestFolder(t *testing.T) {
	fsys := fstest.MapFS{
		"m/model.tmdl":        {Data: []byte("\ufeffmodel Model\n\tculture: en-US\n\nref table Years\nref table Sales\n")},
		"m/database.tmdl":     {Data: []byte("database Shop\n\tcompatibilityLevel: 1600\n")},
		"m/tables/Sales.tmdl": {Data: []byte(strings.ReplaceAll(salesTable, "\n", "\r\n"))},
		"m/tables/Years.tmdl": {Data: []byte(`table Years
	isHidden

	column Value
		dataType: int64
		sourceColumn: [Value]

	partition Years = calculated
		source = GENERATESERIES ( 2023, 2026 )
`)},
		"m/tables/Time.tmdl": {Data: []byte(`table Time
	calculationGroup
		precedence: 1

		calculationItem Now = SELECTEDMEASURE ()

		calculationItem YOY% =
				DIVIDE (
				    SELECTEDMEASURE (), 2 )

			formatStringDefinition = "0%"
`)},
		"m/relationships.tmdl": {Data: []byte(`relationship r1
	isActive: false
	crossFilteringBehavior: bothDirections
	fromCardinality: one
	toCardinality: many
	fromColumn: Sales.'Order No'
	toColumn: 'Yea''rs'.Value
`)},
		"m/roles/West.tmdl": {Data: []byte(`role 'West only'
	modelPermission: read

	tablePermission Sales = [Region] = "West"

	tablePermission Years =
			[Value] IN {
			    2023 }

	tablePermission Notes
		metadataPermission: none

	tablePermission Product

		columnPermission 'Cost Price' = none

	member ada@sample.example
`)},
		"m/functions.tmdl":      {Data: []byte("function 'Price.Tax' = ( p : NUMERIC ) => p * 1.2\n")},
		"m/cultures/en-US.tmdl": {Data: []byte("this is not read")},
	}
	got, err := tmdl.LoadFS(fsys, "m")
	if err != nil {
		t.Fatal(err)
	}
	want := &knowledge.Model{
		Name:               "Shop",
		RelationshipsKnown: true,
		Tables: []knowledge.Table{
			{
				Name: "Years", Hidden: true, Expression: "GENERATESERIES ( 2023, 2026 )",
				Columns: []knowledge.Column{{Name: "Value", DataType: knowledge.Int64, SourceColumn: "[Value]"}},
			},
			{
				Name: "Sales", Description: "One row for each line\nof an order",
				Columns: []knowledge.Column{
					{Name: "Amount", DataType: knowledge.Decimal, SourceColumn: "net amount", SortBy: "Order No"},
					{Name: "Order No", DataType: knowledge.Int64, Key: true, Hidden: true},
					{Name: "Year", DataType: knowledge.Int64, Expression: "YEAR ( Sales[Date] )"},
					{Name: "Date", DataType: knowledge.DateTime, Variations: []knowledge.Variation{
						{Name: "Variation", Relationship: "r9", Table: "Local Date"},
					}},
				},
				Measures: []knowledge.Measure{
					{Name: "Net sales", Description: "What is left", Expression: "SUM ( Sales[Amount] )", FormatString: "#,0.00", Folder: "Money"},
					{Name: "Margin", Expression: "VAR x = [Net sales]\n\nRETURN\n    x", Hidden: true},
					{Name: "It's fenced", Expression: "SUMX (\n    Sales,\n    1\n)", FormatString: "0"},
				},
			},
			{
				Name: "Time", Precedence: 1,
				Items: []knowledge.CalculationItem{
					{Name: "Now", Expression: "SELECTEDMEASURE ()"},
					{Name: "YOY%", Expression: "DIVIDE (\n    SELECTEDMEASURE (), 2 )", Ordinal: 1},
				},
			},
		},
		Relationships: []knowledge.Relationship{{
			Name: "r1", FromTable: "Sales", FromColumn: "Order No", ToTable: "Yea'rs", ToColumn: "Value",
			Inactive: true, BothFilter: true, FromOne: true, ToMany: true,
		}},
		Roles: []knowledge.Role{{
			Name:    "West only",
			Members: []knowledge.RoleMember{{Name: "ada@sample.example"}},
			Tables: []knowledge.TablePermission{
				{Table: "Sales", Filter: `[Region] = "West"`},
				{Table: "Years", Filter: "[Value] IN {\n    2023 }"},
				{Table: "Notes", Hidden: true},
				{Table: "Product", HiddenColumns: []string{"Cost Price"}},
			},
		}},
		Functions: []knowledge.Function{{Name: "Price.Tax", Expression: "( p : NUMERIC ) => p * 1.2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
}

func TestBrokenFilesAreNamedWithTheirLine(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"too deep":      {"table T\n\t\t\tcolumn C\n", "line 2: indented by 3 where 1 was expected"},
		"open fence":    {"table T\n\tmeasure m = ```\n\t\t1\n", "line 2: the text between ``` is not closed"},
		"open quote":    {"table 'T\n", "line 1: the name 'T has no closing quote"},
		"not a keyword": {"table T\n\t= 3\n", `line 2: expected a keyword, found "= 3"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tmdl.LoadFS(fstest.MapFS{"x.tmdl": {Data: []byte(c.text)}}, ".")
			if err == nil || !strings.Contains(err.Error(), "x.tmdl: "+c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := tmdl.LoadFS(fstest.MapFS{"a.txt": {}}, "."); !errors.Is(err, tmdl.ErrNoModel) {
		t.Errorf("a folder without models: got %v, want ErrNoModel", err)
	}
}

// publicModels finds the public models that tests may read where they are present.
func publicModels(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PBMB_PUBLIC_MODELS"); dir != "" {
		return dir
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for d := wd; filepath.Dir(d) != d; d = filepath.Dir(d) {
		if dir := filepath.Join(d, "shared", "data", "powerbi"); isDir(dir) {
			return dir
		}
	}
	t.Skip("the public models are not here; set PBMB_PUBLIC_MODELS to their folder")
	return ""
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

var (
	inBlocks = regexp.MustCompile("(?s)```.*?```")
	tables   = regexp.MustCompile(`(?m)^\x{feff}?table `)
	measures = regexp.MustCompile(`(?m)^\tmeasure `)
	columns  = regexp.MustCompile(`(?m)^\tcolumn `)
	items    = regexp.MustCompile(`(?m)^\t\tcalculationItem `)
	joins    = regexp.MustCompile(`(?m)^\x{feff}?relationship `)
)

// SAMPLE-12: the public models of the test data load. What the loader found is
// compared with a count of the lines that start each kind of object.
func TestPublicFolders(t *testing.T) {
	root := publicModels(t)
	seen := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "model.tmdl" {
			return err
		}
		seen++
		src, err := tmdl.Load(filepath.Dir(name))
		if err != nil {
			t.Error(err)
			return nil
		}
		var text bytes.Buffer
		_ = filepath.WalkDir(filepath.Dir(name), func(name string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(name) == ".tmdl" && !strings.Contains(name, "cultures") {
				data, _ := os.ReadFile(name)
				text.Write(append(inBlocks.ReplaceAll(data, nil), '\n'))
			}
			return err
		})
		count := func(re *regexp.Regexp) int { return len(re.FindAll(text.Bytes(), -1)) }
		got := countOf(src.Model)
		want := counts{count(tables), count(columns), count(measures), count(items), count(joins)}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", src.Model.Name, got, want)
		}
		if got.tables == 0 || src.Model.Name == "" {
			t.Errorf("%s: no tables or no name (%q)", name, src.Model.Name)
		}
		checkWhole(t, src.Model)
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("saw %d folders, error %v", seen, err)
	}
}

type counts struct{ tables, columns, measures, items, joins int }

func countOf(m *knowledge.Model) counts {
	c := counts{tables: len(m.Tables), joins: len(m.Relationships)}
	for _, t := range m.Tables {
		c.columns += len(t.Columns)
		c.measures += len(t.Measures)
		c.items += len(t.Items)
	}
	return c
}

// checkWhole fails where an expression lost its text or a relationship an end.
func checkWhole(t *testing.T, m *knowledge.Model) {
	t.Helper()
	for _, tbl := range m.Tables {
		for _, me := range tbl.Measures {
			if strings.Contains(me.Expression, "lineageTag:") || strings.Contains(me.Expression, "```") {
				t.Errorf("%s: measure %s[%s] took in what follows it: %q", m.Name, tbl.Name, me.Name, me.Expression)
			}
		}
	}
	for _, r := range m.Relationships {
		for _, end := range [][2]string{{r.FromTable, r.FromColumn}, {r.ToTable, r.ToColumn}} {
			if !hasColumn(m, end[0], end[1]) {
				t.Errorf("%s: relationship %s has no column %s[%s]", m.Name, r.Name, end[0], end[1])
			}
		}
	}
}

func hasColumn(m *knowledge.Model, tableName, column string) bool {
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			if t.Name == tableName && c.Name == column {
				return true
			}
		}
	}
	return false
}

// SAMPLE-12
func TestPublicFiles(t *testing.T) {
	root := publicModels(t)
	seen := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".bim" {
			return err
		}
		seen++
		src, err := tmdl.Load(name)
		if err != nil {
			t.Error(err)
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		// The same document, counted without the loader's types.
		var doc struct{ Model map[string]json.RawMessage }
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &doc); err != nil {
			return err
		}
		var raw []map[string]json.RawMessage
		if len(doc.Model["tables"]) > 0 {
			if err := json.Unmarshal(doc.Model["tables"], &raw); err != nil {
				return err
			}
		}
		want := counts{tables: len(raw), joins: length(doc.Model["relationships"])}
		for _, r := range raw {
			want.columns += length(r["columns"]) - bytes.Count(r["columns"], []byte(`"rowNumber"`))
			want.measures += length(r["measures"])
			var group struct{ CalculationItems []any }
			if len(r["calculationGroup"]) > 0 {
				if err := json.Unmarshal(r["calculationGroup"], &group); err != nil {
					return err
				}
			}
			want.items += len(group.CalculationItems)
		}
		if got := countOf(src.Model); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		checkWhole(t, src.Model)
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("saw %d files, error %v", seen, err)
	}
}

func length(data json.RawMessage) int {
	var list []any
	if len(data) > 0 && json.Unmarshal(data, &list) != nil {
		return -1
	}
	return len(list)
}

func TestNames(t *testing.T) {
	root := publicModels(t)
	for place, want := range map[string]string{
		"tabulareditor/TOMWrapperTest/TestData/AdventureWorks.bim":                                                      "AdventureWorks",
		"pbi-tools-adventureworksdw2020":                                                                                "Adventure Works DW 2020",
		"fabric-toolbox/monitoring/fabric-unified-admin-monitoring/src/FUAM_Core_SM.SemanticModel":                      "FUAM_Core_SM",
		"sidemantic-fixtures/fixtures/external_powerbi/ruiromano-pbip-demo-agentic-model01/definition":                  "ruiromano-pbip-demo-agentic-model01",
		"fabric-toolbox/monitoring/fabric-platform-monitoring/src/Gateway/Gateway Monitoring.SemanticModel/definition/": "Gateway Monitoring",
	} {
		src, err := tmdl.Load(filepath.Join(root, filepath.FromSlash(place)))
		if err != nil {
			t.Error(err)
		} else if src.Model.Name != want {
			t.Errorf("%s is named %q, want %q", place, src.Model.Name, want)
		}
	}
}
