package diff

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pbmb/pbmb/knowledge/dax"
)

const (
	maxText   = 200  // characters of a part that are shown
	maxSource = 4000 // bytes of a part that is written out at all
)

var lineBreak = regexp.MustCompile(`\s*\n\s*`)

// oneLine is a part of an expression on one line, cut where it is long.
func oneLine(n dax.Node) string {
	if n.End()-n.Pos().Offset > maxSource {
		if call, ok := n.(*dax.Call); ok {
			return call.Func + "( … )"
		}
		return "…"
	}
	text := lineBreak.ReplaceAllString(dax.Format(n), " ")
	if utf8.RuneCountInString(text) > maxText {
		text = string([]rune(text)[:maxText-1]) + "…"
	}
	return text
}

var plainTable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// tableText is the name of a table as people write it.
func tableText(name string) string {
	if plainTable.MatchString(name) {
		return name
	}
	return dax.QuoteTable(name)
}

// text is a node as people write it.
func (n *node) text() string {
	switch {
	case n.show != "":
		return n.show
	case n.op == opTable:
		return tableText(n.home)
	case n.src != nil:
		return oneLine(n.src)
	case n.op == opMissing:
		return "nothing"
	}
	var parts []string
	for _, k := range n.kids {
		parts = append(parts, k.text())
	}
	return strings.Join(parts, ", ")
}

// part is a node with its place.
func part(n *node) Part {
	if n == nil {
		return Part{}
	}
	p := Part{Text: n.text()}
	if n.src != nil {
		p.Pos, p.End = n.src.Pos(), n.src.End()
	}
	return p
}

// sideName is what sentences call a side.
func (f *Form) sideName(otherwise string) string {
	if f.side.Name != "" {
		return f.side.Name
	}
	return otherwise
}
