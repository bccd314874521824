package dax

import (
	"strings"
	"time"
	"unicode/utf8"
)

// delimited reads a token between delimiters, in which the closing one is
// doubled to stand for itself. Everything else in it is text.
func (s *scanner) delimited(kind tokenKind, prefix int, closing byte) {
	body := s.text[s.pos.Offset+prefix+1:]
	doubled := false
	for i := 0; ; {
		j := strings.IndexByte(body[i:], closing)
		if j < 0 {
			s.unterminated(kind, closing)
			return
		}
		i += j
		if i+1 < len(body) && body[i+1] == closing {
			doubled = true
			i += 2
			continue
		}
		value := body[:i]
		switch {
		case strings.IndexByte(value, 0) >= 0 || !utf8.ValidString(value):
			s.probs.add(s.pos, s.pos.Offset+prefix+2+i, "a text or name holds a NUL or bytes that are not UTF-8", "send the query as UTF-8 text")
		case i == 0 && (kind == tokQuoted || kind == tokBracket):
			s.probs.add(s.pos, s.pos.Offset+2, "the name is empty", "write the name of a table, column or measure")
		case kind == tokDate && !validDate(value):
			s.probs.add(s.pos, s.pos.Offset+prefix+2+i, "no such date: "+shorten(value), `write dt"2026-03-31" or dt"2026-03-31T10:00:00"`)
		}
		if doubled {
			one := string(closing)
			value = strings.ReplaceAll(value, one+one, one)
		}
		s.push(kind, prefix+2+i, value)
		return
	}
}

func (s *scanner) unterminated(kind tokenKind, closing byte) {
	what := map[tokenKind]string{
		tokText: "the text", tokDate: "the date", tokQuoted: "the table name", tokBracket: "the column or measure name",
	}[kind]
	s.bad(len(s.text)-s.pos.Offset, what+" that starts here has no end", "close it with "+string(closing))
}

// validDate tells whether s is like 2026-3-1, 2026-03-01T10:00:00 or
// 2026-03-01 10:00, and exists.
func validDate(s string) bool {
	number := func(least, most int) int { // -1 where there is none of so many digits
		n, value := 0, 0
		for ; n < len(s) && n < most && '0' <= s[n] && s[n] <= '9'; n++ {
			value = value*10 + int(s[n]-'0')
		}
		s = s[n:]
		if n < least {
			return -1
		}
		return value
	}
	sign := func(set string) bool {
		if s == "" || strings.IndexByte(set, s[0]) < 0 {
			return false
		}
		s = s[1:]
		return true
	}
	year := number(4, 4)
	if year < 1 || !sign("-") {
		return false
	}
	month := number(1, 2)
	if month < 1 || month > 12 || !sign("-") {
		return false
	}
	// The day before the first of the next month is the last one.
	day := number(1, 2)
	if day < 1 || day > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return false
	}
	if s == "" {
		return true
	}
	if !sign("Tt ") {
		return false
	}
	if hour := number(1, 2); hour < 0 || hour > 23 {
		return false
	}
	for range 2 {
		if s == "" {
			return true
		}
		if !sign(":") {
			return false
		}
		if n := number(1, 2); n < 0 || n > 59 {
			return false
		}
	}
	return s == "" || sign(".") && number(1, 9) >= 0 && s == ""
}

func (s *scanner) number(rest string) {
	n := 0
	digits := func() {
		for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
			n++
		}
	}
	digits()
	if n < len(rest) && rest[n] == '.' {
		n++
		digits()
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		mantissa := n
		n++
		if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
			n++
		}
		exponent := n
		digits()
		if n == exponent {
			n = mantissa
		}
	}
	if more := wordLength(rest[n:]); more > 0 {
		s.bad(n+more, "a number runs into a name: "+shorten(rest[:n+more]), "put a blank or an operator between them, or quote the table name")
		return
	}
	s.emit(tokNumber, n)
}
