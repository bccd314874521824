package eval

import (
	"errors"
	"strings"
	"testing"
)

// A query that would make more text than there is memory ends in an error.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	engine := newSmall(t)
	for _, query := range []string{
		`DEFINE VAR a = REPT ( "x", 1000000 ) VAR b = REPT ( a, 1000 ) VAR c = REPT ( b, 1000 ) EVALUATE { LEN ( c ) }`,
		`DEFINE VAR a = REPT ( "x", 1000000 ) EVALUATE { LEN ( SUBSTITUTE ( a, "x", a ) ) }`,
		`DEFINE VAR a = REPT ( "x", 16000000 ) VAR b = a & a VAR c = b & b VAR d = c & c VAR e = d & d VAR f = e & e EVALUATE { LEN ( f ) }`,
		`DEFINE VAR a = REPT ( "x", 16000000 ) EVALUATE { LEN ( CONCATENATEX ( GENERATESERIES ( 1, 100000 ), a ) ) }`,
		`DEFINE VAR a = REPT ( "x", 16000000 ) EVALUATE { LEN ( CONCATENATEX ( GENERATESERIES ( 1, 100000 ), "", a ) ) }`,
		`EVALUATE ADDCOLUMNS ( GENERATESERIES ( 1, 100000 ), "t", REPT ( "x", 100000 + [Value] ) )`,
		`EVALUATE { FORMAT ( 1, REPT ( "0", 10000000 ) ) }`,
	} {
		_, err := tried(t, engine, query)
		var problem *Error
		if !errors.As(err, &problem) || !strings.Contains(problem.Message, "too long") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := tried(t, engine, `DEFINE VAR a = GENERATESERIES ( 1, 1000000 ) EVALUATE UNION ( a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a )`); err == nil {
		t.Error("a union has no bound")
	}
	if _, err := tried(t, engine, `EVALUATE { LEN ( REPT ( "xy", 1000000 ) ) }`); err != nil {
		t.Error(err)
	}
}

func TestWildcards(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		at            int
	}{
		{"abcabd", "ab?a", 0}, {"abcabd", "ab*d", 0}, {"xabd", "a*d", 1}, {"abc", "", 0}, {"", "*", 0}, {"", "?", -1},
		{"a*b", "~*b", 1}, {"a?b", "a~?b", 0}, {"a~b", "~~", 1}, {"axxbxxc", "a*b*c", 0}, {"aab", "a*c", -1}, {"abab", "ba*b", 1},
		{"zabcabx", "ab*x", 1}, {"aXb", "axb", 0}, {"ab", "ab?", -1}, {"a~", "a~", 0},
		// Trying each length of each * in turn would take longer than there is time.
		{strings.Repeat("a", 3000), "a*a*a*a*a*a*a*b", -1}, {strings.Repeat("a", 100_000), "aaaaaaaaab", -1},
	} {
		if at := wildcard(c.text, c.pattern, 0); at != c.at {
			t.Errorf("%q is in %.20q at %d, want %d", c.pattern, c.text, at, c.at)
		}
	}
}
