package sample

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

// SAMPLE-04: the rows are the same at every start, on every machine. A change of
// a generator changes its sum here, and every number that tests and guides quote.
func TestGeneratedRowsAreTheSame(t *testing.T) {
	for name, want := range map[string]struct {
		rows int
		sum  string
	}{
		"commercial/sales/Sales":          {144021, "ccc28920307c2dde"},
		"commercial/regional-sales/Sales": {22412, "ec7db10c65d1b0f6"},
		"commercial/web-shop/Sales":       {17712, "2bb10b3bc6a5ad07"},
		"commercial/web-shop/Visit":       {26298, "60a12c8b0760be79"},
		"supply-chain/inventory/Stock":    {23040, "fbff9938598ddb66"},
		"finance/finance/Ledger":          {26112, "ff4b492d4cf3e6e6"},
		"finance/board-pack/Figures":      {192, "2fa49138fab6a0d1"},
		"commercial/sales/Calendar":       {1461, "43450a422ef14afe"},
	} {
		t.Run(name, func(t *testing.T) {
			dataset, tbl := tableOf(t, name)
			f := generated(t, dataset, tbl)
			hash := sha256.New()
			sum := bufio.NewWriter(hash)
			rows := 0
			for _, def := range tbl.Columns {
				c, ok := f.columns[def.Name]
				if !ok {
					continue
				}
				rows = c.Len()
				texts := make([]string, len(c.Values()))
				for id, v := range c.Values() {
					texts[id] = v.String() + "\x00"
				}
				for _, id := range c.IDs() {
					_, _ = sum.WriteString(texts[id]) // a hash takes everything
				}
			}
			_ = sum.Flush()
			if got := fmt.Sprintf("%x", hash.Sum(nil))[:16]; rows != want.rows || got != want.sum {
				t.Errorf("{%d, %q}, want {%d, %q}", rows, got, want.rows, want.sum)
			}
		})
	}
}

func generated(t testing.TB, dataset string, tbl knowledge.Table) *filler {
	t.Helper()
	f := newFiller(dataset, tbl)
	fill, ok := makers[dataset+"/"+tbl.Name]
	if !ok {
		fill = fillCalendar
	}
	fill(f)
	return f
}

func tableOf(t testing.TB, name string) (dataset string, tbl knowledge.Table) {
	t.Helper()
	for i := len(name) - 1; ; i-- {
		if name[i] == '/' {
			dataset, name = name[:i], name[i+1:]
			break
		}
	}
	m, err := tmdl.LoadFS(company.Files, dataset)
	if err != nil {
		t.Fatal(err)
	}
	for _, tbl := range m.Tables {
		if tbl.Name == name {
			return dataset, tbl
		}
	}
	t.Fatalf("no table %s in %s", name, dataset)
	return "", tbl
}

// SAMPLE-04
func BenchmarkLoad(b *testing.B) {
	b.Run("tenant", func(b *testing.B) {
		for b.Loop() {
			if _, err := New(Config{Log: slog.New(slog.DiscardHandler)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rows of Sales", func(b *testing.B) {
		m, err := tmdl.LoadFS(company.Files, "commercial/sales")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			rows, err := companyRows(company.Files, "commercial/sales", "commercial/sales")(m)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := eval.New(m, rows, time.Now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
