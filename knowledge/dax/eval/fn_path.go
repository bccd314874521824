package eval

import (
	"strings"

	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/eval/column"
	"github.com/pbmb/pbmb/knowledge/dax/eval/value"
)

// pathFunctions follow a parent column up to the top, and read the path that
// this gives: keys with bars between them, the top first.
func pathFunctions() map[string]function {
	return map[string]function{
		"path": scalarFunction(2, 2, (*compiler).path),
		"pathlength": plain(1, func(a []value.Value) value.Value {
			return value.OfInt(int64(len(pathItems(a[0]))))
		}),
		"pathcontains": plain(2, func(a []value.Value) value.Value {
			for _, item := range pathItems(a[0]) {
				if value.CompareText(item, a[1].String()) == 0 {
					return value.True
				}
			}
			return value.False
		}),
		"pathitem":        pathItem(func(n, length int) int { return n - 1 }),
		"pathitemreverse": pathItem(func(n, length int) int { return length - n }),
	}
}

func pathItems(v value.Value) []string {
	if v.String() == "" {
		return nil
	}
	return strings.Split(v.String(), "|")
}

// pathItem is PATHITEM ( path, position, type ), whose type is 1 or INTEGER for a
// number.
func pathItem(place func(n, length int) int) function {
	return scalarFunction(2, 3, func(c *compiler, s *scope, x *dax.Call) node {
		path, position := c.scalarOf(s, x.Args[0]), c.scalarOf(s, x.Args[1])
		number := false
		if len(x.Args) > 2 {
			n, isNumber := x.Args[2].(*dax.Number)
			word := c.word(x.Args[2])
			number = isNumber && n.Text == "1" || word == "integer"
			if !number && word != "text" && !(isNumber && n.Text == "0") {
				c.fail(x.Args[2], Invalid, "The type of %s must be TEXT or 0, INTEGER or 1.", x.Func)
			}
		}
		return node{scalar: func(e *env) value.Value {
			items := pathItems(path(e))
			i := place(small(position(e)), len(items))
			if i < 0 || i >= len(items) {
				return value.Value{}
			}
			v := value.OfText(items[i])
			if number {
				return must(value.Convert(v, value.Int))
			}
			return v
		}}
	})
}

// path is PATH ( key, parent ) for the current row.
func (c *compiler) path(s *scope, x *dax.Call) node {
	key, parent := c.columnOf(s, x.Args[0]), c.columnOf(s, x.Args[1])
	if key.table != parent.table {
		c.fail(x, Invalid, "PATH expects two columns of one table.")
	}
	current := c.scalarOf(s, x.Args[0])
	return node{scalar: func(e *env) value.Value {
		v := current(e)
		if v.IsBlank() {
			return value.Value{}
		}
		items := []string{v.String()}
		for seen := 0; ; seen++ {
			id, ok := key.data.Find(v)
			if !ok {
				fail(Evaluation, "The value '%s' of %s must also exist in %s.", v, parent, key)
			}
			rows := key.data.RowsOf(id)
			row := rows[0]
			for _, other := range rows[1:] {
				if int(other) < key.table.n && parent.data.IDs()[other] != parent.data.IDs()[row] {
					fail(Evaluation, "The value '%s' of %s has more than one parent in %s.", v, key, parent)
				}
			}
			if strings.Contains(v.String(), "|") {
				fail(Evaluation, "The value '%s' of %s has a bar, which PATH puts between values.", v, key)
			}
			if parent.data.IDs()[row] == column.BlankID {
				break
			}
			if seen > key.table.n {
				fail(Evaluation, "The function PATH does not allow rows that are their own ancestors.")
			}
			v = parent.data.At(row)
			items = append([]string{v.String()}, items...)
		}
		return value.OfText(strings.Join(items, "|"))
	}}
}
