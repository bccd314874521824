package dax

import (
	"sort"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
)

// didYouMean names the known names that are closest to one that is not known.
func didYouMean(name string, known func(yield func(string))) string {
	folded := []rune(knowledge.Fold(name))
	if len(folded) > 100 {
		return ""
	}
	type candidate struct {
		name     string
		distance int
	}
	limit := 1 + len(folded)/4
	var near []candidate
	known(func(s string) {
		f := []rune(knowledge.Fold(s))
		if d := len(f) - len(folded); d > limit || -d > limit {
			return
		}
		if d := distance(folded, f, limit); d <= limit {
			near = append(near, candidate{s, d})
		}
	})
	sort.SliceStable(near, func(i, j int) bool {
		return near[i].distance < near[j].distance || near[i].distance == near[j].distance && near[i].name < near[j].name
	})
	if len(near) == 0 {
		return ""
	}
	names := make([]string, 0, 3)
	for _, c := range near {
		if len(names) < 3 && (len(names) == 0 || names[len(names)-1] != c.name) {
			names = append(names, c.name)
		}
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// distance is the number of letters to change, add or remove, up to a limit.
func distance(a, b []rune, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		previous := row[0]
		row[0] = i + 1
		best := row[0]
		for j := range b {
			cost := previous
			if a[i] != b[j] {
				cost = 1 + min(previous, row[j], row[j+1])
			}
			previous, row[j+1] = row[j+1], cost
			best = min(best, cost)
		}
		if best > limit {
			return best
		}
	}
	return row[len(b)]
}

// maxNearest is for how many unknown names of one text the nearest are looked up.
const maxNearest = 5

func (r *resolver) nearestTable(name string) string {
	if len(r.probs.list) >= maxNearest {
		return ""
	}
	return didYouMean(name, func(yield func(string)) {
		for _, t := range r.ix.tables {
			yield(t.name)
		}
		for _, d := range r.tables {
			yield(d.Name)
		}
		for _, list := range r.locals {
			if len(list) > 0 {
				yield(list[len(list)-1].name)
			}
		}
	})
}

func (r *resolver) nearestFunction(name string) string {
	if len(r.probs.list) >= maxNearest {
		return ""
	}
	return didYouMean(name, func(yield func(string)) {
		for _, f := range functionTable {
			yield(f.Name)
		}
	})
}

// unknownRef reports a column or measure that is not known. It names only what is
// near in the table that the text gives, or the measures where it gives none.
func (r *resolver) unknownRef(x *Ref, table string) {
	t := r.ix.tables[table]
	if x.HasTable && t == nil {
		r.unknown(x, "the table "+shorten(x.Table)+" is not known", r.nearestTable(x.Table))
		return
	}
	remedy := ""
	if len(r.probs.list) < maxNearest {
		remedy = didYouMean(x.Name, func(yield func(string)) {
			if t != nil {
				for _, id := range t.columns {
					yield(r.ix.sources[id].Name)
				}
			}
			for _, id := range r.ix.measures {
				yield(r.ix.sources[id].Name)
			}
			for _, d := range r.measures {
				yield(d.Name)
			}
		})
	}
	if t != nil {
		r.unknown(x, "the table "+shorten(t.name)+" has no column, and the model no measure, named "+shorten(x.Name), remedy)
	} else {
		r.unknown(x, "no measure, and no column of the rows here, is named "+shorten(x.Name), remedy)
	}
}
