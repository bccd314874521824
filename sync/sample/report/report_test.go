package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/sync/sample/report"
)

// shop is a model of three sales: 10 in Oslo, 20 and 30 in O"Rly.
func shop() *knowledge.Model {
	return &knowledge.Model{Name: "Shop", Tables: []knowledge.Table{{
		Name: "Sales",
		Columns: []knowledge.Column{
			{Name: "City", DataType: knowledge.String}, {Name: "Amount", DataType: knowledge.Int64},
			{Name: "Day", DataType: knowledge.DateTime, FormatString: "yyyy-mm-dd"}, {Name: "Open", DataType: knowledge.Boolean},
			{Name: "Size", DataType: knowledge.String, SortBy: "Rank"}, {Name: "Rank", DataType: knowledge.Int64},
		},
		Measures: []knowledge.Measure{{Name: "Total", Expression: "SUM ( Sales[Amount] )", FormatString: "#,0.00"}},
	}}}
}

const rows = `City,Amount,Day,Open,Size,Rank
Oslo,10,2026-01-01,true,Small,1
"O""Rly",20,2026-01-02,true,Large,3
"O""Rly",30,2026-01-03,false,Medium,2
`

func newShop(t *testing.T) (*knowledge.Model, *eval.Engine) {
	t.Helper()
	m := shop()
	data, err := eval.ReadCSV(m.Tables[0], strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(m, []*eval.Rows{data}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return m, e
}

// draw parses a definition of one visual and asks for it.
func draw(t *testing.T, visual string, filters ...report.Filter) (*report.Answer, error) {
	t.Helper()
	m, e := newShop(t)
	r, err := report.Parse([]byte("pages: [{name: P, visuals: ["+visual+"]}]"), "key", m)
	if err != nil {
		t.Fatal(err)
	}
	return r.Pages[0].Visuals[0].Ask(t.Context(), e, m, eval.Identity{Unrestricted: true}, filters)
}

func texts(rows [][]report.Cell) string {
	var lines []string
	for _, row := range rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		lines = append(lines, strings.Join(cells, ","))
	}
	return strings.Join(lines, "; ")
}

// SAMPLE-09: each kind of visual is drawn from its rows and totals.
func TestVisuals(t *testing.T) {
	for name, c := range map[string]struct{ visual, rows, total, across string }{
		"a card":                              {`{type: card, title: T, width: 3, values: [Total]}`, "60.00", "", ""},
		"bars have the largest first":         {`{type: bar, title: T, width: 3, rows: ['Sales[City]'], values: [Total]}`, `O"Rly,50.00; Oslo,10.00`, "", ""},
		"bars keep an order of their own":     {`{type: bar, title: T, width: 3, rows: ['Sales[Size]'], values: [Total]}`, "Small,10.00; Medium,30.00; Large,20.00", "", ""},
		"only the top":                        {`{type: bar, title: T, width: 3, rows: ['Sales[Day]'], values: [Total], top: 2}`, "2026-01-03,30.00; 2026-01-02,20.00", "", ""},
		"a line is in the order of its axis":  {`{type: line, title: T, width: 3, rows: ['Sales[Day]'], values: [Total]}`, "2026-01-01,10.00; 2026-01-02,20.00; 2026-01-03,30.00", "", ""},
		"a table has a total":                 {`{type: table, title: T, width: 3, rows: ['Sales[City]', 'Sales[Open]'], values: [Total]}`, `O"Rly,False,30.00; O"Rly,True,20.00; Oslo,True,10.00`, "60.00", ""},
		"a matrix has totals both ways":       {`{type: matrix, title: T, width: 3, rows: ['Sales[City]'], columns: 'Sales[Open]', values: [Total]}`, `O"Rly,False,30.00; O"Rly,True,20.00; Oslo,True,10.00`, "60.00", "False,30.00; True,30.00"},
		"a slicer has the values":             {`{type: slicer, title: T, width: 3, rows: ['Sales[Size]']}`, "Small; Medium; Large", "", ""},
		"a visual's own filter leaves it few": {`{type: card, title: T, width: 3, values: [Total], filters: [{column: 'Sales[City]', in: ['Oslo']}]}`, "10.00", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := draw(t, c.visual)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(a.Rows); got != c.rows {
				t.Errorf("rows %s, want %s", got, c.rows)
			}
			if got := texts([][]report.Cell{a.Total}); got != c.total {
				t.Errorf("total %s, want %s", got, c.total)
			}
			if c.across != "" {
				if got := texts(a.ColumnTotals); got != c.across {
					t.Errorf("totals of the columns %s, want %s", got, c.across)
				}
				if got := texts(a.RowTotals); got != `O"Rly,50.00; Oslo,10.00` {
					t.Errorf("totals of the rows %s", got)
				}
			}
		})
	}
}

// SAMPLE-09: filters come as the protocol has them. A value cannot end its literal.
func TestFilters(t *testing.T) {
	card := `{type: card, title: T, width: 3, values: [Total]}`
	for name, c := range map[string]struct{ filter, total string }{
		"in":                    {`{"target":{"table":"Sales","column":"City"},"operator":"In","values":["Oslo"],"filterType":1}`, "10.00"},
		"a quote in the value":  {`{"target":{"table":"Sales","column":"City"},"operator":"In","values":["O\"Rly"]}`, "50.00"},
		"a way out of the text": {`{"target":{"table":"Sales","column":"City"},"operator":"In","values":["x\" } || TRUE () || { \""]}`, ""},
		"not in":                {`{"target":{"table":"Sales","column":"City"},"operator":"NotIn","values":["Oslo"]}`, "50.00"},
		"all":                   {`{"target":{"table":"Sales","column":"City"},"operator":"All","values":[]}`, "60.00"},
		"numbers":               {`{"target":{"table":"Sales","column":"Amount"},"operator":"In","values":[10,30]}`, "40.00"},
		"a time of JavaScript":  {`{"target":{"table":"Sales","column":"Day"},"operator":"In","values":["2026-01-02T00:00:00.000Z"]}`, "20.00"},
		"truth":                 {`{"target":{"table":"Sales","column":"Open"},"operator":"In","values":[false]}`, "30.00"},
		"between":               {`{"target":{"table":"Sales","column":"Amount"},"logicalOperator":"And","conditions":[{"operator":"GreaterThan","value":10},{"operator":"LessThanOrEqual","value":20}]}`, "20.00"},
		"one or the other":      {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"Or","conditions":[{"operator":"StartsWith","value":"o\""},{"operator":"Is","value":"Oslo"}]}`, "60.00"},
		"contains":              {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"And","conditions":[{"operator":"Contains","value":"sl"}]}`, "10.00"},
		"a star is a star":      {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"And","conditions":[{"operator":"Contains","value":"*"}]}`, ""},
		"not blank":             {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"And","conditions":[{"operator":"IsNotBlank"}]}`, "60.00"},
		"blank":                 {`{"target":{"table":"Sales","column":"City"},"operator":"In","values":[null]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f report.Filter
			if err := json.Unmarshal([]byte(c.filter), &f); err != nil {
				t.Fatal(err)
			}
			a, err := draw(t, card, f)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(a.Rows); got != c.total {
				t.Errorf("total %q, want %q", got, c.total)
			}
		})
	}
	for name, c := range map[string]struct{ filter, say string }{
		"an operator that is none":  {`{"target":{"table":"Sales","column":"City"},"operator":"Near","values":["x"]}`, `"Near"`},
		"a number for a text":       {`{"target":{"table":"Sales","column":"City"},"operator":"In","values":[1]}`, "1 is no value"},
		"a relative date":           {`{"target":{"table":"Sales","column":"Day"},"filterType":4}`, "filterType 4"},
		"a measure":                 {`{"target":{"table":"Sales","measure":"Total"},"operator":"In","values":[1]}`, "on a column only"},
		"a list of targets":         {`{"target":[{"table":"Sales","column":"City"}],"operator":"In","values":["x"]}`, "on a column only"},
		"contains in a number":      {`{"target":{"table":"Sales","column":"Amount"},"logicalOperator":"And","conditions":[{"operator":"Contains","value":1}]}`, "column of texts"},
		"a date that is none":       {`{"target":{"table":"Sales","column":"Day"},"operator":"In","values":["soon"]}`, "soon is no value"},
		"neither and nor or":        {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"Xor","conditions":[]}`, `"Xor"`},
		"a condition of the future": {`{"target":{"table":"Sales","column":"City"},"logicalOperator":"And","conditions":[{"operator":"Rhymes","value":"x"}]}`, `"Rhymes"`},
	} {
		t.Run(name, func(t *testing.T) {
			var f report.Filter
			if err := json.Unmarshal([]byte(c.filter), &f); err != nil {
				t.Fatal(err)
			}
			_, err := draw(t, card, f)
			var problem *report.FilterError
			if !errors.As(err, &problem) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%v, want a filter error with %s", err, c.say)
			}
		})
	}
	_, err := draw(t, card, report.Filter{Target: report.Target{Table: "Sales", Column: "Town"}, Operator: "In", Values: []any{"x"}})
	var unknown *report.UnknownColumn
	if !errors.As(err, &unknown) {
		t.Errorf("a column that the model does not have: %v", err)
	}
}

// SAMPLE-03: a definition that makes no sense is refused with what to mend.
func TestDefinitionsAreChecked(t *testing.T) {
	for text, say := range map[string]string{
		`pages: []`:                                                                                           "needs a page",
		`pages: [{name: P, colour: red}]`:                                                                     "colour",
		`pages: [{name: P, visuals: []}]`:                                                                     "needs a name and visuals",
		one(`{type: pie, title: T, width: 3}`):                                                                `"pie"`,
		one(`{type: card, width: 3}`):                                                                         "title",
		one(`{type: card, title: T, width: 13}`):                                                              "from 1 to 12",
		one(`{type: card, title: T, width: 3}`):                                                               "from 1 to 1 values",
		one(`{type: slicer, title: T, width: 3}`):                                                             "rows",
		one(`{type: card, title: T, width: 3, values: [Sum]}`):                                                `"Sum"`,
		one(`{type: slicer, title: T, width: 3, rows: ['Sales[Town]']}`):                                      "Sales[Town]",
		one(`{type: slicer, title: T, width: 3, rows: ['City']}`):                                             "Table[Column]",
		one(`{type: matrix, title: T, width: 3, rows: ['Sales[City]'], values: [Total]}`):                     "needs columns",
		one(`{type: slicer, title: T, width: 3, rows: ['Sales[City]'], top: 3}`):                              "top",
		one(`{type: card, title: T, width: 3, values: [Total], filters: [{column: 'Sales[City]', in: [1]}]}`): "no value",
	} {
		_, err := report.Parse([]byte(text), "key", shop())
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %s in it", text, err, say)
		}
	}
}

func one(visual string) string { return "pages: [{name: P, visuals: [" + visual + "]}]" }
