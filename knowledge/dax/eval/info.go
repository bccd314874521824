package eval

import (
	"fmt"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A view is what INFO.VIEW.* lists: the names of its columns, and its rows as
// the person of the query sees them.
type view struct {
	columns []string
	rows    func(q *query, add func(cells map[string]any))
}

// infoView makes a function of a view. A cell that a row does not set is blank.
func infoView(make func() view) function {
	return tableFunction(0, 0, func(*compiler, *scope, *dax.Call) node {
		v := make()
		sc := &schema{}
		for _, name := range v.columns {
			sc.cols = append(sc.cols, colMeta{name: name})
		}
		return node{schema: sc, table: func(e *env) *relation {
			rel := newRelation(sc)
			v.rows(e.q, func(cells map[string]any) {
				vals := []value.Value{}
				for _, name := range v.columns {
					vals = append(vals, cell(cells[name]))
				}
				rel.addRow(vals...)
			})
			return rel
		}}
	})
}

func cell(v any) value.Value {
	switch v := v.(type) {
	case string:
		if v != "" {
			return value.OfText(v)
		}
	case int:
		return value.OfInt(int64(v))
	case bool:
		return value.OfBool(v)
	}
	return value.Value{}
}

// Numbers of the objects of a model: each kind has a range of its own, so that an
// id names one thing.
const (
	tableIDs        = 1_000
	columnIDs       = 100_000
	measureIDs      = 10_000_000
	relationshipIDs = 20_000_000
	itemIDs         = 30_000_000
	functionIDs     = 40_000_000
)

func viewTables() view {
	return view{
		columns: []string{"ID", "Name", "Model", "DataCategory", "Description", "IsHidden", "StorageMode", "TableStorage",
			"Expression", "ShowAsVariationOnly", "IsPrivate", "CalculationGroupPrecedence", "LineageTag"},
		rows: func(q *query, add func(map[string]any)) {
			for i, t := range q.e.tables {
				if q.hidden[t] {
					continue
				}
				cells := map[string]any{
					"ID": tableIDs + i, "Name": t.name, "Model": q.e.model.Name, "DataCategory": "Regular",
					"Description": t.def.Description, "IsHidden": t.def.Hidden, "StorageMode": "Import",
					"ShowAsVariationOnly": false, "IsPrivate": false,
				}
				if len(t.def.Items) > 0 {
					cells["CalculationGroupPrecedence"] = t.def.Precedence
				}
				if q.as.Unrestricted {
					cells["Expression"] = t.def.Expression
					cells["TableStorage"] = fmt.Sprintf("%s (%d)", t.name, tableIDs+i)
				}
				add(cells)
			}
		},
	}
}

func viewColumns() view {
	return view{
		columns: []string{"ID", "Name", "Table", "DataType", "DataCategory", "Description", "IsHidden", "IsUnique", "IsKey",
			"IsNullable", "Alignment", "SummarizeBy", "ColumnStorage", "Type", "SourceColumn", "Expression", "FormatString",
			"IsAvailableInMDX", "SortByColumn", "GroupingBehavior", "SourceProviderType", "DisplayFolder", "AlternateOf", "LineageTag"},
		rows: func(q *query, add func(map[string]any)) {
			id := columnIDs
			for _, t := range q.e.tables {
				for _, c := range t.columns {
					id++
					if q.hidden[t] || q.hiddenColumns[c] {
						continue
					}
					def := c.def
					if def == nil { // of a calculated table whose columns the model does not list
						def = &knowledge.Column{}
					}
					kind := "Data"
					switch {
					case def.Expression != "":
						kind = "Calculated"
					case t.def.Expression != "":
						kind = "CalculatedTableColumn"
					}
					sortBy := "" // this one is a name, as relationships give names
					if def.SortBy != "" {
						sortBy = def.SortBy
					}
					add(map[string]any{
						"ID": id, "Name": c.name, "Table": t.name, "DataType": typeWord(c), "DataCategory": "Regular",
						"Description": def.Description, "IsHidden": def.Hidden, "IsUnique": def.Key, "IsKey": def.Key,
						"IsNullable": !def.Key, "Alignment": "Default", "SummarizeBy": "None", "Type": kind,
						"ColumnStorage": fmt.Sprintf("%s (%d)", c.name, id),
						"SourceColumn":  def.SourceColumn, "Expression": def.Expression, "FormatString": def.FormatString,
						"IsAvailableInMDX": true, "SortByColumn": sortBy, "GroupingBehavior": "GroupOnValue", "DisplayFolder": def.Folder,
					})
				}
			}
		},
	}
}

func typeWord(c *modelColumn) string {
	t := knowledge.DataType("")
	if c.def != nil {
		t = c.def.DataType
	}
	if t == "" && c.data != nil {
		t = dataType(c.data.Kind)
	}
	switch t {
	case knowledge.Int64:
		return "Integer"
	case knowledge.Double:
		return "Number"
	case knowledge.Decimal:
		return "Currency"
	case knowledge.Boolean:
		return "True/False"
	case knowledge.DateTime:
		return "Date"
	case knowledge.Binary:
		return "Binary"
	case knowledge.Variant:
		return "Variant"
	}
	return "Text"
}

func viewMeasures() view {
	return view{
		columns: []string{"ID", "Name", "Table", "Description", "DataType", "Expression", "FormatString", "IsHidden", "State",
			"KPIID", "IsSimpleMeasure", "DisplayFolder", "DetailRowsDefinition", "DataCategory", "FormatStringDefinition", "LineageTag"},
		rows: func(q *query, add func(map[string]any)) {
			id := measureIDs
			for _, t := range q.e.tables {
				for _, m := range t.def.Measures {
					id++
					if q.hidden[t] {
						continue
					}
					cells := map[string]any{
						"ID": id, "Name": m.Name, "Table": t.name, "Description": m.Description, "DataType": "Variant",
						"FormatString": m.FormatString, "IsHidden": m.Hidden, "State": "Ready", "IsSimpleMeasure": false,
						"DisplayFolder": m.Folder,
					}
					if q.as.Unrestricted {
						cells["Expression"], cells["DetailRowsDefinition"] = m.Expression, m.DetailRows
					}
					add(cells)
				}
			}
		},
	}
}

func viewRelationships() view {
	return view{
		columns: []string{"ID", "Name", "Relationship", "Model", "IsActive", "CrossFilteringBehavior", "RelyOnReferentialIntegrity",
			"FromTable", "FromColumn", "FromCardinality", "ToTable", "ToColumn", "ToCardinality", "State", "SecurityFilteringBehavior"},
		rows: func(q *query, add func(map[string]any)) {
			for i, r := range q.e.model.Relationships {
				from, to := q.table(r.FromTable), q.table(r.ToTable)
				if from == nil || to == nil || q.column(from, r.FromColumn) == nil || q.column(to, r.ToColumn) == nil {
					continue
				}
				fromCard, toCard, arrow := "Many", "One", "*-1"
				if r.FromOne {
					fromCard, arrow = "One", "1-1"
				}
				if r.ToMany {
					toCard, arrow = "Many", "*-*"
				}
				add(map[string]any{
					"ID": relationshipIDs + i, "Name": r.Name, "Model": q.e.model.Name, "IsActive": !r.Inactive,
					"Relationship":           fmt.Sprintf("%s[%s] %s %s[%s]", quoteTable(r.FromTable), r.FromColumn, arrow, quoteTable(r.ToTable), r.ToColumn),
					"CrossFilteringBehavior": directionWord(r.BothFilter), "SecurityFilteringBehavior": directionWord(r.BothSecure),
					"RelyOnReferentialIntegrity": false, "State": "Ready",
					"FromTable": r.FromTable, "FromColumn": r.FromColumn, "FromCardinality": fromCard,
					"ToTable": r.ToTable, "ToColumn": r.ToColumn, "ToCardinality": toCard,
				})
			}
		},
	}
}

func columnStatistics() view {
	return view{
		columns: []string{"Table Name", "Column Name", "Min", "Max", "Cardinality", "Max Length"},
		rows: func(q *query, add func(map[string]any)) {
			for _, t := range q.e.tables {
				for _, c := range t.columns {
					if q.hidden[t] || q.hiddenColumns[c] || c.data == nil {
						continue
					}
					var low, high value.Value
					longest, ids := 0, distinctIDs(c, q.visible(t))
					for _, id := range ids {
						v := c.data.Values()[id]
						if v.IsBlank() {
							continue
						}
						if low.IsBlank() || value.Order(v, low) < 0 {
							low = v
						}
						if high.IsBlank() || value.Order(v, high) > 0 {
							high = v
						}
						longest = max(longest, len([]rune(v.Str())))
					}
					cells := map[string]any{"Table Name": t.name, "Column Name": c.name, "Cardinality": len(ids), "Min": low.String(), "Max": high.String()}
					if c.data.Kind == value.Text {
						cells["Max Length"] = longest
					}
					add(cells)
				}
			}
		},
	}
}

func directionWord(both bool) string {
	if both {
		return "BothDirections"
	}
	return "OneDirection"
}
