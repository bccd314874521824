package growth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Dataset as the plan makes it up, without its model.
type Dataset struct {
	Workspace, Index int
	Name             string // of no other dataset of the workspace
	Description      string
	Endorsement      string // Promoted, Certified or empty
	Label            string // a sensitivity label, or empty
	By               int    // a person
	Reports          []string
	Shared           bool // the insight office reaches it
	Roles            bool // it has row-level security

	place place
	theme int
}

// Datasets makes the datasets of a workspace.
func (p Plan) Datasets(w Workspace) []Dataset {
	at := p.place(w.Index)
	shared := p.rand("shared", at.block, 0)
	// The personal dataset is one of those that the office does not reach.
	hidden := map[int]bool{}
	for _, k := range append([]int{p.personal(at.block)}, shared.Perm(blockDatasets)...) {
		if len(hidden) < unshared {
			hidden[k] = true
		}
	}
	list := make([]Dataset, 0, w.Datasets)
	taken := map[string]int{}
	for j := range w.Datasets {
		r := p.rand("dataset", w.Index, j)
		d := Dataset{Workspace: w.Index, Index: j, By: w.Owner, Shared: !hidden[at.first+j], place: at, theme: divisions[w.Division].theme}
		if r.IntN(10) < 3 {
			d.theme = r.IntN(len(themes))
		}
		if len(w.Editors) > 0 && r.IntN(2) == 0 {
			d.By = pick(r, w.Editors)
		}
		d.Name = pick(r, themes[d.theme].subjects)
		if w.Personal {
			d.Name = "Copy of " + d.Name
		}
		taken[d.Name]++
		d.Name += repeat(taken[d.Name])
		p.dress(r, w, &d)
		list = append(list, d)
	}
	return list
}

// personal is the number in its block of the dataset of the personal workspace.
func (p Plan) personal(block int) int {
	n := 0
	for _, slot := range p.rand("block", block, 0).Perm(blockSpaces) {
		if slot == personalSlot {
			break
		}
		n += datasetsOf[slot]
	}
	return n
}

// dress makes up what stands beside a dataset.
func (p Plan) dress(r *rand.Rand, w Workspace, d *Dataset) {
	if r.IntN(3) > 0 {
		d.Description = fmt.Sprintf("%s for %s.", d.Name, w.Name)
	}
	switch r.IntN(10) {
	case 0:
		d.Endorsement = "Certified"
	case 1, 2:
		d.Endorsement = "Promoted"
	}
	d.Label = pick(r, labels)
	_, columns := p.sizeOf(d.place, d.Index)
	d.Roles = columns >= rolesFrom && r.IntN(6) == 0
	for n := range r.IntN(4) {
		d.Reports = append(d.Reports, strings.TrimSpace(d.Name+" "+[...]string{"", "by month", "details"}[n]))
	}
}
