package sample

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
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
	seen := map[string]bool{}
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
		seen[name] = true
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
	for name := range makers {
		if !seen[name] {
			t.Errorf("the rows of %s have no sum", name)
		}
	}
}

// SAMPLE-04: so are the rows that are in files, one sum for each dataset.
func TestRowsInFilesAreTheSame(t *testing.T) {
	tenant, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, dir := range datasetFolders(t) {
		hash := sha256.New()
		files, err := fs.Glob(company.Files, dir+"/data/*.csv")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := fs.ReadFile(company.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data) // a hash takes everything
		}
		got[dir] = fmt.Sprintf("%d files %x", len(files), hash.Sum(nil)[:6])
	}
	want := map[string]string{
		"ada/fair-leads":            "1 files c1f2f41a20aa",
		"ada/next-fair":             "0 files e3b0c44298fc",
		"ada/scratch":               "1 files a2cd231326a4",
		"care/service-desk":         "3 files 276be49b08b0",
		"commercial/loyalty":        "4 files b952bc517eb7",
		"commercial/regional-sales": "3 files 47e1280e9337",
		"commercial/sales":          "7 files b4daf1050fd9",
		"commercial/web-shop":       "1 files d911a44911e5",
		"finance/board-pack":        "0 files e3b0c44298fc",
		"finance/finance":           "2 files 47b6cc989430",
		"finance/receivables":       "4 files b5c09794cb7b",
		"people/people":             "4 files 2a00c177903e",
		"supply-chain/deliveries":   "6 files 40694fd89de2",
		"supply-chain/inventory":    "2 files 83b7d2f78883",
	}
	if !maps.Equal(got, want) {
		for _, dir := range slices.Sorted(maps.Keys(got)) {
			t.Errorf("%q: %q, want %q", dir, got[dir], want[dir])
		}
	}
	if n := tenant.countDatasets(); len(got) != n {
		t.Errorf("%d folders with datasets, the tenant has %d", len(got), n)
	}
}

// datasetFolders are the folders of the company that hold a model.
func datasetFolders(t testing.TB) []string {
	t.Helper()
	models, err := fs.Glob(company.Files, "*/*/model.tmdl")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range models {
		models[i] = path.Dir(name)
	}
	return models
}

func (t *Tenant) countDatasets() (n int) {
	for w := range t.workspaces() {
		n += len(w.datasets)
	}
	return n
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
	b.Run("rows of every dataset", func(b *testing.B) {
		for b.Loop() {
			for _, dir := range datasetFolders(b) {
				m, err := tmdl.LoadFS(company.Files, dir)
				if err != nil {
					b.Fatal(err)
				}
				rows, err := companyRows(company.Files, dir, dir)(m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := eval.New(m, rows, time.Now); err != nil {
					b.Fatal(err)
				}
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
