package sample

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// SAMPLE-03: the company has what every feature is tried on.
func TestTheCompanyIsRich(t *testing.T) {
	tenant, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int{}
	count := func(what string, yes bool) {
		if yes {
			have[what]++
		}
	}
	for _, p := range tenant.people {
		count("guest", p.guest.Load() && strings.Contains(p.upn, "#EXT#@"))
		count("disabled", p.disabled.Load())
		count("in over 200 groups", len(tenant.groupsOf(p)) > groupsInToken)
		count("reaches nothing", !p.disabled.Load() && tenant.reachesNothing(p))
	}
	for _, g := range tenant.groups {
		for _, inner := range g.groups {
			count("three levels of groups", len(inner.groups) > 0)
		}
	}
	copies := map[string][]string{}
	for _, w := range tenant.held.spaces {
		count("workspaces", true)
		count("personal workspaces", w.kind == "PersonalGroup")
		count("apps with an audience", w.app != nil && len(w.app.users) > 0)
		for _, d := range w.datasets {
			count("datasets", true)
			count("endorsed "+d.endorsement, d.endorsement != "")
			count("labelled", d.label != "")
			count("object-level security", hidesObjects(d.model()))
			count("functions", len(d.model().Functions) > 0)
			for _, r := range d.model().Roles {
				rules, dynamic := 0, 0
				for _, p := range r.Tables {
					rules++
					count("fails open", strings.Contains(p.Filter, "TRUE () )"))
					if strings.Contains(p.Filter, "USERPRINCIPALNAME") {
						dynamic++
					}
				}
				count("static roles", rules > 0 && dynamic == 0)
				count("dynamic roles", rules > 0 && dynamic == rules)
				count("mixed roles", dynamic > 0 && dynamic < rules)
				count("roles without a rule", rules == 0)
			}
			for _, tbl := range d.model().Tables {
				count("tables", true)
				count("calculation groups", len(tbl.Items) > 0)
				count("auto date tables", tbl.Hidden && strings.HasPrefix(tbl.Name, "LocalDateTable_"))
				count("hidden mapping tables", tbl.Hidden && tbl.Name == "Salesperson")
				for _, m := range tbl.Measures {
					count("measures", true)
					copies[m.Name] = append(copies[m.Name], m.Expression)
				}
			}
		}
	}
	netSales := copies["Net sales"]
	slices.Sort(netSales)
	have["Net sales"], have["ways of Net sales"] = len(netSales), len(slices.Compact(slices.Clone(netSales)))
	for what, least := range map[string]int{
		"guest": 1, "disabled": 1, "in over 200 groups": 1, "reaches nothing": 1, "three levels of groups": 1,
		"workspaces": 4, "personal workspaces": 1, "apps with an audience": 1, "datasets": 8, "tables": 58, "measures": 250,
		"endorsed Certified": 1, "endorsed Promoted": 1, "labelled": 1, "object-level security": 1, "functions": 1,
		"fails open": 1, "static roles": 3, "dynamic roles": 1, "mixed roles": 1, "roles without a rule": 1,
		"calculation groups": 1, "auto date tables": 2, "hidden mapping tables": 1, "Net sales": 4, "ways of Net sales": 3,
	} {
		if have[what] < least {
			t.Errorf("%s: %d, want at least %d", what, have[what], least)
		}
	}
	if have["Net sales"] == have["ways of Net sales"] {
		t.Error("no copy of Net sales is the same as another")
	}
}

func (t *Tenant) reachesNothing(p *person) bool {
	for _, w := range t.held.spaces {
		for _, d := range w.datasets {
			if t.rightsOn(p, d) != (rights{}) {
				return false
			}
		}
	}
	for range t.appsOf(p) {
		return false
	}
	return true
}
