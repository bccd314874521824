package eval

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A reference is what a name stands for: a table alone, or a column or measure of
// it.
type reference struct {
	table *table
	child string // name of the column or measure
	kind  string // "column" or "measure" where there is a child
}

// referenceTo is an argument that must name a table, a column or a measure.
func (c *compiler) referenceTo(s *scope, x *dax.Call) reference {
	arg := x.Args[0]
	if t := c.tryTable(s, arg); t != nil {
		return reference{table: t}
	}
	if col := c.tryColumn(s, arg); col != nil {
		return reference{col.table, col.name, "column"}
	}
	ref, ok := c.bare(s, arg).(*dax.Ref)
	if !ok {
		c.fail(arg, Invalid, "%s expects a table, a column or a measure.", x.Func)
	}
	m := c.q.measure(ref.Name)
	if m == nil {
		c.fail(ref, UnknownName, "The measure '%s' cannot be found.", ref.Name)
	}
	return reference{m.table, m.name, "measure"}
}

// bare is what a parameter of a user-defined function stands for.
func (c *compiler) bare(s *scope, x dax.Expr) dax.Expr {
	if name, ok := x.(*dax.Name); ok && !name.Quoted {
		if b := s.find(name.Value); b != nil && b.expr != nil {
			b.uses++
			return c.bare(b.scope, b.expr)
		}
	}
	return x
}

// tableOfReference is TABLEOF: the table of a column or of a measure.
func (c *compiler) tableOfReference(s *scope, x *dax.Call) node {
	return c.tableNode(c.referenceTo(s, x).table)
}

// nameOf is NAMEOF ( object, component, escaped ).
func (c *compiler) nameOf(s *scope, x *dax.Call) node {
	ref := c.referenceTo(s, x)
	component, escaped := "full", "escaped"
	if len(x.Args) > 1 && x.Args[1] != nil {
		component = c.word(x.Args[1])
	}
	if len(x.Args) > 2 && x.Args[2] != nil {
		escaped = c.word(x.Args[2])
	}
	parent, child := ref.table.name, ref.child
	has := true
	switch component {
	case "full":
	case "self":
		if child != "" {
			parent = ""
		}
	case "table":
		child = ""
	case "parent":
		has, child = child != "", ""
	case "column", "measure":
		has, parent = ref.kind == component, ""
	case "calendar":
		has = false
	default:
		c.fail(x.Args[1], Invalid, "The component of NAMEOF must be TABLE, COLUMN, MEASURE, CALENDAR, FULL, SELF or PARENT.")
	}
	if !has {
		c.fail(x.Args[1], Invalid, "The name of %s%s has no component %s.", quoteTable(ref.table.name), quoteColumn(ref.child), strings.ToUpper(component))
	}
	switch escaped {
	case "escaped":
		return constant(value.OfText(quoteTable(parent) + quoteColumn(child)))
	case "unescaped":
		if parent != "" && child != "" {
			c.fail(x, Invalid, "A name with a table and a column or measure needs its marks: NAMEOF cannot give it unescaped.")
		}
		return constant(value.OfText(parent + child))
	case "minimallyescaped":
		switch {
		case parent == "":
			if !plainName(child) {
				child = quoteColumn(child)
			}
			return constant(value.OfText(child))
		case !plainName(parent):
			parent = quoteTable(parent)
		}
		return constant(value.OfText(parent + quoteColumn(child)))
	}
	c.fail(x.Args[2], Invalid, "NAMEOF can give a name ESCAPED, UNESCAPED or MINIMALLYESCAPED.")
	return node{}
}

// plainName says whether a name is of letters, digits and underscores alone.
func plainName(name string) bool {
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

// quoteTable and quoteColumn write names with their marks; nothing for none.
func quoteTable(name string) string {
	if name == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(name, "'", "''") + "'"
}

func quoteColumn(name string) string {
	if name == "" {
		return ""
	}
	return "[" + strings.ReplaceAll(name, "]", "]]") + "]"
}
