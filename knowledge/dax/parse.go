package dax

import "fmt"

// maxDepth is how deep expressions may be nested. Real ones stay below 50; the
// recursion of every consumer is safe at this depth.
const maxDepth = 1000

// ParseQuery reads a whole query: DEFINE … EVALUATE …. Its error is an *[Errors]
// with everything that is wrong.
func ParseQuery(text string) (*Query, error) {
	p := newParser(text)
	q := p.query()
	if err := p.probs.err(); err != nil {
		return nil, err
	}
	return q, nil
}

// ParseExpr reads one expression, as a measure, a calculated column or table or a
// row filter has it. Its error is an *[Errors] with everything that is wrong.
func ParseExpr(text string) (Expr, error) {
	p := newParser(text)
	x := p.expr()
	if x != nil {
		p.end()
	}
	if err := p.probs.err(); err != nil {
		return nil, err
	}
	return x, nil
}

// ParseFunction reads the expression of a user-defined function of a model, which
// starts with its parameter list: (a, b : scalar) => a + b.
func ParseFunction(name, text string) (*Definition, error) {
	p := newParser(text)
	d := &Definition{Kind: DefineFunction, Name: name, Doc: p.docs[0]}
	d.From = p.tok().from
	if p.function(d) {
		p.end()
	}
	d.To = p.lastEnd
	if err := p.probs.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// A parser goes once over the tokens. Its methods report what is wrong, and give
// nil for the part that could not be read; the caller goes on at the next place
// where that makes sense, so that one call finds all problems.
type parser struct {
	toks    []token
	docs    map[int]string
	i       int
	lastEnd int // offset after the last token taken
	depth   int
	gaveUp  bool
	probs   *problems
}

func newParser(text string) *parser {
	p := &parser{probs: &problems{text: text}}
	p.toks, p.docs = scan(text, p.probs)
	return p
}

// tok is the token to be read next.
func (p *parser) tok() *token { return &p.toks[p.i] }

// ahead is the token n places further.
func (p *parser) ahead(n int) *token {
	return &p.toks[min(p.i+n, len(p.toks)-1)]
}

// take moves over the next token and gives it.
func (p *parser) take() *token {
	t := &p.toks[p.i]
	if t.kind != tokEnd {
		p.i++
		p.lastEnd = t.to
	}
	return t
}

func (p *parser) takeOp(op string) bool {
	if p.tok().is(op) {
		p.take()
		return true
	}
	return false
}

func (p *parser) takeWord(keyword string) bool {
	if p.tok().word(keyword) {
		p.take()
		return true
	}
	return false
}

// wantOp takes the operator or reports that it is missing.
func (p *parser) wantOp(op, where string) bool {
	if p.takeOp(op) {
		return true
	}
	p.unexpected(op + " " + where)
	return false
}

// unexpected reports the next token where something else was wanted.
func (p *parser) unexpected(wanted string) {
	t := p.tok()
	p.report(t, "unexpected "+t.describe(), "expected "+wanted)
}

func (p *parser) report(t *token, message, remedy string) {
	if p.gaveUp {
		return
	}
	// A problem of the scanner at this place has said it better: the token that
	// would have stood here is missing.
	for _, known := range p.probs.list {
		if known.Pos.Offset >= p.lastEnd && known.Pos.Offset <= p.tok().from.Offset {
			return
		}
	}
	p.probs.add(t.from, t.to, message, remedy)
}

// giveUp reports nesting beyond what is read and moves to the end of the text.
func (p *parser) giveUp() {
	t := p.tok()
	p.report(t, fmt.Sprintf("nested deeper than %d levels", maxDepth), "use variables")
	p.gaveUp = true
	p.i = len(p.toks) - 1
}

func (p *parser) span(from Pos) Span { return Span{From: from, To: p.lastEnd} }

// end wants the end of the text.
func (p *parser) end() {
	t := p.tok()
	switch {
	case t.kind == tokEnd:
	case t.is(")") || t.is("}"):
		p.report(t, "unexpected "+t.text, "it closes nothing: remove it")
	case t.is("=>"):
		p.report(t, "unexpected =>", "a function is defined with DEFINE FUNCTION name = ( parameters ) => expression")
	default:
		p.report(t, "unexpected "+t.describe(), "expected an operator, or the end of the text")
	}
}

// query := [ DEFINE definition+ ] evaluate+
func (p *parser) query() *Query {
	q := &Query{}
	q.From = p.tok().from
	for p.takeWord("DEFINE") {
		if q.Definitions != nil {
			p.report(&p.toks[p.i-1], "a second DEFINE", "put all definitions under one DEFINE")
		}
		before := p.i
		for p.definitionAhead() {
			at := p.tok().from
			d := Definition{}
			ok := p.definition(&d)
			d.Span = p.span(at)
			if !ok {
				p.recover()
			}
			q.Definitions = append(q.Definitions, d)
		}
		if p.i == before {
			p.unexpected("MEASURE, COLUMN, TABLE, VAR, FUNCTION or MPARAMETER after DEFINE")
			p.recover()
		} else if t := p.tok(); t.kind != tokEnd && !t.word("EVALUATE") && !t.word("DEFINE") {
			p.unexpected("another definition or EVALUATE")
			p.recover()
		}
	}
	if !p.tok().word("EVALUATE") {
		t := p.tok()
		switch {
		case t.word("SELECT") || t.word("WITH"):
			p.report(t, "this is not DAX", "write a DAX query, which starts with DEFINE or EVALUATE")
		case t.kind == tokEnd && q.Definitions != nil:
			p.report(t, "the query has no EVALUATE", "add EVALUATE with the table to return")
		default:
			p.unexpected("DEFINE or EVALUATE")
		}
		p.recover()
	}
	for p.tok().kind != tokEnd {
		if p.tok().word("EVALUATE") {
			q.Evaluates = append(q.Evaluates, p.evaluate())
			continue
		}
		if p.tok().word("DEFINE") {
			p.report(p.tok(), "DEFINE after EVALUATE", "put the definitions before the first EVALUATE")
		} else {
			p.end()
		}
		p.take()
		p.recover()
	}
	q.Span = p.span(q.From)
	return q
}

// recover moves to the next EVALUATE, or to the next definition that cannot be
// anything else.
func (p *parser) recover() {
	for p.tok().kind != tokEnd && !p.tok().word("EVALUATE") {
		next := p.ahead(1)
		named := next.kind == tokName || next.kind == tokQuoted
		switch {
		case p.tok().word("MEASURE"), p.tok().word("COLUMN"):
			if named && p.ahead(2).kind == tokBracket {
				return
			}
		case p.tok().word("FUNCTION"), p.tok().word("TABLE"), p.tok().word("MPARAMETER"):
			if named && p.ahead(2).is("=") {
				return
			}
		}
		p.take()
	}
}

// evaluate := EVALUATE expr [ ORDER BY … [ START AT … ] ]
func (p *parser) evaluate() *Evaluate {
	e := &Evaluate{}
	e.From = p.take().from
	if e.Table = p.expr(); e.Table == nil {
		p.recover()
		return e
	}
	if p.tok().word("ORDER") && p.ahead(1).word("BY") {
		p.take()
		p.take()
		var ok bool
		if e.OrderBy, ok = p.orderTerms(); !ok {
			p.recover()
			return e
		}
		if p.tok().word("START") && p.ahead(1).word("AT") {
			p.take()
			p.take()
			for {
				x := p.expr()
				if x == nil {
					p.recover()
					return e
				}
				e.StartAt = append(e.StartAt, x)
				if !p.takeOp(",") {
					break
				}
			}
		}
	} else if p.tok().word("START") && p.ahead(1).word("AT") {
		p.report(p.tok(), "START AT without ORDER BY", "add ORDER BY before it")
		p.recover()
	}
	e.Span = p.span(e.From)
	return e
}

// orderTerms := expr [ ASC | DESC ] { , … }
func (p *parser) orderTerms() ([]OrderTerm, bool) {
	var terms []OrderTerm
	for {
		from := p.tok().from
		x := p.expr()
		if x == nil {
			return terms, false
		}
		term := OrderTerm{Expr: x}
		if p.takeWord("DESC") {
			term.Descending = true
		} else {
			p.takeWord("ASC")
		}
		term.Span = p.span(from)
		terms = append(terms, term)
		if !p.takeOp(",") {
			return terms, true
		}
	}
}
