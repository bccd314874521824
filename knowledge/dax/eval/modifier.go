package eval

import (
	"slices"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
)

// columnsOrTable reads the arguments of ALL and its like: a table or columns.
func (c *compiler) columnsOrTable(s *scope, x *dax.Call) (*table, []*modelColumn) {
	if len(x.Args) == 0 {
		return nil, nil
	}
	if t := c.tryTable(s, x.Args[0]); t != nil {
		c.arity(x, 1, 1)
		c.q.e.needTable(t)
		return t, nil
	}
	var cols []*modelColumn
	for _, arg := range x.Args {
		cols = append(cols, c.columnOf(s, arg))
	}
	return nil, cols
}

// dropping is the columns that ALL( … ) takes filters off.
func dropping(t *table, cols []*modelColumn) func(*modelColumn) bool {
	switch {
	case t != nil:
		return func(c *modelColumn) bool { return t.reaches(c.table) }
	case cols != nil:
		return func(c *modelColumn) bool { return slices.Contains(cols, c) }
	}
	return func(*modelColumn) bool { return true }
}

func (c *compiler) remover(s *scope, x *dax.Call) func(*env, *filterContext) *filterContext {
	drop := dropping(c.columnsOrTable(s, x))
	return func(_ *env, f *filterContext) *filterContext { return f.without(drop) }
}

func (c *compiler) allExcept(s *scope, x *dax.Call) func(*env, *filterContext) *filterContext {
	c.arity(x, 2, -1)
	t := c.tableArg(s, x.Args[0])
	var keep []*modelColumn
	var tables []*table
	for _, arg := range x.Args[1:] {
		if kept := c.tryTable(s, arg); kept != nil {
			tables = append(tables, kept)
			continue
		}
		keep = append(keep, c.columnOf(s, arg))
	}
	return func(_ *env, f *filterContext) *filterContext {
		return f.without(func(c *modelColumn) bool {
			return t.reaches(c.table) && !slices.Contains(keep, c) && !slices.Contains(tables, c.table)
		})
	}
}

func (c *compiler) allSelected(s *scope, x *dax.Call) func(*env, *filterContext) *filterContext {
	drop := dropping(c.columnsOrTable(s, x))
	return func(_ *env, f *filterContext) *filterContext { return f.selected(drop) }
}

// selected is f with some columns back at what was selected outside: what the
// innermost iteration or SUMMARIZECOLUMNS started from.
func (f *filterContext) selected(drop func(*modelColumn) bool) *filterContext {
	if f.shadow == nil {
		return f
	}
	outside := f.shadow()
	back := outside.without(func(c *modelColumn) bool { return !drop(c) })
	return f.without(drop).and(back.filters...)
}

// relationshipArg finds the relationship between two columns.
func (c *compiler) relationshipArg(s *scope, x *dax.Call) (*relationship, bool) {
	a, b := c.columnOf(s, x.Args[0]), c.columnOf(s, x.Args[1])
	for _, r := range c.q.e.relationships {
		if r.from == a && r.to == b {
			return r, true
		}
		if r.from == b && r.to == a {
			return r, false
		}
	}
	c.fail(x, Invalid, "%s function can only use the two columns reference participating in relationship.", x.Func)
	return nil, false
}

// unsecured refuses to change a relationship under a table that row-level
// security holds for the person, as Power BI does.
func (c *compiler) unsecured(x *dax.Call, r *relationship) {
	if t := r.to.table; c.q.allowed[t] != nil {
		c.fail(x, Invalid, "The UseRelationship() and Crossfilter() functions may not be used when querying '%s' because it is constrained by row-level security.", t.name)
	}
}

func (c *compiler) useRelationship(s *scope, x *dax.Call) func(*env, *filterContext) *filterContext {
	c.arity(x, 2, 2)
	r, fromLeft := c.relationshipArg(s, x)
	c.unsecured(x, r)
	fl := toFrom
	switch {
	case r.one() && !fromLeft: // one to one: from the second column's table to the first's
		fl = fromTo
	case r.one():
	case r.def.BothFilter:
		fl |= fromTo
	}
	return func(e *env, f *filterContext) *filterContext {
		if r.one() {
			return f.withMode(e.q, r, fl|f.state.flow(r), true) // a second one opens the other direction
		}
		return f.withMode(e.q, r, fl, true)
	}
}

func (c *compiler) crossFilter(s *scope, x *dax.Call) func(*env, *filterContext) *filterContext {
	c.arity(x, 3, 3)
	r, fromLeft := c.relationshipArg(s, x)
	c.unsecured(x, r)
	var fl flow
	word := c.word(x.Args[2])
	if n, ok := x.Args[2].(*dax.Number); ok {
		word = map[string]string{"0": "none", "1": "oneway", "2": "both", "3": "oneway_rightfiltersleft", "4": "oneway_leftfiltersright"}[n.Text]
	}
	switch word {
	case "none":
		fl = noFlow
	case "oneway":
		if r.one() {
			c.fail(x.Args[2], Invalid, "The direction OneWay of CROSSFILTER cannot be used with a one-to-one relationship.")
		}
		fl = toFrom
	case "both":
		fl = toFrom | fromTo
	case "oneway_leftfiltersright", "oneway_rightfiltersleft":
		if !r.many {
			c.fail(x.Args[2], Invalid, "The directions OneWay_LeftFiltersRight and OneWay_RightFiltersLeft of CROSSFILTER can be used only with a many-to-many relationship.")
		}
		fl = toFrom
		if fromLeft == (word == "oneway_leftfiltersright") {
			fl = fromTo
		}
	default:
		c.fail(x.Args[2], Invalid, "The direction of CROSSFILTER must be NONE, ONEWAY, BOTH, ONEWAY_LEFTFILTERSRIGHT or ONEWAY_RIGHTFILTERSLEFT.")
	}
	return func(e *env, f *filterContext) *filterContext { return f.withMode(e.q, r, fl, false) }
}

// word is an argument that is one of a few words, folded; empty for others.
func (c *compiler) word(x dax.Expr) string {
	switch x := x.(type) {
	case *dax.Name:
		return knowledge.Fold(x.Value)
	case *dax.Text:
		return knowledge.Fold(x.Value)
	case *dax.Bool:
		if x.Value {
			return "true"
		}
		return "false"
	case *dax.Call: // DAY and others are functions too
		if len(x.Args) == 0 {
			return knowledge.Fold(x.Func)
		}
	}
	return ""
}
