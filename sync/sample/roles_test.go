package sample

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	"github.com/pbmb/pbmb/testdata/company"
)

// records are the lines of a file of the company by column.
func records(t *testing.T, file string) []map[string]string {
	t.Helper()
	f, err := company.Files.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]string
	for _, line := range lines[1:] {
		r := map[string]string{}
		for i, cell := range line {
			r[lines[0][i]] = cell
		}
		list = append(list, r)
	}
	return list
}

// engineOf is the engine over a dataset of the company, its model changed first.
func engineOf(t *testing.T, dir string, change func(*knowledge.Model)) *eval.Engine {
	t.Helper()
	m, err := tmdl.LoadFS(company.Files, dir)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	rows, err := companyRows(company.Files, dir, dir)(m)
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(m, rows, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// column asks for one column and gives its texts in order.
func columnOf(t *testing.T, e *eval.Engine, dax string, as eval.Identity) []string {
	t.Helper()
	res, err := e.Query(t.Context(), dax, as)
	if err != nil {
		t.Fatalf("%s as %+v: %v", dax, as, err)
	}
	list := []string{}
	for _, r := range res.Tables[0].Rows {
		if r[0] != nil {
			list = append(list, fmt.Sprint(r[0]))
		}
	}
	slices.Sort(list)
	return list
}

// RLS-101, RLS-103, RLS-104, RLS-105, RLS-07, RLS-08, SAMPLE-06: what each role of
// Regional sales shows is what going through the rows by hand gives. Rows of
// products are not touched by a rule on regions, order lines are.
func TestRolesOfRegionalSales(t *testing.T) {
	const dir = "commercial/regional-sales"
	regions, people, products := records(t, dir+"/data/Region.csv"), records(t, dir+"/data/Salesperson.csv"), records(t, dir+"/data/Product.csv")
	category := products[0]["Category"]
	e := engineOf(t, dir, func(m *knowledge.Model) {
		m.Roles = append(m.Roles, knowledge.Role{Name: "West and one category", Tables: []knowledge.TablePermission{
			{Table: "Region", Filter: `[Region] = "West"`}, {Table: "Product", Filter: fmt.Sprintf("[Category] = %q", category)},
		}})
	})
	country := func(names ...string) func(map[string]string) bool {
		return func(r map[string]string) bool { return slices.Contains(names, r["Country"]) }
	}
	west := func(r map[string]string) bool { return r["Region"] == "West" }
	of := func(email string) func(map[string]string) bool {
		return func(r map[string]string) bool {
			return slices.ContainsFunc(people, func(p map[string]string) bool { return p["UserEmail"] == email && p["Region"] == r["Region"] })
		}
	}
	all := func(map[string]string) bool { return true }
	inCategory := func(r map[string]string) bool { return r["Category"] == category }
	dynamic := []string{"By salesperson"}
	lines := GeneratedRows(t, dir+"/Sales")
	for name, c := range map[string]struct {
		as      eval.Identity
		region  func(map[string]string) bool
		product func(map[string]string) bool
	}{
		"France":                        {eval.Identity{Roles: []string{"France"}}, country("France"), all},
		"Canada":                        {eval.Identity{Roles: []string{"Canada"}}, country("Canada"), all},
		"France and Canada":             {eval.Identity{Roles: []string{"France", "Canada"}}, country("France", "Canada"), all},
		"West":                          {eval.Identity{Roles: []string{"West"}}, west, all},
		"West and France":               {eval.Identity{Roles: []string{"West", "France"}}, func(r map[string]string) bool { return west(r) || country("France")(r) }, all},
		"ada":                           {eval.Identity{UPN: "ada@sample.example", Roles: dynamic}, of("ada@sample.example"), all},
		"grace, who has two regions":    {eval.Identity{UPN: "grace@sample.example", Roles: dynamic}, of("grace@sample.example"), all},
		"the guest":                     {eval.Identity{UPN: "noor@partner.example", Roles: dynamic}, of("noor@partner.example"), all},
		"an address that is not mapped": {eval.Identity{UPN: "nobody@sample.example", Roles: dynamic}, of("nobody@sample.example"), all},
		"ada in West and her own":       {eval.Identity{UPN: "grace@sample.example", Roles: []string{"By salesperson", "West"}}, func(r map[string]string) bool { return west(r) || of("grace@sample.example")(r) }, all},
		"two rules in one role":         {eval.Identity{Roles: []string{"West and one category"}}, west, inCategory},
		"a writer":                      {eval.Identity{Unrestricted: true}, all, all},
	} {
		t.Run(name, func(t *testing.T) {
			var names, countries, keys, articles []string
			for _, r := range regions {
				if c.region(r) {
					names, keys = append(names, r["Region"]), append(keys, r["RegionKey"])
					if !slices.Contains(countries, r["Country"]) {
						countries = append(countries, r["Country"])
					}
				}
			}
			for _, p := range products {
				if c.product(p) {
					articles = append(articles, p["ProductKey"])
				}
			}
			n, net := 0, int64(0)
			for i := range lines["RegionKey"] {
				if slices.Contains(keys, lines["RegionKey"][i].String()) && slices.Contains(articles, lines["ProductKey"][i].String()) {
					n++
					net += lines["Net amount"][i].Scaled()
				}
			}
			slices.Sort(names)
			slices.Sort(countries)
			if got := columnOf(t, e, "EVALUATE VALUES ( Region[Region] )", c.as); !slices.Equal(got, append([]string{}, names...)) {
				t.Errorf("regions %v, want %v", got, names)
			}
			if got := columnOf(t, e, "EVALUATE VALUES ( Region[Country] )", c.as); !slices.Equal(got, append([]string{}, countries...)) {
				t.Errorf("countries %v, want %v", got, countries)
			}
			if got := columnOf(t, e, "EVALUATE ROW ( \"n\", COUNTROWS ( Product ) )", c.as); !slices.Equal(got, []string{fmt.Sprint(len(articles))}) {
				t.Errorf("%v products, want %d", got, len(articles))
			}
			got := columnOf(t, e, `EVALUATE ROW ( "x", COUNTROWS ( Sales ) + 0 & " lines of " & FORMAT ( [Net sales] + 0, "0.00" ) )`, c.as)
			if want := fmt.Sprintf("%d lines of %.2f", n, float64(net)/10_000); !slices.Equal(got, []string{want}) {
				t.Errorf("%v, want %s", got, want)
			}
		})
	}
	if _, err := e.Query(t.Context(), "EVALUATE Region", eval.Identity{UPN: "ada@sample.example"}); err == nil {
		t.Error("somebody in no role is answered")
	}
}

// RLS-06: a row is seen where its rule is TRUE, and nowhere else.
func TestOnlyTrueShowsARow(t *testing.T) {
	for rule, want := range map[string]string{
		`[Region] = "West"`:                           "West",
		`IF ( [Region] = "West", FALSE (), TRUE () )`: "Central Coast East Nordic North South",
		`IF ( [Region] = "West", TRUE () )`:           "West", // BLANK elsewhere
		`FALSE ()`:                                    "",
		`BLANK ()`:                                    "",
		`IF ( [Region] = "West", 1, 0 )`:              "West",
		`IF ( [Region] = "West", "yes", TRUE () )`:    "Central Coast East Nordic North South",
		// An error hides the rows for which it comes, and no other.
		`IF ( [Region] = "West", TRUE (), ERROR ( "no" ) )`:                     "West",
		`IF ( [Region] = "West", VALUE ( [Region] ) = 1, TRUE () )`:             "Central Coast East Nordic North South",
		`LOOKUPVALUE ( Region[Region], Region[Country], [Country] ) = [Region]`: "Nordic", // the one region of its country
		`[Country] IN { "France" } && NOT ( [Region] = "North" )`:               "South",
	} {
		e := engineOf(t, "commercial/regional-sales", func(m *knowledge.Model) {
			m.Roles = []knowledge.Role{{Name: "R", Tables: []knowledge.TablePermission{{Table: "Region", Filter: rule}}}}
		})
		if got := columnOf(t, e, "EVALUATE VALUES ( Region[Region] )", eval.Identity{Roles: []string{"R"}}); strings.Join(got, " ") != want {
			t.Errorf("%s shows %v, want %s", rule, got, want)
		}
	}
}
