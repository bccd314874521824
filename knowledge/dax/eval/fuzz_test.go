package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzEval evaluates any expression, starting from those of the scripts and from
// some that would take all memory or time where nothing bounded them. There is an
// answer or an *Error, or the query ends when its caller has gone.
func FuzzEval(f *testing.F) { // SAMPLE-05
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(script)) {
			if x, _, ok := strings.Cut(line, " => "); ok && strings.HasPrefix(line, "  ") {
				f.Add(strings.TrimSpace(x))
			}
		}
	}
	for _, x := range []string{
		`REPT ( "x", 1e9 )`, `REPT ( REPT ( "x", 1e4 ), 1e4 )`, `SUBSTITUTE ( REPT ( "x", 1e6 ), "x", REPT ( "y", 1e6 ) )`,
		`COUNTROWS ( GENERATESERIES ( 0, 1e300, 1e-300 ) )`, `COUNTROWS ( GENERATESERIES ( 1, 9223372036854775807 ) )`,
		`COUNTROWS ( GENERATESERIES ( 1e18, 2e18, 0.1 ) )`, `COUNTROWS ( CROSSJOIN ( GENERATESERIES ( 1, 5000 ), SELECTCOLUMNS ( GENERATESERIES ( 1, 5000 ), "b", [Value] ) ) )`,
		`FIXED ( 1e300, 1e6 )`, `FORMAT ( 1e308, "#,0.000000000" )`, `FORMAT ( 1, REPT ( "0", 100000 ) )`, `FORMAT ( 1e-320, "0.0E+00" )`,
		`VDB ( 1, 0, 1e6, 0, 1e6 )`, `CUMIPMT ( 0.1, 1e6, 1, 1, 1e6, 0 )`, `DB ( 1, 1, 1e6, 1e6 )`, `COMBIN ( 1e300, 5e299 )`,
		`PRICE ( DATE ( 100, 1, 1 ), DATE ( 9999, 1, 1 ), 0.1, 0.1, 100, 4 )`, `ACCRINT ( DATE ( 100, 1, 1 ), DATE ( 9999, 1, 1 ), DATE ( 9998, 1, 1 ), 0.1, 100, 4 )`,
		`ODDFYIELD ( DATE ( 101, 1, 1 ), DATE ( 9999, 1, 1 ), DATE ( 100, 1, 1 ), DATE ( 9998, 1, 1 ), 0.1, 1e300, 100, 4 )`,
		`RATE ( 1e300, -1e300, 1e300 )`, `RATE ( 1e-300, 1, 1 )`, `BETA.INV ( 1e-300, 1e-300, 1e10 )`, `BETA.INV ( 0.5, 1e10, 1e10 )`,
		`T.INV ( 1e-300, 1e10 )`, `T.INV ( 1e-300, 1 )`, `CHISQ.INV ( 1e-300, 1e10 )`, `CHISQ.INV.RT ( 1e-300, 1e10 )`, `POISSON.DIST ( 9999999, 1e10, TRUE () )`,
		`NORM.INV ( 1e-320, 0, 1 )`, `BETA.DIST ( 0.5, 1e10, 1e-10, FALSE () )`, `SEARCH ( REPT ( "a*", 2000 ), REPT ( "a", 100000 ), 1, 0 )`,
		`NETWORKDAYS ( DATE ( 100, 1, 1 ), DATE ( 9999, 12, 31 ) )`, `DATE ( 9999, 10000000, -10000000 )`, `EDATE ( DATE ( 1, 1, 1 ), -1 )`,
		`ROUND ( 1.7976931348623157E308, 308 )`, `MROUND ( 1e308, 1e-308 )`, `MOD ( 9223372036854775807, -1 )`, `QUOTIENT ( 1e300, 1e-300 )`,
		`GCD ( 9007199254740991, 1 )`, `BITLSHIFT ( 1, 4000000000000000000 )`, `-( -9223372036854775807 - 1 )`, `1 = "1"`, `UNICHAR ( 1E6 )`,
		`CONCATENATEX ( GENERATESERIES ( 1, 1000000 ), REPT ( "x", 1000 ) )`, `TOCSV ( GENERATESERIES ( 1, 1000000 ), 1000000 )`,
		`LINESTX ( GENERATESERIES ( 1, 3 ), [Value], 1e300 * [Value] )`, `XIRR ( { ( 1, 1 ), ( -1, 2 ) }, [Value1] * 1e300, [Value2] )`,
	} {
		f.Add(x)
	}
	engine := newSmall(f)
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 4<<10 {
			t.Skip("the parser's bounds have tests of their own")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := engine.Query(ctx, "EVALUATE { "+expression+" }", Identity{UPN: "ada@sample.example", Unrestricted: true})
		var problem *Error
		if err != nil && !errors.As(err, &problem) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v is no *Error", expression, err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: ended only after %s", expression, took)
		}
	})
}
