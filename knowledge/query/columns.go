package query

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// columns names and types the columns of an answer. Those of the model have the
// model's type; others the one that their cells have, since Power BI tells none.
func columns(m *knowledge.Model, rows *Rows) []Column {
	types := map[string]knowledge.DataType{}
	for _, t := range m.Tables {
		for _, c := range t.Columns {
			types[knowledge.Fold(t.Name+"["+c.Name+"]")] = c.DataType
		}
	}
	out := make([]Column, len(rows.Columns))
	for i, name := range rows.Columns {
		out[i].Name = name
		if t, ok := types[knowledge.Fold(name)]; ok && t != "" {
			out[i].Type = t
			continue
		}
		for _, row := range rows.Rows {
			out[i].Type = wider(out[i].Type, typeOf(row[i]))
		}
	}
	return out
}

var dateTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$`)

func typeOf(cell any) knowledge.DataType {
	switch v := cell.(type) {
	case bool:
		return knowledge.Boolean
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return knowledge.Double
		}
		return knowledge.Int64
	case string:
		if dateTime.MatchString(v) {
			return knowledge.DateTime
		}
		return knowledge.String
	}
	return ""
}

// wider returns the type that holds cells of both.
func wider(a, b knowledge.DataType) knowledge.DataType {
	switch {
	case a == b || b == "":
		return a
	case a == "":
		return b
	case a == knowledge.Int64 && b == knowledge.Double, a == knowledge.Double && b == knowledge.Int64:
		return knowledge.Double
	case a == knowledge.DateTime && b == knowledge.String, a == knowledge.String && b == knowledge.DateTime:
		return knowledge.String
	}
	return knowledge.Variant
}
