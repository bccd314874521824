package tmdl

import (
	"fmt"
	"strings"
)

// A node is one object or property of a TMDL file with what is indented below it.
//
//	keyword name = value     an object with its default property
//	keyword name             an object, or a flag where there is no name
//	keyword: value           a property
type node struct {
	keyword  string
	name     string
	value    string
	doc      string // its /// lines
	line     int
	children []*node
}

// child returns the first child with a keyword, or nil.
func (n *node) child(keyword string) *node {
	for _, c := range n.children {
		if c.keyword == keyword {
			return c
		}
	}
	return nil
}

// text returns the value of a child, or the empty text.
func (n *node) text(keyword string) string {
	if c := n.child(keyword); c != nil {
		return c.value
	}
	return ""
}

// flag reports whether a child says yes: alone, or with the value true.
func (n *node) flag(keyword string) bool {
	c := n.child(keyword)
	return c != nil && (c.value == "" || strings.EqualFold(c.value, "true"))
}

// parse reads the objects of one TMDL file.
func parse(text string) ([]*node, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	p := &parser{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	p.unit = indentUnit(p.lines)
	nodes, err := p.block(0)
	if err == nil && p.at < len(p.lines) {
		err = p.errorf("indented deeper than anything above it")
	}
	return nodes, err
}

type parser struct {
	lines []string
	at    int
	unit  int // blanks that make one level where the file is indented by blanks
}

// indentUnit returns the number of blanks that one level is, taken from the
// first line that is indented by blanks.
func indentUnit(lines []string) int {
	for _, l := range lines {
		if rest := strings.TrimLeft(l, " "); rest != "" && rest != l {
			return len(l) - len(rest)
		}
	}
	return 4
}

// level returns how deep a line is indented, and what stands behind that.
func (p *parser) level(line string) (int, string) {
	rest := strings.TrimLeft(line, "\t")
	tabs := len(line) - len(rest)
	if tabs > 0 {
		return tabs, rest
	}
	rest = strings.TrimLeft(line, " ")
	return (len(line) - len(rest)) / p.unit, rest
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// block reads the nodes at one level up to the first line above it.
func (p *parser) block(level int) ([]*node, error) {
	var nodes []*node
	var doc []string
	for p.at < len(p.lines) {
		l, text := p.level(p.lines[p.at])
		if strings.TrimSpace(text) == "" {
			p.at++
			continue
		}
		if l < level {
			break
		}
		if l > level {
			return nil, p.errorf("indented by %d where %d was expected", l, level)
		}
		if d, ok := strings.CutPrefix(text, "///"); ok {
			doc = append(doc, strings.TrimSpace(d))
			p.at++
			continue
		}
		n, err := p.node(level, text)
		if err != nil {
			return nil, err
		}
		n.doc = strings.TrimSpace(strings.Join(doc, "\n"))
		doc = nil
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// node reads the node that starts on the current line, with everything below it.
func (p *parser) node(level int, text string) (*node, error) {
	n := &node{line: p.at + 1}
	end := strings.IndexFunc(text, func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') })
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return nil, p.errorf("expected a keyword, found %q", cut(text))
	}
	n.keyword, text = text[:end], text[end:]
	value, isExpression := "", false
	if v, ok := strings.CutPrefix(text, ":"); ok {
		value = v
	} else {
		name, rest, err := objectName(strings.TrimLeft(text, " \t"), n.keyword == "ref")
		if err != nil {
			return nil, p.errorf("%v", err)
		}
		n.name = name
		value, isExpression = strings.CutPrefix(rest, "=")
	}
	p.at++
	n.value = strings.TrimSpace(value)
	if isExpression {
		if err := p.expression(n, level); err != nil {
			return nil, err
		}
	}
	var err error
	if next, ok := p.next(); ok && next > level {
		n.children, err = p.block(level + 1)
	}
	return n, err
}

// next returns the level of the next line that is not blank.
func (p *parser) next() (int, bool) {
	for i := p.at; i < len(p.lines); i++ {
		if l, text := p.level(p.lines[i]); strings.TrimSpace(text) != "" {
			return l, true
		}
	}
	return 0, false
}

// objectName reads the name of an object: quoted, or up to a blank or "=".
func objectName(text string, ref bool) (name, rest string, err error) {
	if ref {
		return text, "", nil
	}
	if strings.HasPrefix(text, "'") {
		name, rest, ok := quoted(text)
		if !ok {
			return "", "", fmt.Errorf("the name %s has no closing quote", cut(text))
		}
		return name, strings.TrimLeft(rest, " \t"), nil
	}
	end := strings.IndexAny(text, " \t=")
	if end < 0 {
		return text, "", nil
	}
	return text[:end], strings.TrimLeft(text[end:], " \t"), nil
}

// quoted reads 'a name', in which two quotes stand for one.
func quoted(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			return b.String(), text[i+1:], true
		}
	}
	return "", "", false
}

// expression reads the lines of an expression that go on below its first one:
// those between fences, or those indented at least two deeper than an object,
// since its properties are one deeper. A property has none: one deeper is enough.
func (p *parser) expression(n *node, level int) error {
	if n.value == "```" {
		var lines []string
		for ; ; p.at++ {
			if p.at == len(p.lines) {
				p.at = n.line - 1
				return p.errorf("the text between ``` is not closed")
			}
			if strings.TrimSpace(p.lines[p.at]) == "```" {
				p.at++
				break
			}
			lines = append(lines, p.lines[p.at])
		}
		n.value = dedent(lines)
		return nil
	}
	deep := level + 1
	if n.name != "" {
		deep = level + 2
	}
	var lines []string
	for i := p.at; i < len(p.lines); i++ {
		l, text := p.level(p.lines[i])
		if strings.TrimSpace(text) == "" {
			lines = append(lines, "")
			continue
		}
		if l < deep {
			break
		}
		lines = append(lines, p.lines[i])
		p.at = i + 1
	}
	if block := dedent(lines); block != "" {
		n.value = strings.TrimLeft(n.value+"\n"+block, "\n")
	}
	return nil
}

// dedent takes away the indentation that all lines share, and blank lines and
// blanks at both ends.
func dedent(lines []string) string {
	common, first := "", true
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = indent, false
		}
		for !strings.HasPrefix(indent, common) {
			common = common[:len(common)-1]
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimRight(strings.TrimPrefix(l, common), " \t")
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// cut shortens a text for a message.
func cut(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}
