package dax

import "strings"

// The levels of the operators, the weakest first. Operators of one level go from
// left to right.
const (
	levelOr = iota + 1
	levelAnd
	levelNot
	levelCompare
	levelConcat
	levelAdd
	levelMultiply
	levelSign
	levelPower
	levelPrimary
)

// levelOf is the level of a binary operator as its token is written, and its form
// in the tree; 0 for what is no binary operator.
func (t *token) levelOf() (level int, op string) {
	if t.kind == tokOp {
		return binaryLevel(t.text), t.text
	}
	if t.word("IN") {
		return levelCompare, "IN"
	}
	return 0, ""
}

func binaryLevel(op string) int {
	switch op {
	case "||":
		return levelOr
	case "&&":
		return levelAnd
	case "=", "==", "<", ">", "<=", ">=", "<>", "IN":
		return levelCompare
	case "&":
		return levelConcat
	case "+", "-":
		return levelAdd
	case "*", "/":
		return levelMultiply
	case "^":
		return levelPower
	}
	return 0
}

// expr reads an expression; nil after a problem.
func (p *parser) expr() Expr { return p.binary(levelOr) }

// binary reads operators of the given level and stronger ones, by precedence
// climbing.
func (p *parser) binary(weakest int) Expr {
	if p.depth++; p.depth > maxDepth {
		p.giveUp()
		return nil
	}
	from := p.tok().from
	x := p.chain(from, p.prefix(weakest), weakest)
	p.depth--
	return x
}

// chain reads the operators after x, which starts at from.
func (p *parser) chain(from Pos, x Expr, weakest int) Expr {
	for x != nil {
		level, op := p.tok().levelOf()
		if level == 0 || level < weakest {
			if p.tok().word("NOT") && p.ahead(1).word("IN") {
				p.report(p.tok(), "NOT IN is not an operator", "write NOT x IN { … }")
				return nil
			}
			return x
		}
		if t, ok := x.(*Tuple); ok && op != "IN" {
			p.report(&token{from: t.From, to: t.To}, "a row of several values before "+op, "only IN takes ( a, b ) at its left")
			return nil
		}
		p.take()
		y := p.binary(level + 1)
		if y == nil {
			return nil
		}
		x = &Binary{Span: p.span(from), Op: op, X: x, Y: y}
	}
	return nil
}

// prefix reads NOT, signs and what follows them.
func (p *parser) prefix(weakest int) Expr {
	t := p.tok()
	operand := 0
	switch {
	case t.word("NOT"):
		// NOT binds weaker than comparisons, whatever stands before it.
		operand = levelCompare
	case t.is("-") || t.is("+"):
		// -2^2 is -(2^2), but the sign of an exponent belongs to its number.
		operand = min(max(weakest, levelPower), levelPrimary)
	default:
		return p.primary()
	}
	p.take()
	x := p.binary(operand)
	if x == nil {
		return nil
	}
	return &Unary{Span: p.span(t.from), Op: upper(t.text), X: x}
}

func (p *parser) primary() Expr {
	t := p.tok()
	switch t.kind {
	case tokNumber:
		p.take()
		return &Number{Span: p.span(t.from), Text: t.text}
	case tokText:
		p.take()
		return &Text{Span: p.span(t.from), Value: t.text}
	case tokDate:
		p.take()
		return &Date{Span: p.span(t.from), Value: t.text}
	case tokParam:
		p.take()
		return &Parameter{Span: p.span(t.from), Name: t.text}
	case tokBracket:
		return p.ref(t.from, "", false, false)
	case tokQuoted:
		p.take()
		switch {
		case p.tok().kind == tokBracket:
			return p.ref(t.from, t.text, true, true)
		case p.tok().is("("):
			p.report(t, "a table name in quotes before (", "write the name of a function without quotes")
			return nil
		}
		return &Name{Span: p.span(t.from), Value: t.text, Quoted: true}
	case tokName:
		return p.word(t)
	case tokOp:
		switch t.text {
		case "(":
			return p.paren()
		case "{":
			return p.constructor()
		}
	}
	p.unexpected("an expression")
	return nil
}

// ref reads [Name] and the [Variation] after it.
func (p *parser) ref(from Pos, table string, hasTable, quoted bool) Expr {
	r := &Ref{Table: table, HasTable: hasTable, Quoted: quoted, Name: p.take().text}
	if p.tok().is(".") && p.ahead(1).kind == tokBracket {
		p.take()
		r.Variation = p.take().text
	}
	r.Span = p.span(from)
	return r
}

// word reads what starts with a bare word.
func (p *parser) word(t *token) Expr {
	next := p.ahead(1)
	switch {
	case next.is(".") && p.ahead(2).kind == tokName:
		return p.dottedCall(t)
	case next.kind == tokBracket:
		p.take()
		return p.ref(t.from, t.text, true, false)
	case t.word("VAR"):
		return p.vars()
	case t.word("DEFINE"), t.word("EVALUATE"), t.word("RETURN"), t.word("IN"), t.word("ORDER") && next.word("BY"), t.word("START") && next.word("AT"):
		p.unexpected("an expression")
		return nil
	case next.is("("):
		p.take()
		return p.call(t.from, t.text)
	}
	p.take()
	if t.word("TRUE") || t.word("FALSE") {
		return &Bool{Span: p.span(t.from), Value: t.word("TRUE")}
	}
	value := t.text
	if (t.word("ASC") || t.word("DESC")) && p.tok().word("BLANKS") {
		value += " " + p.take().text
	}
	if strings.HasSuffix(upper(value), "BLANKS") {
		// The order of a window: DESC BLANKS LAST.
		if n := p.tok(); n.word("FIRST") || n.word("LAST") || n.word("DEFAULT") {
			value += " " + p.take().text
		}
	}
	return &Name{Span: p.span(t.from), Value: value}
}

// dottedCall reads a call of a function with dots in its name.
func (p *parser) dottedCall(t *token) Expr {
	name := strings.Builder{}
	name.WriteString(p.take().text)
	for p.tok().is(".") && p.ahead(1).kind == tokName {
		p.take()
		name.WriteString("." + p.take().text)
	}
	if !p.tok().is("(") {
		p.report(&token{from: t.from, to: p.lastEnd}, shorten(name.String())+" is not a name", "put a table name with dots in '…', or call a function with (…)")
		return nil
	}
	return p.call(t.from, name.String())
}

// call reads ( arguments ).
func (p *parser) call(from Pos, name string) Expr {
	open := p.take()
	c := &Call{Func: name}
	ok := true
	if !p.tok().is(")") {
		for {
			if p.tok().is(",") || p.tok().is(")") {
				c.Args = append(c.Args, nil)
			} else {
				x := p.item(open, ")")
				ok = ok && x != nil
				c.Args = append(c.Args, x)
			}
			if !p.takeOp(",") {
				break
			}
		}
	}
	if !p.close(open, ")", name) || !ok {
		return nil
	}
	c.Span = p.span(from)
	return c
}

// item reads one of several expressions; after a problem it moves to the comma or
// closing bracket after the item, so that the next items are read too.
func (p *parser) item(open *token, closing string) Expr {
	x := p.expr()
	if x != nil {
		if t := p.tok(); !t.is(",") && !t.is(closing) && t.kind != tokEnd {
			p.report(t, "unexpected "+t.describe(), "expected an operator, a comma or "+closing)
			x = nil
		}
	}
	if x != nil {
		if t, ok := x.(*Tuple); ok && open.text == "(" {
			p.report(&token{from: t.From, to: t.To}, "a row of several values as an argument", "write { ( a, b ) } for a table")
			return nil
		}
		return x
	}
	depth := 0
	for p.tok().kind != tokEnd {
		t := p.tok()
		switch {
		case t.is("(") || t.is("{"):
			depth++
		case t.is(")") || t.is("}"):
			if depth == 0 {
				return nil
			}
			depth--
		case t.is(",") && depth == 0:
			return nil
		case t.word("EVALUATE"):
			return nil
		}
		p.take()
	}
	return nil
}

// close takes the closing bracket or reports the one that is open: that of a
// function, where one is given.
func (p *parser) close(open *token, closing, function string) bool {
	if p.takeOp(closing) {
		return true
	}
	what := "here"
	if function != "" {
		what = "of " + shorten(function)
	}
	if p.tok().kind == tokEnd || p.tok().word("EVALUATE") {
		p.report(open, "the "+open.text+" "+what+" is not closed", "add "+closing)
	} else {
		p.unexpected("a comma or " + closing)
	}
	return false
}

// paren reads ( x ) or ( a, b, … ).
func (p *parser) paren() Expr {
	open := p.take()
	if p.tok().is(")") {
		p.unexpected("an expression between the parentheses")
		return nil
	}
	var items []Expr
	ok := true
	for {
		x := p.item(open, ")")
		ok = ok && x != nil
		items = append(items, x)
		if !p.takeOp(",") {
			break
		}
	}
	if !p.close(open, ")", "") || !ok {
		return nil
	}
	if len(items) == 1 {
		return &Paren{Span: p.span(open.from), X: items[0]}
	}
	t := &Tuple{Span: p.span(open.from), Items: items}
	if next := p.tok(); !next.word("IN") && !next.is(",") && !next.is("}") {
		// Between braces the caller keeps it; elsewhere only IN does.
		p.report(open, "a row of several values where one is wanted", "only IN and { … } take ( a, b )")
		return nil
	}
	return t
}

// constructor reads { row, … }.
func (p *parser) constructor() Expr {
	open := p.take()
	c := &TableConstructor{}
	if p.tok().is("}") {
		p.unexpected("at least one row between the braces")
		return nil
	}
	ok := true
	for {
		x := p.item(open, "}")
		ok = ok && x != nil
		c.Rows = append(c.Rows, x)
		if !p.takeOp(",") {
			break
		}
	}
	if !p.close(open, "}", "") || !ok {
		return nil
	}
	c.Span = p.span(open.from)
	return c
}

// vars reads VAR … RETURN ….
func (p *parser) vars() Expr {
	v := &Vars{}
	v.From = p.tok().from
	for p.tok().word("VAR") {
		def := VarDef{}
		def.From = p.take().from
		if p.tok().kind != tokName {
			p.unexpected("the name of a variable: letters, digits and _")
			return nil
		}
		def.Name = p.take().text
		if !p.wantOp("=", "after the name of a variable") {
			return nil
		}
		if def.Value = p.expr(); def.Value == nil {
			return nil
		}
		def.Span = p.span(def.From)
		v.Vars = append(v.Vars, def)
	}
	if !p.takeWord("RETURN") {
		p.unexpected("VAR or RETURN after a variable")
		return nil
	}
	if v.Return = p.expr(); v.Return == nil {
		return nil
	}
	v.Span = p.span(v.From)
	return v
}
