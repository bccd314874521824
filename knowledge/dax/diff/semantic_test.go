package diff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax"
	"github.com/pbmb/pbmb/knowledge/dax/diff"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// A sampler makes rows for a model that lead every comparison astray that can be:
// blanks, zeros, empty texts, keys without a partner, and the words that the
// model's own expressions compare with.
type sampler struct {
	model *knowledge.Model
	rand  *rand.Rand
	words []string
	keys  map[string]bool // columns at the one side of a relationship
}

func newEngine(t testing.TB, m *knowledge.Model, texts ...string) *eval.Engine {
	t.Helper()
	s := &sampler{model: m, rand: rand.New(rand.NewPCG(1, 2)), words: []string{"a", "B"}, keys: map[string]bool{}}
	for _, r := range m.Relationships {
		s.keys[r.ToTable+"\x00"+r.ToColumn] = true
	}
	for _, table := range m.Tables {
		for _, measure := range table.Measures {
			texts = append(texts, measure.Expression)
		}
	}
	for _, text := range texts {
		x, err := dax.ParseExpr(text)
		if err != nil {
			continue
		}
		dax.Walk(x, func(n dax.Node) bool {
			if text, ok := n.(*dax.Text); ok && !slices.Contains(s.words, text.Value) {
				s.words = append(s.words, text.Value)
			}
			return true
		})
	}
	var rows []*eval.Rows
	for _, table := range m.Tables {
		if table.Expression == "" && len(table.Items) == 0 {
			rows = append(rows, s.rows(table))
		}
	}
	engine, err := eval.New(m, rows, func() time.Time { return time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC) })
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// rows makes 60 rows of a table, and as many as there are keys of one with a key.
func (s *sampler) rows(table knowledge.Table) *eval.Rows {
	rows := eval.NewRows(table.Name)
	n := 60
	for _, c := range table.Columns {
		if s.keys[table.Name+"\x00"+c.Name] {
			n = 8
			if c.DataType == knowledge.DateTime {
				n = 500
			}
		}
	}
	first := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range table.Columns {
		if c.Expression != "" {
			continue
		}
		column := rows.Column(c.Name, c.DataType)
		key := s.keys[table.Name+"\x00"+c.Name]
		for i := range n {
			pick := s.rand.IntN(10)
			if !key && pick == 0 {
				column.AppendBlank()
				continue
			}
			switch c.DataType {
			case knowledge.Int64:
				if key {
					column.AppendInt(int64(i))
				} else {
					column.AppendInt(int64(s.rand.IntN(10)) - 1)
				}
			case knowledge.Double, knowledge.Decimal:
				column.AppendFloat(float64(s.rand.IntN(40)-8) / 4)
			case knowledge.Boolean:
				column.AppendBool(pick < 5)
			case knowledge.DateTime:
				if key {
					column.AppendTime(first.AddDate(0, 0, i))
				} else {
					column.AppendTime(first.AddDate(0, 0, s.rand.IntN(500)))
				}
			default:
				switch {
				case key:
					column.AppendText(fmt.Sprint("key ", i))
				case pick == 1:
					column.AppendText("")
				default:
					column.AppendText(s.words[s.rand.IntN(len(s.words))])
				}
			}
		}
	}
	return rows
}

// groups are columns to look at a measure by: up to three with few values.
func groups(m *knowledge.Model) []string {
	var list []string
	for _, table := range m.Tables {
		for _, c := range table.Columns {
			if table.Expression == "" && len(table.Items) == 0 && c.Expression == "" && (c.DataType == knowledge.String || c.DataType == knowledge.Int64) && len(list) < 3 {
				list = append(list, dax.QuoteColumn(table.Name, c.Name))
			}
		}
	}
	return list
}

// agree tells whether two expressions give the same in the total and by each
// group; known is false where the engine cannot say.
func agree(t testing.TB, e *eval.Engine, m *knowledge.Model, table, a, b string) (agreed, known bool, why string) {
	t.Helper()
	define := fmt.Sprintf("DEFINE MEASURE %s[__a] = %s\nMEASURE %s[__b] = %s\n", dax.QuoteTable(table), a, dax.QuoteTable(table), b)
	queries := []string{define + "EVALUATE ROW ( \"a\", [__a], \"b\", [__b] )"}
	for _, g := range groups(m) {
		queries = append(queries, define+"EVALUATE ADDCOLUMNS ( VALUES ( "+g+" ), \"a\", [__a], \"b\", [__b] )")
	}
	for _, q := range queries {
		result, err := e.Query(t.Context(), q, eval.Identity{Unrestricted: true})
		if err != nil {
			return false, false, err.Error()
		}
		for _, row := range result.Tables[0].Rows {
			x, y := row[len(row)-2], row[len(row)-1]
			if !equal(x, y) {
				return false, true, fmt.Sprintf("%v and %v in the row %v of\n%s", x, y, row, q)
			}
		}
	}
	return true, true, ""
}

// number is a value as a real number: where a whole and a real one are as large,
// MIN and MAX may give either.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// equal compares two values; sums of another order may differ in the last digits.
func equal(x, y any) bool {
	a, isA := number(x)
	b, isB := number(y)
	if isA && isB {
		return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
	}
	if t, ok := x.(time.Time); ok {
		u, ok := y.(time.Time)
		return ok && t.Equal(u)
	}
	return x == y
}

// BOOK-10: pairs of the golden file that are the same to Compare give the same.
func TestSamePairsGiveTheSame(t *testing.T) {
	b, err := os.ReadFile("testdata/pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := shop()
	e := newEngine(t, m, `{ "Online", "Phone", "Internal", "West", "Fax" }`)
	same, apart := 0, 0
	for block := range strings.SplitSeq(string(b), "\n== ") {
		title, rest, _ := strings.Cut(block, "\n")
		var first, second string
		for line := range strings.Lines(rest) {
			switch mark, text, _ := strings.Cut(strings.TrimSpace(line), " "); mark {
			case "A":
				first, _, _ = strings.Cut(text, " //")
			case "B":
				second, _, _ = strings.Cut(text, " --")
			}
		}
		if first == "" || second == "" {
			continue
		}
		agreed, known, why := agree(t, e, m, "Sales", first, second)
		if !known {
			t.Errorf("%s: %s", title, why)
		}
		if strings.Contains(rest, "\n> same") {
			same++
			if !agreed {
				t.Errorf("%s is the same to Compare, and gives %s", title, why)
			}
		} else if !agreed {
			apart++
		}
	}
	// The rows must be able to tell expressions apart, or all of this proves nothing.
	t.Logf("%d pairs are the same, %d others give something else", same, apart)
	if same < 20 || apart < 20 {
		t.Error("too few pairs")
	}
}

// A rewriter writes an expression in another way that means the same.
type rewriter struct {
	rand *rand.Rand
	of   map[string]string // the home table of each measure
}

func (r *rewriter) maybe() bool { return r.rand.IntN(3) == 0 }

func (r *rewriter) list(xs []dax.Expr) {
	for i := range xs {
		if xs[i] != nil {
			xs[i] = r.expr(xs[i])
		}
	}
}

func literal(x dax.Expr) bool {
	switch x := x.(type) {
	case *dax.Number:
		return strings.Trim(x.Text, "0.") != ""
	case *dax.Text:
		return x.Value != ""
	}
	return false
}

// expr rewrites the parts of x, and x itself by the rules that the package claims
// to know.
func (r *rewriter) expr(x dax.Expr) dax.Expr {
	switch n := x.(type) {
	case *dax.Paren:
		n.X = r.expr(n.X)
		if r.maybe() {
			x = n.X
		}
	case *dax.Unary:
		n.X = r.expr(n.X)
	case *dax.Tuple:
		r.list(n.Items)
	case *dax.TableConstructor:
		r.list(n.Rows)
	case *dax.Vars:
		for i := range n.Vars {
			n.Vars[i].Value = r.expr(n.Vars[i].Value)
		}
		n.Return = r.expr(n.Return)
	case *dax.Ref:
		if home := r.of[knowledge.Fold(n.Name)]; home != "" && !n.HasTable && r.maybe() {
			x = dax.Column(home, n.Name)
			if r.maybe() {
				x = dax.Fn("CALCULATE", x)
			}
		} else if n.HasTable {
			n.Table, n.Name = strings.ToUpper(n.Table), strings.ToLower(n.Name)
		}
	case *dax.Binary:
		n.X, n.Y = r.expr(n.X), r.expr(n.Y)
		x = r.binary(n)
	case *dax.Call:
		x = r.call(n)
	}
	if r.maybe() {
		switch x.(type) {
		case *dax.Name, *dax.Tuple:
		default:
			x = &dax.Paren{X: x}
		}
	}
	return x
}

func (r *rewriter) binary(n *dax.Binary) dax.Expr {
	mirror := map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "==": "==", "<>": "<>", "&&": "&&", "||": "||", "+": "+", "*": "*"}
	if op, ok := mirror[n.Op]; ok && r.maybe() {
		n = &dax.Binary{Op: op, X: n.Y, Y: n.X}
	}
	switch {
	case !r.maybe():
	case n.Op == "&&":
		return dax.Fn("and", n.X, n.Y)
	case n.Op == "||":
		return dax.Fn("Or", n.X, n.Y)
	case n.Op == "<>":
		return &dax.Unary{Op: "NOT", X: &dax.Binary{Op: "=", X: n.X, Y: n.Y}}
	case n.Op == "=" && literal(n.Y):
		if r.maybe() {
			return &dax.Binary{Op: "==", X: n.X, Y: n.Y}
		}
		return &dax.Binary{Op: "IN", X: n.X, Y: &dax.TableConstructor{Rows: []dax.Expr{n.Y}}}
	case n.Op == "IN":
		if list, ok := n.Y.(*dax.TableConstructor); ok {
			r.rand.Shuffle(len(list.Rows), func(i, j int) { list.Rows[i], list.Rows[j] = list.Rows[j], list.Rows[i] })
		}
	}
	return n
}

func (r *rewriter) call(n *dax.Call) dax.Expr {
	name := strings.ToUpper(n.Func)
	n.Func = strings.ToLower(n.Func)
	condition := func(x dax.Expr) (*dax.Binary, *dax.Ref) {
		if b, ok := x.(*dax.Binary); ok {
			if ref, ok := b.X.(*dax.Ref); ok && ref.HasTable && literal(b.Y) {
				return b, ref
			}
		}
		return nil, nil
	}
	if name == "CALCULATE" || name == "CALCULATETABLE" {
		for i, a := range n.Args {
			b, ref := condition(a)
			switch {
			case i > 0 && b != nil && r.maybe():
				n.Args[i] = dax.Fn("FILTER", dax.Fn("ALL", &dax.Ref{Table: ref.Table, HasTable: true, Quoted: true, Name: ref.Name}), b)
			case a != nil:
				n.Args[i] = r.expr(a)
			}
		}
		if len(n.Args) > 2 {
			filters := n.Args[1:]
			r.rand.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
		}
		return n
	}
	r.list(n.Args)
	if len(n.Args) == 0 || !r.maybe() {
		return n
	}
	ref, isRef := n.Args[0].(*dax.Ref)
	switch name {
	case "SUM", "MIN", "MAX", "AVERAGE":
		if len(n.Args) == 1 && isRef && ref.HasTable {
			return dax.Fn(name+"X", dax.TableName(ref.Table), ref)
		}
	case "TOTALYTD", "TOTALQTD", "TOTALMTD":
		if len(n.Args) == 2 {
			return dax.Fn("CALCULATE", n.Args[0], dax.Fn("DATES"+name[5:], n.Args[1]))
		}
	case "DIVIDE", "IF":
		if len(n.Args) == 2 {
			return dax.Fn(name, n.Args[0], n.Args[1], dax.Fn("BLANK"))
		}
	}
	return n
}

// root rewrites a whole expression, and puts it or an operand of it into a
// variable.
func (r *rewriter) root(x dax.Expr) dax.Expr {
	x = r.expr(x)
	inner := x
	if p, ok := inner.(*dax.Paren); ok {
		inner = p.X
	}
	name := &dax.Name{Value: "__value"}
	switch n := inner.(type) {
	case *dax.Binary:
		if n.Op != "IN" && r.maybe() {
			return &dax.Vars{Vars: []dax.VarDef{{Name: "__Value", Value: n.X}}, Return: &dax.Binary{Op: n.Op, X: name, Y: n.Y}}
		}
	case *dax.Call:
		if strings.EqualFold(n.Func, "DIVIDE") && r.maybe() {
			args := slices.Clone(n.Args)
			args[1] = name
			return &dax.Vars{Vars: []dax.VarDef{{Name: "__unused", Value: dax.Fn("BLANK")}, {Name: "__value", Value: n.Args[1]}}, Return: &dax.Call{Func: n.Func, Args: args}}
		}
	}
	return x
}

// BOOK-10: whatever is written in another way that means the same is the same to
// Compare, and the engine agrees.
func TestRewrittenMeasuresAreTheSame(t *testing.T) {
	engines := map[*dataset]*eval.Engine{}
	homes := map[*dataset]map[string]string{}
	rewritten, evaluated := 0, 0
	for i, m := range companyMeasures(t) {
		if engines[m.dataset] == nil {
			engines[m.dataset] = newEngine(t, m.dataset.model)
			homes[m.dataset] = map[string]string{}
			for _, table := range m.dataset.model.Tables {
				for _, measure := range table.Measures {
					if slices.ContainsFunc(table.Columns, func(c knowledge.Column) bool { return c.Name == measure.Name }) {
						continue // Table[Name] is the column
					}
					homes[m.dataset][knowledge.Fold(measure.Name)] = table.Name
				}
			}
		}
		for round := range 4 {
			r := &rewriter{rand: rand.New(rand.NewPCG(uint64(i), uint64(round))), of: homes[m.dataset]}
			x, err := dax.ParseExpr(m.def.Expression)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.dataset.index.ResolveExpr(x, m.table, false); err != nil {
				continue // names that the model has not mean nothing
			}
			text := dax.Format(r.root(x))
			form, err := diff.Read(diff.Side{Text: text, Index: m.dataset.index, Table: m.table})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			rewritten++
			if c := diff.Compare(m.form, form); c.Kind != diff.Same || form.Fingerprint() != m.form.Fingerprint() {
				t.Errorf("%s\nrewritten as\n%s\nis %s", m.def.Expression, text, render(c))
			}
			if round != 0 || i%3 != 0 {
				continue // evaluating takes long
			}
			agreed, known, why := agree(t, engines[m.dataset], m.dataset.model, m.table, m.def.Expression, text)
			if !known {
				t.Logf("%s: %s: %s", m.dataset.folder, m.def.Name, why)
				continue
			}
			evaluated++
			if !agreed {
				t.Errorf("%s\nrewritten as\n%s\ngives %s", m.def.Expression, text, why)
			}
		}
	}
	t.Logf("%d rewritten, %d evaluated", rewritten, evaluated)
	if evaluated < 60 {
		t.Error("too few could be evaluated")
	}
}
