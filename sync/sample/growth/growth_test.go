package growth_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/sync/sample/growth"
)

// everything calls each for every dataset of a plan with its model.
func everything(p growth.Plan, each func(growth.Workspace, growth.Dataset, *knowledge.Model)) {
	for i := range p.Workspaces {
		w := p.Workspace(i)
		for _, d := range p.Datasets(w) {
			each(w, d, p.Model(d, 0))
		}
	}
}

// SAMPLE-08: the size is known without making anything, and is the one that the
// scale tests are about.
func TestSizeOfTheScaleTenant(t *testing.T) {
	want := growth.Size{Workspaces: 6000, Datasets: 12_500, Measures: 250_000, Columns: 1_000_000, People: 24_000}
	if got := (growth.Plan{Workspaces: 6000}).Size(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// SAMPLE-08: what is made has the size that is told beforehand, whole blocks or not.
func TestWhatIsMadeHasTheSize(t *testing.T) {
	for _, n := range []int{0, 1, 7, 12, 60, 131} {
		p := growth.Plan{Workspaces: n, Seed: 3}
		got := growth.Size{Workspaces: n, People: p.People()}
		everything(p, func(_ growth.Workspace, _ growth.Dataset, m *knowledge.Model) {
			got.Datasets++
			for _, tbl := range m.Tables {
				got.Measures += len(tbl.Measures)
				got.Columns += len(tbl.Columns)
			}
		})
		if got != p.Size() {
			t.Errorf("%d workspaces: %+v, told beforehand was %+v", n, got, p.Size())
		}
	}
}

// SAMPLE-08: the same plan makes the same, whatever was made before; another seed
// makes something else.
func TestPlansAreDeterministic(t *testing.T) {
	print := func(p growth.Plan, i int) string {
		w := p.Workspace(i)
		var b strings.Builder
		enc := json.NewEncoder(&b)
		_ = enc.Encode(w) // plain values
		for _, d := range p.Datasets(w) {
			_ = enc.Encode([]any{d, p.Model(d, 2)})
		}
		return b.String()
	}
	p, same, other := growth.Plan{Workspaces: 60, Seed: 1}, growth.Plan{Workspaces: 60, Seed: 1}, growth.Plan{Workspaces: 60, Seed: 2}
	differ := 0
	for i := range 60 {
		one := print(p, i)
		if one != print(same, i) {
			t.Fatalf("workspace %d is another one the second time", i)
		}
		if one != print(other, i) {
			differ++
		}
	}
	if differ < 60 {
		t.Errorf("only %d of 60 workspaces differ under another seed", differ)
	}
}

// SAMPLE-08: names are unique where Power BI wants them to be.
func TestNamesAreUnique(t *testing.T) {
	p := growth.Plan{Workspaces: 1300}
	spaces, keys := map[string]bool{}, map[string]bool{}
	for i := range p.Workspaces {
		w := p.Workspace(i)
		if spaces[w.Name] {
			t.Fatalf("two workspaces are %q", w.Name)
		}
		spaces[w.Name] = true
		inside := map[string]bool{}
		for _, d := range p.Datasets(w) {
			if inside[d.Name] {
				t.Errorf("two datasets of %q are %q", w.Name, d.Name)
			}
			inside[d.Name] = true
		}
	}
	for i := range p.People() {
		key := p.Person(i).Key
		if found, ok := p.PersonByKey(strings.ToUpper(key)); keys[key] || !ok || found != i {
			t.Fatalf("%s is %d, found %d", key, i, found)
		}
		keys[key] = true
	}
	small := growth.Plan{Workspaces: 60}
	everything(small, func(w growth.Workspace, d growth.Dataset, m *knowledge.Model) {
		measures, tables := map[string]bool{}, map[string]bool{}
		for _, tbl := range m.Tables {
			if tables[knowledge.Fold(tbl.Name)] {
				t.Errorf("%s: two tables are %s", d.Name, tbl.Name)
			}
			tables[knowledge.Fold(tbl.Name)] = true
			columns := map[string]bool{}
			for _, c := range tbl.Columns {
				if columns[knowledge.Fold(c.Name)] {
					t.Errorf("%s: two columns are %s[%s]", d.Name, tbl.Name, c.Name)
				}
				columns[knowledge.Fold(c.Name)] = true
			}
			for _, me := range tbl.Measures {
				if name := knowledge.Fold(me.Name); measures[name] || columns[name] {
					t.Errorf("%s: the measure %s has the name of another thing", d.Name, me.Name)
				}
				measures[knowledge.Fold(me.Name)] = true
			}
		}
	})
}

// SAMPLE-08, SAMPLE-05: every measure and calculated column of a block evaluates
// over the rows, also after edits.
func TestEveryMeasureEvaluates(t *testing.T) {
	p := growth.Plan{Workspaces: 24, Seed: 5}
	blank, n := 0, 0
	everything(p, func(w growth.Workspace, d growth.Dataset, _ *knowledge.Model) {
		m := p.Model(d, 4)
		e, err := eval.New(m, p.Rows(d, m, "sample.example"), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		for _, sentence := range e.Unsupported() {
			t.Errorf("%s of %s: %s", d.Name, w.Name, sentence)
		}
		var all strings.Builder
		for _, me := range m.Tables[0].Measures {
			fmt.Fprintf(&all, `, "%s", [%s]`, me.Name, me.Name)
		}
		if all.Len() == 0 {
			return
		}
		res, err := e.Query(t.Context(), "EVALUATE ROW ( "+all.String()[2:]+" )", eval.Identity{Unrestricted: true})
		if err != nil {
			t.Errorf("%s of %s: %v", d.Name, w.Name, err)
			return
		}
		for _, cell := range res.Tables[0].Rows[0] {
			if n++; cell == nil {
				blank++
			}
		}
	})
	if n < 900 || blank > n/4 {
		t.Errorf("%d measures, %d of them blank", n, blank)
	}
}

// SAMPLE-08: what the product is about is in there: copies, the same metric in
// several ways and under several names, personal data, security.
func TestGrowthIsPlausible(t *testing.T) {
	p := growth.Plan{Workspaces: 180}
	have := map[string]int{}
	texts := map[string]map[string]int{}
	everything(p, func(w growth.Workspace, d growth.Dataset, m *knowledge.Model) {
		have["endorsed "+d.Endorsement]++
		have["labelled "+d.Label]++
		have["reports"] += len(d.Reports)
		have["roles"] += min(1, len(m.Roles))
		have["relationships"] += len(m.Relationships)
		if d.Description != "" {
			have["described"]++
		}
		for _, tbl := range m.Tables {
			for _, c := range tbl.Columns {
				if c.Name == "Email" || c.Name == "Birth date" {
					have["personal data"]++
				}
				if c.Expression != "" {
					have["calculated columns"]++
				}
			}
			for _, me := range tbl.Measures {
				if texts[me.Name] == nil {
					texts[me.Name] = map[string]int{}
				}
				texts[me.Name][me.Expression]++
			}
		}
	})
	copies := 0
	for _, n := range texts["Net sales"] {
		copies = max(copies, n)
	}
	for name, ok := range map[string]bool{
		"Net sales in five ways": len(texts["Net sales"]) >= 5, "exact copies": copies >= 8, "under another name": len(texts["Turnover"]) > 0,
		"certified": have["endorsed Certified"] > 15, "promoted": have["endorsed Promoted"] > 30, "labelled": have["labelled Confidential"] > 15,
		"roles": have["roles"] > 15, "personal data": have["personal data"] > 100, "calculated columns": have["calculated columns"] > 300,
		"reports": have["reports"] > 300, "relationships": have["relationships"] > 900, "described": have["described"] > 150,
	} {
		if !ok {
			t.Errorf("%s: missing; have %v, %d ways of Net sales, %d copies", name, have, len(texts["Net sales"]), copies)
		}
	}
}
