package dax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// formatWidth is how long a line may get before its parts go on lines of their
// own.
const formatWidth = 100

// Format writes a query or expression in one way, whatever way it was written
// in: keywords in upper case, one blank around operators, long calls with an
// argument on each line. Comments are left out. What it gives parses to an equal
// tree, and formats to itself.
func Format(n Node) string {
	p := &printer{widths: map[Node]int{}}
	p.node(n)
	return p.b.String()
}

// A printer writes nodes. The width of a node on one line is measured once, so
// that the time stays linear.
type printer struct {
	b      strings.Builder
	indent int
	column int
	widths map[Node]int // on one line; over formatWidth means too long
}

func (p *printer) write(s string) {
	p.b.WriteString(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.column = utf8.RuneCountInString(s[i+1:])
	} else {
		p.column += utf8.RuneCountInString(s)
	}
}

// maxIndent is how deep lines are indented: what is nested deeper starts there
// too, so that no text grows with the square of its depth.
const maxIndent = 30

// margin is the column at which lines start.
func (p *printer) margin() int { return 4 * min(p.indent, maxIndent) }

func (p *printer) line() {
	p.write("\n" + strings.Repeat(" ", p.margin()))
}

// fits tells whether n stays on this line.
func (p *printer) fits(n Node) bool { return p.column+p.width(n) <= formatWidth }

func (p *printer) node(n Node) {
	switch n := n.(type) {
	case *Query:
		p.query(n)
	case *Evaluate:
		p.evaluate(n)
	case *Definition:
		p.definition(n)
	case *Param:
		p.param(n)
	case *VarDef:
		p.write("VAR " + n.Name + " = ")
		p.expr(n.Value, levelOr)
	case *VisualShape:
		p.shape(n)
	case Expr:
		p.expr(n, levelOr)
	}
}

func (p *printer) query(q *Query) {
	for i := range q.Definitions {
		if i == 0 {
			p.write("DEFINE")
		}
		p.indent++
		p.line()
		p.definition(&q.Definitions[i])
		p.indent--
	}
	if q.Definitions != nil {
		p.write("\n")
	}
	for i, e := range q.Evaluates {
		if i > 0 || q.Definitions != nil {
			p.write("\n")
		}
		p.evaluate(e)
		if i < len(q.Evaluates)-1 {
			p.write("\n")
		}
	}
}

func (p *printer) evaluate(e *Evaluate) {
	p.write("EVALUATE")
	p.line()
	p.expr(e.Table, levelOr)
	if e.OrderBy == nil {
		return
	}
	p.line()
	p.write("ORDER BY ")
	p.terms(e.OrderBy)
	for i, x := range e.StartAt {
		if i == 0 {
			p.line()
			p.write("START AT ")
		} else {
			p.write(", ")
		}
		p.expr(x, levelOr)
	}
}

func (p *printer) terms(terms []OrderTerm) {
	for i, t := range terms {
		if i > 0 {
			p.write(", ")
		}
		p.expr(t.Expr, levelOr)
		if t.Descending {
			p.write(" DESC")
		}
	}
}

func (p *printer) definition(d *Definition) {
	for line := range strings.Lines(d.Doc) {
		p.write("/// " + strings.TrimRight(line, "\n"))
		p.line()
	}
	p.write(string(d.Kind) + " ")
	switch d.Kind {
	case DefineMeasure, DefineColumn:
		p.write(QuoteTable(d.Table) + QuoteBracket(d.Name))
	case DefineTable, DefineMParameter:
		p.write(QuoteTable(d.Name))
	default:
		if d.Kind == DefineFunction && !dotted(d.Name) {
			p.write(quote(d.Name))
		} else {
			p.write(d.Name)
		}
	}
	p.write(" =")
	if d.Kind == DefineFunction {
		p.write(" (")
		for i := range d.Params {
			if i > 0 {
				p.write(",")
			}
			p.write(" ")
			p.param(&d.Params[i])
		}
		if d.Params != nil {
			p.write(" ")
		}
		p.write(") =>")
	}
	p.indent++
	if p.column+1+p.width(d.Value) <= formatWidth {
		p.write(" ")
	} else {
		p.line()
	}
	p.expr(d.Value, levelOr)
	if d.Shape != nil {
		p.line()
		p.shape(d.Shape)
	}
	p.indent--
}

// dotted tells whether the name of a function needs no quotes: words with single
// dots between them.
func dotted(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if r, _ := utf8.DecodeRuneInString(part); part == "" || wordLength(part) != len(part) || r != '_' && !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

func (p *printer) param(param *Param) {
	p.write(param.Name)
	if param.Type != "" || param.Subtype != "" || param.ByExpr {
		p.write(" :")
		if param.Type != "" {
			p.write(" " + param.Type)
		}
		if param.Subtype != "" {
			p.write(" " + param.Subtype)
		}
		if param.ByExpr {
			p.write(" EXPR")
		}
	}
	if param.Default != nil {
		p.write(" = ")
		p.expr(param.Default, levelOr)
	}
}

func (p *printer) shape(v *VisualShape) {
	p.write("WITH VISUAL SHAPE")
	p.indent++
	for _, a := range v.Axes {
		p.line()
		p.write("AXIS " + QuoteTable(a.Name))
		for _, g := range a.Groups {
			p.write(" GROUP ")
			p.list(g.Columns)
			if g.Total != nil {
				p.write(" TOTAL ")
				p.expr(g.Total, levelOr)
			}
		}
		if a.OrderBy != nil {
			p.write(" ORDER BY ")
			p.terms(a.OrderBy)
		}
	}
	if v.Densify != "" {
		p.line()
		p.write("DENSIFY " + QuoteText(v.Densify))
	}
	p.indent--
}

func (p *printer) list(xs []Expr) {
	for i, x := range xs {
		if i > 0 {
			p.write(", ")
		}
		p.expr(x, levelOr)
	}
}

// expr writes x where operators of at least the given level are wanted, in
// parentheses if it is weaker. A parsed tree never needs them; a built one may.
func (p *printer) expr(x Expr, weakest int) {
	switch x := x.(type) {
	case nil:
	case *Number:
		p.write(x.Text)
	case *Text:
		p.write(QuoteText(x.Value))
	case *Date:
		p.write(`dt"` + x.Value + `"`)
	case *Bool:
		if x.Value {
			p.write("TRUE")
		} else {
			p.write("FALSE")
		}
	case *Name:
		if x.Quoted {
			p.write(quote(x.Value))
		} else {
			p.write(x.Value)
		}
	case *Ref:
		p.ref(x)
	case *Parameter:
		p.write("@" + x.Name)
	case *Call:
		p.write(x.Func)
		p.group("(", ")", x.Args, p.fits(x))
	case *Tuple:
		p.group("(", ")", x.Items, p.fits(x))
	case *TableConstructor:
		p.group("{", "}", x.Rows, p.fits(x))
	case *Paren:
		p.group("(", ")", []Expr{x.X}, p.fits(x))
	case *Unary:
		p.unary(x, weakest)
	case *Binary:
		level := binaryLevel(x.Op)
		if level < weakest {
			p.write("( ")
			defer p.write(" )")
		}
		p.binary(x, level)
	case *Vars:
		if weakest > levelOr {
			p.write("( ")
			defer p.write(" )")
		}
		p.vars(x)
	}
}

func (p *printer) ref(r *Ref) {
	switch {
	case !r.HasTable:
	case r.Quoted:
		p.write(quote(r.Table))
	default:
		p.write(r.Table)
	}
	p.write(QuoteBracket(r.Name))
	if r.Variation != "" {
		p.write("." + QuoteBracket(r.Variation))
	}
}

func (p *printer) unary(u *Unary, weakest int) {
	if u.Op == "NOT" {
		p.write("NOT ")
		p.expr(u.X, levelCompare)
		return
	}
	p.write(u.Op)
	// Two signs in a row would be a comment, or read like one.
	if _, ok := u.X.(*Unary); ok {
		p.write(" ")
	}
	p.expr(u.X, min(max(weakest, levelPower), levelPrimary))
}

// binary writes a chain of operators of one level, without going deeper for each.
func (p *printer) binary(b *Binary, level int) {
	var chain []*Binary
	var first Expr = b
	for {
		next, ok := first.(*Binary)
		if !ok || binaryLevel(next.Op) != level {
			break
		}
		chain = append(chain, next)
		first = next.X
	}
	long := !p.fits(b)
	// NOT takes all comparisons after it, so at the left of an operator it needs
	// parentheses.
	if u, ok := first.(*Unary); ok && u.Op == "NOT" && level >= levelCompare {
		p.expr(&Paren{X: u}, level)
	} else {
		p.expr(first, level)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if long && level <= levelAnd {
			p.line()
		} else {
			p.write(" ")
		}
		p.write(chain[i].Op + " ")
		p.expr(chain[i].Y, level+1)
	}
}

func (p *printer) vars(v *Vars) {
	if p.column > p.margin() {
		p.indent++
		defer func() { p.indent-- }()
		p.line()
	}
	for i := range v.Vars {
		if i > 0 {
			p.line()
		}
		p.write("VAR " + v.Vars[i].Name + " =")
		p.indent++
		if _, block := v.Vars[i].Value.(*Vars); !block && p.column+1+p.width(v.Vars[i].Value) > formatWidth {
			p.line()
		} else {
			p.write(" ")
		}
		p.expr(v.Vars[i].Value, levelOr)
		p.indent--
	}
	p.line()
	p.write("RETURN")
	p.indent++
	p.line()
	p.expr(v.Return, levelOr)
	p.indent--
}

// group writes items between brackets, on one line or on a line each.
func (p *printer) group(open, closing string, items []Expr, flat bool) {
	if len(items) == 0 {
		p.write(open + closing)
		return
	}
	p.write(open)
	p.indent++
	for i, x := range items {
		if i > 0 {
			p.write(",")
		}
		switch {
		case !flat:
			p.line()
		case x != nil:
			p.write(" ")
		}
		p.expr(x, levelOr)
	}
	p.indent--
	if flat {
		p.write(" ")
	} else {
		p.line()
	}
	p.write(closing)
}

// width is the width of n on one line, or more than formatWidth.
func (p *printer) width(n Node) int {
	if w, ok := p.widths[n]; ok {
		return w
	}
	w := 0
	sum := func(xs []Expr) int {
		s := 2
		for _, x := range xs {
			if x != nil {
				s += p.width(x)
			}
			s += 2
		}
		return s
	}
	switch n := n.(type) {
	case *Number:
		w = len(n.Text)
	case *Text:
		w = utf8.RuneCountInString(n.Value) + 2
	case *Date:
		w = len(n.Value) + 4
	case *Bool:
		w = 5
	case *Name:
		w = utf8.RuneCountInString(n.Value) + 2
	case *Ref:
		w = utf8.RuneCountInString(n.Table+n.Name+n.Variation) + 7
	case *Parameter:
		w = len(n.Name) + 1
	case *Call:
		w = len(n.Func) + sum(n.Args)
	case *Tuple:
		w = sum(n.Items)
	case *TableConstructor:
		w = sum(n.Rows)
	case *Paren:
		w = 4 + p.width(n.X)
	case *Unary:
		w = 4 + p.width(n.X)
	case *Binary:
		var left Expr = n
		for w <= formatWidth {
			b, ok := left.(*Binary)
			if !ok {
				w += p.width(left)
				break
			}
			w += p.width(b.Y) + len(b.Op) + 2
			left = b.X
		}
	case *Vars:
		w = formatWidth + 1
	}
	w = min(w, formatWidth+1)
	p.widths[n] = w
	return w
}
