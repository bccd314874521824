package dax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Problem is one thing that is wrong with a text.
type Problem struct {
	Pos     Pos
	End     int    // byte offset after the part that is wrong
	Message string // what is wrong, lower case, without a full stop
	Remedy  string // what to write instead; may be empty
}

func (p Problem) String() string {
	s := fmt.Sprintf("line %d, column %d: %s", p.Pos.Line, p.Pos.Column, p.Message)
	if p.Remedy != "" {
		s += "; " + p.Remedy
	}
	return s
}

// Errors are all the problems of one text, in the order of the text. The parsers
// and [Resolve] return it as *Errors.
type Errors struct {
	Text string
	List []Problem // never empty
	More int       // how many were found beyond those listed
}

func (e *Errors) Error() string {
	s := e.List[0].String()
	if rest := len(e.List) - 1 + e.More; rest > 0 {
		s += fmt.Sprintf(" (and %d more)", rest)
	}
	return s
}

// Render shows every problem under the line that it is in, with carets below the
// part that is wrong.
func (e *Errors) Render() string {
	var b strings.Builder
	for i, p := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
		b.WriteByte('\n')
		line, before := excerpt(e.Text, p.Pos.Offset)
		marked := 1
		if p.End > p.Pos.Offset {
			n := min(p.End, len(e.Text)) - p.Pos.Offset
			marked = max(1, min(len(line)-len(before), n))
			if rest := line[len(before):]; marked <= len(rest) {
				marked = max(1, utf8.RuneCountInString(rest[:marked]))
			}
		}
		b.WriteString("  " + visible(line) + "\n  ")
		for _, r := range before {
			if r == '\t' {
				b.WriteByte('\t')
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(strings.Repeat("^", marked) + "\n")
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", e.More)
	}
	return b.String()
}

// excerpt is the line around an offset, cut to a readable width, and the part of
// it before the offset.
func excerpt(text string, offset int) (line, before string) {
	const ahead, after = 44, 24 // so that 80 columns hold the line
	offset = min(offset, len(text))
	from := strings.LastIndexAny(text[:offset], "\r\n") + 1
	to := len(text)
	if i := strings.IndexAny(text[offset:], "\r\n"); i >= 0 {
		to = offset + i
	}
	if offset-from > ahead {
		from = offset - ahead
		for from < offset && !utf8.RuneStart(text[from]) {
			from++
		}
	}
	if to-offset > after {
		to = offset + after
		for to > offset && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	return text[from:to], text[from:offset]
}

// visible replaces the characters that would move or hide others on a screen.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r != '\t' && (r < ' ' || r == 0x7f || unseen(r) || foreignLineEnd(r)) {
			return '\uFFFD'
		}
		return r
	}, line)
}

// maxProblems is how many problems of one text are kept. A text with more is not
// DAX at all, and nobody reads on.
const maxProblems = 50

// maxCounted is how many more are counted before the rest of the text is left
// unread.
const maxCounted = 1000

// problems collects what is wrong with one text.
type problems struct {
	text string
	list []Problem
	more int
}

func (ps *problems) add(pos Pos, end int, message, remedy string) {
	if len(ps.list) >= maxProblems {
		ps.more++
		return
	}
	ps.list = append(ps.list, Problem{Pos: pos, End: end, Message: message, Remedy: remedy})
}

func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int { return a.Pos.Offset - b.Pos.Offset })
	return &Errors{Text: ps.text, List: ps.list, More: ps.more}
}
