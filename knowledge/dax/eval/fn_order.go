package eval

import (
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// A sortKey is one ORDER BY argument pair of CONCATENATEX and TOPN.
type sortKey struct {
	of         scalar
	descending bool
}

// sortKeys reads expression and direction pairs.
func (c *compiler) sortKeys(s *scope, args []dax.Expr, descending bool) []sortKey {
	var keys []sortKey
	for i := 0; i < len(args); i++ {
		k := sortKey{of: c.scalarOf(s, args[i]), descending: descending}
		if i+1 < len(args) {
			if d, ok := direction(c.word(args[i+1]), args[i+1]); ok {
				k.descending = d
				i++
			} else if args[i+1] == nil {
				i++
			}
		}
		keys = append(keys, k)
	}
	return keys
}

// direction reads ASC, DESC, TRUE and FALSE, 1 and 0.
func direction(word string, x dax.Expr) (descending, ok bool) {
	switch word {
	case "asc", "true":
		return false, true
	case "desc", "false":
		return true, true
	}
	if n, isNumber := x.(*dax.Number); isNumber {
		return n.Text == "0", n.Text == "0" || n.Text == "1"
	}
	return false, false
}

// ordered gives the rows of rel in the order of the keys, and the keys' values by
// row.
func (e *env) ordered(rel *relation, keys []sortKey) (places []int, compare func(a, b int) int) {
	vals := make([][]value.Value, rel.n)
	e.q.spendTable(rel.n, len(keys))
	e.each(rel, func(i int) {
		row := make([]value.Value, len(keys))
		for k, key := range keys {
			row[k] = key.of(e)
		}
		vals[i] = row
	})
	compare = func(a, b int) int {
		for k, key := range keys {
			if o := value.Order(vals[a][k], vals[b][k]); o != 0 {
				if key.descending {
					return -o
				}
				return o
			}
		}
		return 0
	}
	places = make([]int, rel.n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, compare)
	return places, compare
}

// concatenateX is CONCATENATEX ( table, expression, delimiter, order… ).
func (c *compiler) concatenateX(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	inner := s.row(sc)
	of := c.scalarOf(inner, x.Args[1])
	delimiter := func(*env) value.Value { return value.OfText("") }
	var keys []sortKey
	if len(x.Args) > 2 {
		delimiter = c.scalarOf(s, x.Args[2])
		keys = c.sortKeys(inner, x.Args[3:], true)
	}
	return node{scalar: func(e *env) value.Value {
		rel := table(e)
		if len(keys) > 0 {
			places, _ := e.ordered(rel, keys)
			rel = rel.pick(places)
		}
		parts, size := make([]string, 0, rel.n), 0
		between := delimiter(e).String()
		e.each(rel, func(int) {
			part := of(e).String()
			if size += len(part) + len(between); size > maxText {
				fail(Evaluation, "The text of CONCATENATEX would be too long.")
			}
			parts = append(parts, part)
		})
		if len(parts) == 0 {
			return value.Value{}
		}
		return e.q.made(value.OfText(strings.Join(parts, between)))
	}}
}

// rankX is RANKX ( table, expression, value, order, ties ).
func (c *compiler) rankX(s *scope, x *dax.Call) node {
	table, sc := c.tableOf(s, x.Args[0])
	of := c.scalarOf(s.row(sc), x.Args[1])
	mine := x.Args[1]
	if len(x.Args) > 2 && x.Args[2] != nil {
		mine = x.Args[2]
	}
	own := c.scalarOf(s, mine)
	ascending, dense := false, false
	if len(x.Args) > 3 && x.Args[3] != nil {
		d, ok := direction(c.word(x.Args[3]), x.Args[3])
		if !ok {
			c.fail(x.Args[3], Invalid, "The order of RANKX must be ASC or DESC.")
		}
		ascending = !d
	}
	if len(x.Args) > 4 {
		dense = c.word(x.Args[4]) == "dense"
	}
	return node{scalar: func(e *env) value.Value {
		rel := table(e)
		vals := make([]value.Value, 0, rel.n)
		e.each(rel, func(int) { vals = append(vals, of(e)) })
		v := own(e)
		rank := int64(1)
		counted := map[value.Key]bool{}
		for _, w := range vals {
			o := must(value.Compare(w, v))
			if o > 0 && !ascending || o < 0 && ascending {
				if dense {
					if k := w.Key(); counted[k] {
						continue
					} else {
						counted[k] = true
					}
				}
				rank++
			}
		}
		return value.OfInt(rank)
	}}
}
