package growth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// MaxWorkspaces is how many a plan may have.
const MaxWorkspaces = 1_000_000

// A Plan says how many workspaces there are, and from which seed everything is
// made. Two equal plans give the same.
type Plan struct {
	Workspaces int
	Seed       uint64
}

// Twelve workspaces in a row make a block with 25 datasets, 500 measures and
// 2,000 columns, whichever way they are shared out, so that the sums of a whole
// tenant are known beforehand.
const (
	blockSpaces   = 12
	blockDatasets = 25
	blockMeasures = 500
	blockColumns  = 2000
)

// How many datasets the workspaces of a block have, and how many measures and
// columns its datasets have, before each block shuffles them.
var (
	datasetsOf = [blockSpaces]int{0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 4, 7}
	measuresOf = [blockDatasets]int{0, 0, 2, 3, 4, 5, 6, 8, 8, 10, 10, 12, 12, 14, 15, 16, 18, 20, 22, 25, 28, 34, 42, 66, 120}
	columnsOf  = [blockDatasets]int{3, 4, 8, 12, 16, 20, 24, 30, 32, 38, 42, 46, 50, 54, 58, 64, 70, 78, 86, 96, 110, 130, 170, 259, 500}
)

// personalSlot and appSlot are the entries of datasetsOf for a personal workspace,
// one in each block, and for a workspace with an app, one in five blocks.
const (
	personalSlot = 1
	appSlot      = 11
	appBlocks    = 5
)

// unshared are how many datasets of a block the insight office does not reach.
const unshared = blockDatasets / 5

// A Size counts what a plan makes.
type Size struct {
	Workspaces, Datasets, Measures, Columns, People int
}

// Size counts what the plan makes, by its layout alone.
func (p Plan) Size() Size {
	whole := p.Workspaces / blockSpaces
	s := Size{
		Workspaces: p.Workspaces, Datasets: whole * blockDatasets,
		Measures: whole * blockMeasures, Columns: whole * blockColumns, People: p.People(),
	}
	for w := whole * blockSpaces; w < p.Workspaces; w++ {
		at := p.place(w)
		for j := range at.datasets {
			measures, columns := p.sizeOf(at, j)
			s.Datasets, s.Measures, s.Columns = s.Datasets+1, s.Measures+measures, s.Columns+columns
		}
	}
	return s
}

// A place is where a workspace stands in the layout.
type place struct {
	index, block int
	slot         int // its entry of datasetsOf
	first        int // how many datasets its block has before it
	datasets     int
}

func (p Plan) place(w int) place {
	at := place{index: w, block: w / blockSpaces}
	order := p.rand("block", at.block, 0).Perm(blockSpaces)
	for _, slot := range order[:w%blockSpaces] {
		at.first += datasetsOf[slot]
	}
	at.slot = order[w%blockSpaces]
	at.datasets = datasetsOf[at.slot]
	return at
}

// sizeOf is how many measures and columns the j-th dataset of a workspace has.
func (p Plan) sizeOf(at place, j int) (measures, columns int) {
	size := p.rand("sizes", at.block, 0).Perm(blockDatasets)[at.first+j]
	return measuresOf[size], columnsOf[size]
}

// rand is the source of everything that is made up about a thing.
func (p Plan) rand(kind string, a, b int) *rand.Rand {
	h := Mix(p.Seed)
	for _, c := range []byte(kind) {
		h = Mix(h ^ uint64(c))
	}
	h = Mix(h ^ uint64(a))
	return rand.New(rand.NewPCG(h, Mix(h^uint64(b))))
}

// Mix spreads the bits of a number over the whole of another one (splitmix64), so
// that no two numbers give the same.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func pick[V any](r *rand.Rand, list []V) V { return list[r.IntN(len(list))] }

// A Workspace as the plan makes it up.
type Workspace struct {
	Index       int
	Name        string // of no other workspace
	Description string
	Division    int  // which division's it is, below Divisions; neighbours are of one
	Personal    bool // Owner's own
	Datasets    int  // how many it has
	App         bool // there is one
	Owner       int  // a person, as are the others
	Editors     []int
	Age         int // minutes before the start of the tenant at which it last changed
}

// HasApp reports whether a workspace has an app, without making it.
func (p Plan) HasApp(i int) bool {
	block := i / blockSpaces
	return block%appBlocks == 0 && p.place(i).slot == appSlot
}

// Workspace makes the workspace with a number, from 0 up.
func (p Plan) Workspace(i int) Workspace {
	at, r := p.place(i), p.rand("workspace", i, 0)
	w := Workspace{
		Index: i, Division: at.block % Divisions, Personal: at.slot == personalSlot, Datasets: at.datasets,
		App: p.HasApp(i),
		// The first persons have no roles, so that what they reach is known.
		Owner: p.someone(r, at.block%Divisions), Age: 120 + r.IntN(60*24*40),
	}
	for range r.IntN(4) {
		w.Editors = append(w.Editors, p.someone(r, at.block%Divisions))
	}
	if w.Personal {
		w.Name = fmt.Sprintf("PersonalWorkspace %s", p.Person(w.Owner).Name) + repeat(i+1)
		w.Editors = nil
		return w
	}
	n := at.block/Divisions*blockSpaces + i%blockSpaces // its number in the division
	region, topic := n%len(regions), n/len(regions)%len(topics)
	w.Name = divisions[w.Division].name + " " + regions[region] + " " + topics[topic] + repeat(n/len(regions)/len(topics)+1)
	if r.IntN(3) > 0 {
		w.Description = "What " + divisions[w.Division].name + " in " + regions[region] + " keeps about " + strings.ToLower(topics[topic]) + "."
	}
	return w
}

// repeat tells the second and later things of a name from the first.
func repeat(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" %d", n)
}
