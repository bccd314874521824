package dax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on a text. The longest expressions of real models hold pictures in
// string literals, so it is the number of tokens that is kept small, and with it
// the depth of the tree.
const (
	maxText   = 4 << 20
	maxTokens = 200_000
)

type tokenKind uint8

const (
	tokEnd     tokenKind = iota
	tokName              // a bare word
	tokQuoted            // 'name'
	tokBracket           // [name]
	tokText              // "text"
	tokNumber            // 12, 1.5e-3
	tokDate              // dt"…"
	tokParam             // @name
	tokOp                // an operator or a bracket of any kind
)

// A token is one piece of a text. Its text is as written, except for names in
// quotes or brackets, strings, dates and parameters: there it is the value.
type token struct {
	kind tokenKind
	from Pos
	to   int
	text string
}

// is tells whether the token is this operator.
func (t *token) is(op string) bool { return t.kind == tokOp && t.text == op }

// word tells whether the token is this keyword, given in upper case. Only ASCII
// letters have cases here: keywords are never compared by a culture.
func (t *token) word(keyword string) bool {
	if t.kind != tokName || len(t.text) != len(keyword) {
		return false
	}
	for i := 0; i < len(keyword); i++ {
		if c := t.text[i]; c != keyword[i] && (c < 'a' || c > 'z' || c-('a'-'A') != keyword[i]) {
			return false
		}
	}
	return true
}

// upper gives the ASCII letters of s in upper case.
func upper(s string) string {
	for i := 0; i < len(s); i++ {
		if 'a' <= s[i] && s[i] <= 'z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'a' <= b[i] && b[i] <= 'z' {
					b[i] -= 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// describe names the token in a message.
func (t *token) describe() string {
	switch t.kind {
	case tokEnd:
		return "end of the text"
	case tokQuoted:
		return "'" + shorten(t.text) + "'"
	case tokBracket:
		return "[" + shorten(t.text) + "]"
	case tokText:
		return "the text \"" + shorten(t.text) + "\""
	case tokDate:
		return "a date"
	case tokParam:
		return "@" + shorten(t.text)
	default:
		return shorten(t.text)
	}
}

func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return visible(s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return visible(s[:cut]) + "…"
}

// A scanner cuts a text into tokens in one pass.
//
// Where the public lexers of DAX disagree, the scanner reports a problem instead
// of choosing: what one reader takes for a comment, another may take for code.
type scanner struct {
	text   string
	pos    Pos
	tokens []token
	docs   map[int]string // by the index of the token that follows
	probs  *problems

	doc     []string // the /// lines since the last token
	unknown int      // offset after a run of unusable characters, to report it once
}

// scan cuts the text into tokens. The last one is always tokEnd.
func scan(text string, probs *problems) (tokens []token, docs map[int]string) {
	s := &scanner{text: text, pos: Pos{Line: 1, Column: 1}, probs: probs, unknown: -1}
	if len(text) > maxText {
		probs.add(s.pos, 0, fmt.Sprintf("the text is longer than %d bytes", maxText), "shorten it")
		return []token{{kind: tokEnd, from: s.pos}}, nil
	}
	s.tokens = make([]token, 0, min(len(text)/5+8, maxTokens+1))
	if strings.HasPrefix(text, "\uFEFF") {
		s.pos.Offset = len("\uFEFF")
	}
	for s.pos.Offset < len(text) {
		if len(s.tokens) >= maxTokens {
			probs.add(s.pos, s.pos.Offset, fmt.Sprintf("the text has more than %d words and signs", maxTokens), "shorten it")
			break
		}
		if probs.more >= maxCounted {
			break // the rest is no better
		}
		s.next()
	}
	s.tokens = append(s.tokens, token{kind: tokEnd, from: s.pos, to: s.pos.Offset})
	return s.tokens, s.docs
}

// next reads one token or one piece of what stands between tokens.
func (s *scanner) next() {
	rest := s.text[s.pos.Offset:]
	r, size := rune(rest[0]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRuneInString(rest)
	}
	var second byte
	if len(rest) > 1 {
		second = rest[1]
	}
	switch {
	case r == ' ' || r == '\t' || r == '\v' || r == '\f':
		s.pos.Offset++
		s.pos.Column++
	case r == '\n' || r == '\r':
		s.advance(1)
	case 'a' <= r && r <= 'z' && r != 'd' || 'A' <= r && r <= 'Z' && r != 'D' || r == '_':
		s.emit(tokName, wordLength(rest))
	case r == utf8.RuneError && size == 1:
		s.bad(size, "the text is not valid UTF-8", "send the query as UTF-8")
	case foreignBlank(r):
		s.advance(size)
	case r == '/' && second == '/' || r == '-' && second == '-':
		s.lineComment(rest)
	case r == '/' && second == '*':
		s.blockComment(rest)
	case r == '"':
		s.delimited(tokText, 0, '"')
	case r == '\'':
		s.delimited(tokQuoted, 0, '\'')
	case r == '[':
		s.delimited(tokBracket, 0, ']')
	case (r == 'd' || r == 'D') && (second == 't' || second == 'T') && len(rest) > 2 && rest[2] == '"':
		s.delimited(tokDate, 2, '"')
	case '0' <= r && r <= '9' && s.afterDot():
		// The last part of T.INV.2T starts with a digit.
		s.emit(tokName, wordLength(rest))
	case '0' <= r && r <= '9' || r == '.' && '0' <= second && second <= '9' && !s.afterWord():
		s.number(rest)
	case unicode.IsLetter(r) && !unseen(r):
		s.emit(tokName, wordLength(rest))
	case r == '@':
		n := wordLength(rest[1:])
		if n == 0 {
			s.bad(1, "@ has no name after it", "write a parameter as @name")
			return
		}
		s.emit(tokParam, 1+n)
	default:
		if n := operatorLength(rest[0], second); n > 0 {
			s.emit(tokOp, n)
		} else {
			s.noSign(rest, r, size)
		}
	}
}

// afterWord tells whether the last token is a bare word, so that a dot goes on
// with it.
func (s *scanner) afterWord() bool {
	n := len(s.tokens)
	return n > 0 && s.tokens[n-1].kind == tokName
}

// afterDot tells whether the last two tokens are a bare word and a dot.
func (s *scanner) afterDot() bool {
	n := len(s.tokens)
	return n > 1 && s.tokens[n-1].is(".") && s.tokens[n-2].kind == tokName
}

// wordLength is the length of the letters, digits, marks and underscores at the
// start of s.
func wordLength(s string) int {
	for i, r := range s {
		switch {
		case r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
		case r < utf8.RuneSelf:
			return i
		case (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !unseen(r):
		default:
			return i
		}
	}
	return len(s)
}

// emit adds a token of the next n bytes.
func (s *scanner) emit(kind tokenKind, n int) {
	text := s.text[s.pos.Offset : s.pos.Offset+n]
	if kind == tokParam {
		text = text[1:]
	}
	s.push(kind, n, text)
}

func (s *scanner) push(kind tokenKind, n int, text string) {
	from := s.pos
	if kind == tokOp { // one column for each byte
		s.pos.Offset += n
		s.pos.Column += n
	} else {
		s.advance(n)
	}
	if s.doc != nil {
		if s.docs == nil {
			s.docs = map[int]string{}
		}
		s.docs[len(s.tokens)] = strings.Join(s.doc, "\n")
		s.doc = nil
	}
	s.tokens = append(s.tokens, token{kind: kind, from: from, to: s.pos.Offset, text: text})
}

// advance moves over n bytes.
func (s *scanner) advance(n int) {
	end := s.pos.Offset + n
	for i := s.pos.Offset; i < end; {
		c := s.text[i]
		switch {
		case c == '\n', c == '\r' && (i+1 == len(s.text) || s.text[i+1] != '\n'):
			i++
			s.pos.Line++
			s.pos.Column = 1
		case c < utf8.RuneSelf:
			i++
			s.pos.Column++
		default:
			_, size := utf8.DecodeRuneInString(s.text[i:])
			i += size
			s.pos.Column++
		}
	}
	s.pos.Offset = end
}

// bad reports the next n bytes and moves over them.
func (s *scanner) bad(n int, message, remedy string) {
	if s.unknown != s.pos.Offset {
		s.probs.add(s.pos, s.pos.Offset+n, message, remedy)
	}
	s.advance(n)
	s.unknown = s.pos.Offset
}

// operatorLength is the length of the operator or bracket that starts with two
// bytes; 0 where there is none.
func operatorLength(first, second byte) int {
	switch first {
	case '(', ')', '{', '}', ',', '+', '-', '*', '/', '^', ':', '.':
		return 1
	case '&', '|':
		if second == first {
			return 2
		}
	case '<':
		if second == '>' || second == '=' {
			return 2
		}
	case '>':
		if second == '=' {
			return 2
		}
	case '=':
		if second == '=' || second == '>' {
			return 2
		}
	default:
		return 0
	}
	if first == '|' {
		return 0
	}
	return 1
}

// noSign reports a character that is no sign of DAX.
func (s *scanner) noSign(rest string, r rune, size int) {
	switch {
	case r == ';':
		s.bad(size, "; is not a sign of DAX as Power BI's API takes it", "separate arguments with a comma, and write decimals with a point")
	case strings.HasPrefix(rest, "!="):
		s.bad(2, "!= is not an operator", "write <>")
	case r == '!':
		s.bad(size, "! is not an operator", "write NOT")
	case r == ']':
		s.bad(size, "] has no [ before it", "inside a name in brackets, write ]] for a bracket")
	case strings.ContainsRune("“”„«»‘’‚`´", r):
		s.bad(size, "typographic quotation mark "+string(r), `write "…" around texts and '…' around table names`)
	case strings.ContainsRune("–—−", r):
		s.bad(size, "typographic dash "+string(r), "write -")
	case foreignLineEnd(r):
		s.bad(size, fmt.Sprintf("line end U+%04X", r), "end lines with LF or CR LF")
	case unseen(r) || unicode.IsControl(r):
		s.bad(size, fmt.Sprintf("invisible character U+%04X", r), "remove it, or put the name that holds it in quotes or brackets")
	default:
		s.bad(size, fmt.Sprintf("the character %s is not a sign of DAX", string(r)), "put a name that holds it in '…' or […]")
	}
}

// lineComment reads // or -- to the end of the line.
func (s *scanner) lineComment(rest string) {
	end := strings.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
	}
	comment := strings.TrimSuffix(rest[:end], "\r")
	s.checkComment(comment, true)
	if text, ok := strings.CutPrefix(comment, "///"); ok && !strings.HasPrefix(text, "/") {
		s.doc = append(s.doc, strings.TrimSpace(text))
	}
	s.advance(len(comment))
}

func (s *scanner) blockComment(rest string) {
	n := strings.Index(rest[2:], "*/")
	if n < 0 {
		s.bad(len(rest), "the comment that starts here has no end", "close it with */")
		return
	}
	comment := rest[:2+n+2]
	s.checkComment(comment, false)
	if i := strings.Index(comment[2:], "/*"); i >= 0 {
		at := s.pos
		s.advance(2 + i)
		s.probs.add(s.pos, s.pos.Offset+2, "a comment starts inside a comment", "readers of DAX disagree on where such a comment ends: remove the inner /*")
		s.pos = at
	}
	s.advance(len(comment))
}

// checkComment refuses in a comment what some readers take for the end of a line
// and what shows the text in another order than it has.
func (s *scanner) checkComment(comment string, line bool) {
	start := s.pos.Offset
	for i, r := range comment {
		message, remedy := "", ""
		switch {
		case foreignLineEnd(r), line && (r == '\r' || r == '\v' || r == '\f'):
			message = fmt.Sprintf("line end U+%04X in a comment", r)
			remedy = "readers of DAX disagree on whether the comment ends here: end lines with LF or CR LF"
		case bidirectional(r):
			message, remedy = fmt.Sprintf("character U+%04X in a comment, which changes the order of the text on a screen", r), "remove it"
		case r == 0:
			message, remedy = "NUL in a comment", "remove it"
		case r == utf8.RuneError && !strings.HasPrefix(s.text[start+i:], "\uFFFD"):
			message, remedy = "a comment is not valid UTF-8", "send the query as UTF-8"
		default:
			continue
		}
		at := s.pos
		s.advance(i)
		s.probs.add(s.pos, s.pos.Offset+utf8.RuneLen(r), message, remedy)
		s.pos = at
		return
	}
}
