package tmdl

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// A builder puts the objects of several TMDL files together: one model may be
// one file or, as tools write it, a file for each table and role.
type builder struct {
	m     knowledge.Model
	order []string // tables in the order in which model.tmdl names them
	any   bool
}

func (b *builder) add(nodes []*node) {
	b.any = true
	for _, n := range nodes {
		switch n.keyword {
		case "createOrReplace", "model":
			b.add(n.children)
		case "database":
			b.m.Name = n.name
			b.add(n.children)
		case "table":
			b.m.Tables = append(b.m.Tables, table(n))
		case "relationship":
			b.m.Relationships = append(b.m.Relationships, relationship(n))
		case "role":
			b.m.Roles = append(b.m.Roles, role(n))
		case "function":
			b.m.Functions = append(b.m.Functions, knowledge.Function{Name: n.name, Expression: n.value})
		case "ref":
			if name, ok := strings.CutPrefix(n.name, "table "); ok {
				b.order = append(b.order, unquote(strings.TrimSpace(name)))
			}
		}
	}
}

// model returns the model with its tables in the order of the model's own list.
func (b *builder) model() *knowledge.Model {
	place := func(t knowledge.Table) int {
		if i := slices.Index(b.order, t.Name); i >= 0 {
			return i
		}
		return len(b.order)
	}
	slices.SortStableFunc(b.m.Tables, func(x, y knowledge.Table) int { return cmp.Compare(place(x), place(y)) })
	b.m.RelationshipsKnown = true
	return &b.m
}

func table(n *node) knowledge.Table {
	t := knowledge.Table{Name: n.name, Description: n.doc, Hidden: n.flag("isHidden")}
	for _, c := range n.children {
		switch c.keyword {
		case "column":
			t.Columns = append(t.Columns, column(c))
		case "measure":
			t.Measures = append(t.Measures, knowledge.Measure{
				Name: c.name, Description: c.doc, Expression: c.value,
				FormatString: c.text("formatString"), Hidden: c.flag("isHidden"),
				Folder: c.text("displayFolder"), DetailRows: c.text("detailRowsDefinition"),
			})
		case "partition":
			if c.value == "calculated" {
				t.Expression = c.text("source")
			}
		case "calculationGroup":
			t.Precedence, _ = strconv.Atoi(c.text("precedence")) // none is 0
			for _, item := range c.children {
				if item.keyword != "calculationItem" {
					continue
				}
				t.Items = append(t.Items, knowledge.CalculationItem{
					Name: item.name, Expression: item.value, Ordinal: len(t.Items),
				})
			}
		}
	}
	return t
}

func column(n *node) knowledge.Column {
	c := knowledge.Column{
		Name: n.name, Description: n.doc, DataType: dataType(n.text("dataType")),
		Hidden: n.flag("isHidden"), Key: n.flag("isKey"), Expression: n.value,
		SourceColumn: n.text("sourceColumn"), SortBy: unquote(n.text("sortByColumn")),
		FormatString: n.text("formatString"), Folder: n.text("displayFolder"),
	}
	for _, v := range n.children {
		if v.keyword != "variation" {
			continue
		}
		dateTable, _ := member(v.text("defaultHierarchy"))
		c.Variations = append(c.Variations, knowledge.Variation{
			Name: v.name, Relationship: unquote(v.text("relationship")), Table: dateTable,
		})
	}
	return c
}

// dataType takes the words of TMDL and TMSL, which are those of [knowledge.DataType]
// in any letter case. A column that says nothing has a type to be inferred.
func dataType(word string) knowledge.DataType {
	for _, t := range []knowledge.DataType{
		knowledge.String, knowledge.Int64, knowledge.Double, knowledge.Decimal,
		knowledge.Boolean, knowledge.DateTime, knowledge.Binary,
	} {
		if strings.EqualFold(string(t), word) {
			return t
		}
	}
	return knowledge.Variant
}

func relationship(n *node) knowledge.Relationship {
	r := knowledge.Relationship{
		Name:       n.name,
		Inactive:   strings.EqualFold(n.text("isActive"), "false"),
		BothFilter: strings.EqualFold(n.text("crossFilteringBehavior"), "bothDirections"),
		BothSecure: strings.EqualFold(n.text("securityFilteringBehavior"), "bothDirections"),
		FromOne:    strings.EqualFold(n.text("fromCardinality"), "one"),
		ToMany:     strings.EqualFold(n.text("toCardinality"), "many"),
	}
	r.FromTable, r.FromColumn = member(n.text("fromColumn"))
	r.ToTable, r.ToColumn = member(n.text("toColumn"))
	return r
}

func role(n *node) knowledge.Role {
	r := knowledge.Role{Name: n.name}
	for _, c := range n.children {
		switch c.keyword {
		case "member":
			r.Members = append(r.Members, knowledge.RoleMember{Name: c.name})
		case "tablePermission":
			p := knowledge.TablePermission{
				Table: c.name, Filter: c.value,
				Hidden: strings.EqualFold(c.text("metadataPermission"), "none"),
			}
			for _, col := range c.children {
				if col.keyword == "columnPermission" && (strings.EqualFold(col.value, "none") ||
					strings.EqualFold(col.text("metadataPermission"), "none")) {
					p.HiddenColumns = append(p.HiddenColumns, col.name)
				}
			}
			r.Tables = append(r.Tables, p)
		}
	}
	return r
}

// member splits Table.Member, of which each part may be quoted.
func member(text string) (tableName, memberName string) {
	if strings.HasPrefix(text, "'") {
		name, rest, ok := quoted(text)
		if !ok {
			return "", ""
		}
		return name, unquote(strings.TrimPrefix(rest, "."))
	}
	tableName, memberName, _ = strings.Cut(text, ".")
	return tableName, unquote(memberName)
}

func unquote(text string) string {
	if strings.HasPrefix(text, "'") {
		if name, _, ok := quoted(text); ok {
			return name
		}
	}
	return text
}
