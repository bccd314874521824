package sample

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/sync/sample/growth"
)

// A grown estate is made up as it is asked for. Of what it has, only that is held
// which changed since the start.
type grown struct {
	plan    growth.Plan
	ids     grownIDs
	started time.Time

	// The tenant's lock guards the rest.
	edited map[int]edit       // by workspace
	kept   map[int]*workspace // those that were changed one by one
	rounds int                // of changes, so that each takes others
}

// An edit is what became of a workspace.
type edit struct {
	times int
	last  time.Time
}

var _ estate = (*grown)(nil)

func newGrown(workspaces int, seed uint64, now time.Time) *grown {
	plan := growth.Plan{Workspaces: workspaces, Seed: seed}
	return &grown{
		plan: plan, ids: grownIDs{seed: seed}, started: now,
		edited: map[int]edit{}, kept: map[int]*workspace{},
	}
}

func (g *grown) workspaces() iter.Seq[*workspace] {
	return func(yield func(*workspace) bool) {
		for i := range g.plan.Workspaces {
			if !yield(g.at(i)) {
				return
			}
		}
	}
}

func (g *grown) apps() iter.Seq[*app] {
	return func(yield func(*app) bool) {
		for i := range g.plan.Workspaces {
			if !g.plan.HasApp(i) {
				continue
			}
			if a := g.at(i).app; a != nil && !yield(a) {
				return
			}
		}
	}
}

func (g *grown) workspace(id string) *workspace {
	i, _, ok := g.ids.read(id, grownWorkspace)
	if !ok || i >= g.plan.Workspaces {
		return nil
	}
	return g.at(i)
}

func (g *grown) dataset(id string) *dataset {
	i, j, ok := g.ids.read(id, grownDataset)
	if !ok || i >= g.plan.Workspaces {
		return nil
	}
	for _, d := range g.at(i).datasets {
		if d.id == g.ids.id(grownDataset, i, j) {
			return d
		}
	}
	return nil
}

func (g *grown) app(id string) *app {
	i, _, ok := g.ids.read(id, grownApp)
	if !ok || i >= g.plan.Workspaces {
		return nil
	}
	return g.at(i).app
}

// keep holds a workspace from now on as it is.
func (g *grown) keep(w *workspace) { g.kept[w.grown-1] = w }

// at gives the workspace with a number.
func (g *grown) at(i int) *workspace {
	if w := g.kept[i]; w != nil {
		return w
	}
	made := g.plan.Workspace(i)
	w := &workspace{
		id: g.ids.id(grownWorkspace, i, 0), name: made.Name, description: made.Description, kind: "Workspace",
		modified: g.started.Add(-time.Duration(made.Age) * time.Minute), grown: i + 1,
	}
	w.users = append(w.users, access{to: g.person(made.Owner), right: "Admin"})
	for n, editor := range made.Editors {
		w.users = append(w.users, access{to: g.person(editor), right: [...]string{"Member", "Contributor"}[n%2]})
	}
	if made.Personal {
		w.kind = "PersonalGroup"
	} else {
		w.users = append(w.users, access{to: g.group(g.plan.Analysts(made.Division)), right: "Viewer"})
	}
	times := 0
	if e, ok := g.edited[i]; ok {
		times, w.modified = e.times, e.last
	}
	for _, d := range g.plan.Datasets(made) {
		g.addDataset(w, made, d, times)
	}
	if made.App {
		g.addApp(w, made)
	}
	return w
}

func (g *grown) addDataset(w *workspace, in growth.Workspace, of growth.Dataset, edits int) {
	analysts := g.group(g.plan.Analysts(in.Division))
	d := &dataset{
		id: g.ids.id(grownDataset, in.Index, of.Index), name: of.Name, description: of.Description, space: w,
		by: g.person(of.By), endorsement: of.Endorsement, label: of.Label,
		model: sync.OnceValue(func() *knowledge.Model { return g.plan.Model(of, edits) }),
		rows: func(m *knowledge.Model) ([]*eval.Rows, error) {
			return g.plan.Rows(of, m, Domain), nil
		},
	}
	if of.Endorsement == "Certified" {
		d.certifiedBy = g.person(in.Owner)
	}
	if of.Shared {
		d.shares = append(d.shares, access{to: g.group(g.plan.Office()), right: "ReadExplore"})
	}
	if !in.Personal {
		d.shares = append(d.shares, access{to: analysts, right: "ReadExplore"})
	}
	if of.Roles {
		d.members = []roleMember{
			{role: growth.OwnRegions, who: analysts}, {role: growth.AllRegions, who: g.group(g.plan.Office())},
		}
	}
	for n, name := range of.Reports {
		w.reports = append(w.reports, &report{id: g.ids.id(grownReport, in.Index, of.Index<<8|n), name: name, dataset: d, by: d.by})
	}
	w.datasets = append(w.datasets, d)
}

func (g *grown) addApp(w *workspace, in growth.Workspace) {
	w.app = &app{
		id: g.ids.id(grownApp, in.Index, 0), name: w.name, description: "For everybody in the division.", by: g.person(in.Owner),
		users: []access{{to: g.group(g.plan.Analysts(in.Division)), right: "ReadExplore"}}, space: w,
	}
	for n, r := range w.reports {
		w.app.reports = append(w.app.reports, &report{
			id: g.ids.id(grownAppReport, in.Index, n), name: r.name, dataset: r.dataset, by: r.by, app: w.app, original: r,
		})
	}
}

// change lets so many workspaces change now: others each time, as long as there
// are any that did not change yet.
func (g *grown) change(count int, now time.Time) error {
	n := g.plan.Workspaces
	if count < 1 || count > n {
		return fmt.Errorf("%d workspaces cannot change: there are %d by which the tenant grew", count, n)
	}
	for range count {
		i := g.rounds % n
		g.rounds++
		i = i * stride(n) % n // not neighbours, which are of one block
		if w := g.kept[i]; w != nil {
			w.modified = now
			continue
		}
		g.edited[i] = edit{times: g.edited[i].times + 1, last: now}
	}
	return nil
}

// stride is a step with which all numbers below n are reached.
func stride(n int) int {
	step := n*5/8 | 1
	for ; gcd(step, n) != 1; step += 2 {
	}
	return step
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (g *grown) person(i int) *person {
	made := g.plan.Person(i)
	p := &person{id: g.ids.id(grownPerson, i, 0), name: made.Name, title: made.Title, upn: made.Key + "@" + Domain, grown: i + 1}
	p.mail = p.upn
	return p
}

// faces are the persons whose reach is known.
func (g *grown) faces() []*person {
	return []*person{g.person(growth.Wide), g.person(growth.Tenth), g.person(growth.None)}
}

func (g *grown) personByID(id string) *person {
	i, _, ok := g.ids.read(id, grownPerson)
	if !ok || i >= g.plan.People() {
		return nil
	}
	return g.person(i)
}

func (g *grown) personByName(name string) *person {
	key, domain, _ := strings.Cut(name, "@")
	if !strings.EqualFold(domain, Domain) {
		return nil
	}
	i, ok := g.plan.PersonByKey(key)
	if !ok {
		return nil
	}
	return g.person(i)
}

// group gives the group with a number. Who is in it is not listed but asked.
func (g *grown) group(i int) *group {
	return &group{id: g.ids.id(grownGroup, i, 0), name: g.plan.Group(i).Name, of: g, grown: i}
}

// has reports whether a person is in the group with a number.
func (g *grown) has(group int, p *person) bool { return p.grown > 0 && g.plan.In(p.grown-1, group) }

func (g *grown) groupsOf(p *person) []*group {
	var list []*group
	if p.grown > 0 {
		for _, i := range g.plan.GroupsOf(p.grown - 1) {
			list = append(list, g.group(i))
		}
	}
	return list
}

// The kinds of things that grown ids are of.
const (
	grownWorkspace = iota + 1
	grownDataset
	grownReport
	grownApp
	grownAppReport
	grownPerson
	grownGroup
)

// grownIDs makes ids from which a thing's numbers can be read again, so that none
// is kept: six bytes are the numbers under a mask that the other ten give, and
// those are a checksum of the numbers. They look as random as others.
type grownIDs struct{ seed uint64 }

// id is the id of a thing by its kind and numbers: one below 2^28, one below 2^16.
func (g grownIDs) id(kind, a, b int) string {
	numbers := uint64(kind)<<44 | uint64(a)<<16 | uint64(b)
	return g.of(numbers).String()
}

func (g grownIDs) of(numbers uint64) uuid.UUID {
	var u uuid.UUID
	sum := growth.Mix(growth.Mix(g.seed^0x7e57) ^ numbers)
	for i := range 8 {
		u[i] = byte(sum >> (8 * i))
	}
	more := growth.Mix(sum)
	u[8], u[9] = byte(more), byte(more>>8)
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // as random ones are marked
	mask := g.mask(u)
	for i := range 6 {
		u[10+i] = byte((numbers ^ mask) >> (8 * i))
	}
	return u
}

func (g grownIDs) mask(u uuid.UUID) uint64 {
	x := g.seed
	for _, b := range u[:10] {
		x = x<<8 ^ uint64(b) ^ x>>55
	}
	return growth.Mix(x)
}

// read gives the numbers of an id, where it is one of ours and of that kind.
func (g grownIDs) read(id string, kind int) (a, b int, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil {
		return 0, 0, false
	}
	numbers := uint64(0)
	for i := range 6 {
		numbers |= uint64(u[10+i]) << (8 * i)
	}
	numbers ^= g.mask(u) & (1<<48 - 1)
	if int(numbers>>44) != kind || g.of(numbers) != u {
		return 0, 0, false
	}
	return int(numbers >> 16 & (1<<28 - 1)), int(numbers & (1<<16 - 1)), true
}
