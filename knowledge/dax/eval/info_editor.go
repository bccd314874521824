package eval

import "github.com/pbmb/pbmb/knowledge/dax"

// forEditors refuses a function to everybody who may not write the model, as what
// this engine does not have is refused.
func forEditors(f function) function {
	compile := f.compile
	f.compile = func(c *compiler, s *scope, x *dax.Call) node {
		if !c.q.as.Unrestricted {
			panic(unsupported(x))
		}
		return compile(c, s, x)
	}
	return f
}

// A calculation group has the number of its table.
func calculationGroups() view {
	return view{
		columns: []string{"ID", "TableID", "Description", "ModifiedTime", "Precedence"},
		rows: func(q *query, add func(map[string]any)) {
			for i, t := range q.e.tables {
				if len(t.def.Items) > 0 {
					add(map[string]any{"ID": tableIDs + i, "TableID": tableIDs + i, "Precedence": t.def.Precedence})
				}
			}
		},
	}
}

func calculationItems() view {
	return view{
		columns: []string{"ID", "CalculationGroupID", "FormatStringDefinitionID", "Name", "Description", "ModifiedTime", "State",
			"ErrorMessage", "Expression", "Ordinal"},
		rows: func(q *query, add func(map[string]any)) {
			id := itemIDs
			for i, t := range q.e.tables {
				for _, item := range t.def.Items {
					id++
					add(map[string]any{
						"ID": id, "CalculationGroupID": tableIDs + i, "Name": item.Name, "State": 1,
						"Expression": item.Expression, "Ordinal": item.Ordinal,
					})
				}
			}
		},
	}
}

func userDefinedFunctions() view {
	return view{
		columns: []string{"ID", "ModelID", "Name", "Description", "Expression", "IsHidden", "State", "ErrorMessage", "ModifiedTime",
			"StructureModifiedTime", "LineageTag", "SourceLineageTag"},
		rows: func(q *query, add func(map[string]any)) {
			for i, f := range q.e.model.Functions {
				add(map[string]any{
					"ID": functionIDs + i, "ModelID": 1, "Name": f.Name, "Expression": f.Expression, "IsHidden": false, "State": 1,
				})
			}
		},
	}
}
