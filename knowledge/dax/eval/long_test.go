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
	} {
		_, err := tried(t, engine, query)
		var problem *Error
		if !errors.As(err, &problem) || !strings.Contains(problem.Message, "too long") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := tried(t, engine, `EVALUATE { LEN ( REPT ( "xy", 1000000 ) ) }`); err != nil {
		t.Error(err)
	}
}
