package sample

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge/dax"
)

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
	for _, key := range []string{"admin", "curator", "viewer", "outsider", "steward", "ada", "grace"} {
		p := tenant.personByName(key + "@" + Domain)
		count("the people by name", p != nil && !p.guest.Load() && !p.disabled.Load())
	}
	for _, p := range tenant.people {
		count("guest", p.guest.Load() && strings.Contains(p.upn, "#EXT#@"))
		count("disabled", p.disabled.Load())
		count("in over 200 groups", len(tenant.groupsOf(p)) > groupsInToken)
		count("reaches nothing", !p.disabled.Load() && tenant.reachesNothing(p))
		count("a Fabric administrator", p.fabricAdmin)
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
			count("empty datasets", len(d.model().Tables) == 0)
			count("Sales without roles", d.name == "Sales" && len(d.model().Roles) == 0)
			for _, rel := range d.model().Relationships {
				count("inactive relationships", rel.Inactive)
				count("relationships of both directions", rel.BothFilter)
			}
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
				count("templates of auto date tables", tbl.Hidden && strings.HasPrefix(tbl.Name, "DateTableTemplate_"))
				for _, c := range tbl.Columns {
					count("variations", len(c.Variations) > 0)
					count("calculated columns", c.Expression != "")
					switch d.name + ": " + tbl.Name + "[" + c.Name + "]" {
					case "Sales: Customer[Customer]", "Sales: Customer[Region]", "Sales: Customer[Birth date]":
						count("columns of Sales by name", true)
					}
					switch c.Name {
					case "Email", "Phone", "Birth date", "Salary", "E-mail (private!)":
						count("columns of personal data", true)
					}
				}
				for _, m := range tbl.Measures {
					count("measures", true)
					count("Net sales of Sales", d.name+": "+tbl.Name+"["+m.Name+"]" == "Sales: Sales[Net sales]")
					count("names with brackets, quotes or other letters", strings.ContainsAny(m.Name, `[]"'`) || strings.ContainsFunc(m.Name, func(r rune) bool { return r > 127 }))
					count("very long descriptions", len(m.Description) > 2000)
					count("hidden measures", m.Hidden)
					_, err := dax.ParseExpr(m.Expression)
					count("measures that are no DAX", err != nil)
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
		"workspaces": 4, "personal workspaces": 1, "apps with an audience": 1, "datasets": 8, "tables": 60, "measures": 250,
		"endorsed Certified": 1, "endorsed Promoted": 1, "labelled": 1, "object-level security": 1, "functions": 1,
		"fails open": 1, "static roles": 3, "dynamic roles": 1, "mixed roles": 1, "roles without a rule": 1,
		"the people by name": 7, "a Fabric administrator": 1, "empty datasets": 1, "Sales without roles": 1,
		"columns of Sales by name": 3, "Net sales of Sales": 1, "columns of personal data": 8, "calculated columns": 10,
		"inactive relationships": 2, "relationships of both directions": 1, "templates of auto date tables": 1, "variations": 2,
		"names with brackets, quotes or other letters": 6, "very long descriptions": 1, "hidden measures": 1, "measures that are no DAX": 1,
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

// guideRows are the cells of the table of the guide under a heading.
func guideRows(t *testing.T, heading string) [][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/guide/sample-company.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(data), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("the guide has no part %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var rows [][]string
	for line := range strings.Lines(part) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			rows = append(rows, cells)
		}
	}
	return rows[2:] // below the head
}

// SAMPLE-03: the guide's tables name everybody and every dataset of the company,
// and of each person every dataset that they reach, or its workspace, and no other.
func TestTheGuideTellsTheCompany(t *testing.T) {
	tenant, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var datasets, told []string
	for w := range tenant.workspaces() {
		space := w.name
		if w.kind == "PersonalGroup" {
			space = "Ada's personal workspace"
		}
		for _, d := range w.datasets {
			datasets = append(datasets, space+": "+d.name)
		}
	}
	for _, row := range guideRows(t, "Datasets") {
		told = append(told, row[0]+": "+row[1])
	}
	slices.Sort(datasets)
	slices.Sort(told)
	if !slices.Equal(datasets, told) {
		t.Errorf("the guide has the datasets\n%s\nand the company\n%s", strings.Join(told, "\n"), strings.Join(datasets, "\n"))
	}
	people := guideRows(t, "People")
	if len(people) != len(tenant.people) {
		t.Errorf("the guide has %d people, the company %d", len(people), len(tenant.people))
	}
	for _, row := range people {
		p := tenant.personByName(row[0])
		if p == nil || !strings.HasPrefix(row[1], p.name) {
			t.Errorf("the guide has %s, %s", row[0], row[1])
			continue
		}
		for w := range tenant.workspaces() {
			inSpace := strings.Contains(row[2], w.name) || w.kind == "Workspace" && strings.Contains(row[2], "every workspace") ||
				w.kind == "PersonalGroup" && strings.Contains(row[2], ", a personal workspace")
			for _, d := range w.datasets {
				reached := tenant.rightsOn(p, d).read && !strings.Contains(row[1], "disabled")
				named := strings.Contains(row[2], d.name)
				if reached && !named && !inSpace {
					t.Errorf("the guide does not say that %s reaches %s", row[0], d.name)
				}
				if named && !reached {
					t.Errorf("the guide says that %s reaches %s, which is not so", row[0], d.name)
				}
			}
		}
	}
}
