package sample

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What changes of workspaces and datasets take.
type (
	renamedWorkspace struct {
		inWorkspace
		inTo
	}
	renamedDataset struct {
		inDataset
		inTo
	}
	changedWorkspaces struct {
		Count int `json:"count" doc:"how many workspaces"`
	}
	workspaceRight struct {
		inWorkspace
		Person string `json:"person" doc:"sign-in name or email, or the name of a group"`
		Right  string `json:"right" doc:"Admin, Member, Contributor or Viewer; empty takes it away"`
	}
	datasetRight struct {
		inDataset
		Person string `json:"person" doc:"sign-in name or email, or the name of a group"`
		Right  string `json:"right" doc:"Read, ReadReshare, ReadExplore or ReadReshareExplore; empty takes it away"`
	}
	endorsed struct {
		inDataset
		Endorsement string `json:"endorsement" doc:"Promoted or Certified; empty takes it away"`
		By          string `json:"by" doc:"who certifies: a sign-in name"`
	}
	labelled struct {
		inDataset
		Label string `json:"label" doc:"sensitivity label, such as Confidential; empty takes it away"`
	}
	described struct {
		inDataset
		Description string `json:"description" doc:"what the dataset says of itself; may be empty"`
	}
	refreshedNow struct {
		inDataset
		Error string `json:"error" doc:"why the refresh failed, such as ModelRefreshFailed_CredentialsNotSpecified; empty means that it succeeded"`
	}
	withHole struct {
		inDataset
		Hole string `json:"hole" doc:"error, never_refreshed or stale; empty makes it whole again"`
	}
)

// workspaceChanges are those of workspaces.
func workspaceChanges() []Change {
	return []Change{
		declare("workspaces/rename", "workspace rename <workspace> <to>", "renames a workspace",
			func(t *Tenant, in renamedWorkspace) error {
				return t.onWorkspace(in.Workspace, func(w *workspace) error {
					if other, err := t.findWorkspace(in.To); err == nil && other.id != w.id {
						return fmt.Errorf("there is a workspace %q already", in.To)
					}
					return set(&w.name, "to", in.To)
				})
			}),
		declare("workspaces/remove", "workspace remove <workspace>", "removes a workspace with all that is in it",
			func(t *Tenant, in inWorkspace) error {
				return t.onWorkspace(in.Workspace, func(w *workspace) error {
					if !slices.Contains(t.held.spaces, w) {
						return fmt.Errorf("%q is made up, and such a workspace cannot be removed", w.name)
					}
					t.held.spaces = slices.DeleteFunc(slices.Clone(t.held.spaces), func(other *workspace) bool { return other == w })
					for _, d := range w.datasets {
						t.dropReports(d)
					}
					return nil
				})
			}),
		declare("workspaces/change", "workspace change <count>", "changes something in so many of the workspaces by which the tenant grew",
			func(t *Tenant, in changedWorkspaces) error { return t.ChangeWorkspaces(in.Count) }),
		declare("workspaces/users", "workspace user <workspace> <person> <right>", "gives a person or a group a role in a workspace",
			func(t *Tenant, in workspaceRight) error {
				return t.SetWorkspaceRight(in.Workspace, in.Person, in.Right)
			}),
	}
}

// datasetChanges are those of datasets, but for their models.
func datasetChanges() []Change {
	return []Change{
		declare("datasets/rename", "dataset rename <dataset> <to>", "renames a dataset",
			func(t *Tenant, in renamedDataset) error {
				return t.onDataset(in.Dataset, func(d *dataset) error { return set(&d.name, "to", in.To) })
			}),
		declare("datasets/remove", "dataset remove <dataset>", "removes a dataset and the reports on it",
			func(t *Tenant, in inDataset) error {
				return t.onDataset(in.Dataset, func(d *dataset) error {
					d.space.datasets = slices.DeleteFunc(slices.Clone(d.space.datasets), func(other *dataset) bool { return other.id == d.id })
					t.dropReports(d)
					return nil
				})
			}),
		declare("datasets/describe", "dataset describe <dataset> <description>", "changes the description of a dataset",
			func(t *Tenant, in described) error {
				return t.onDataset(in.Dataset, func(d *dataset) error { d.description = in.Description; return nil })
			}),
		declare("datasets/share", "dataset share <dataset> <person> <right>", "shares a dataset with a person or a group",
			func(t *Tenant, in datasetRight) error {
				if in.Right != "" && !slices.Contains([]string{"Read", "ReadReshare", "ReadExplore", "ReadReshareExplore"}, in.Right) {
					return fmt.Errorf("%q is none of Read, ReadReshare, ReadExplore and ReadReshareExplore", in.Right)
				}
				return t.onDataset(in.Dataset, func(d *dataset) error {
					to, err := t.principalNamed(in.Person)
					if err == nil {
						d.shares = t.setAccess(d.shares, to, in.Right)
					}
					return err
				})
			}),
		declare("datasets/endorse", "dataset endorse <dataset> <endorsement>", "endorses a dataset",
			func(t *Tenant, in endorsed) error {
				if !slices.Contains([]string{"", "Promoted", "Certified"}, in.Endorsement) {
					return fmt.Errorf("%q is neither Promoted nor Certified", in.Endorsement)
				}
				return t.onDataset(in.Dataset, func(d *dataset) error {
					d.certifiedBy = nil
					if in.By != "" {
						if d.certifiedBy = t.personByName(in.By); d.certifiedBy == nil {
							return missing("person", in.By)
						}
					}
					d.endorsement = in.Endorsement
					return nil
				})
			}),
		declare("datasets/label", "dataset label <dataset> <label>", "puts a sensitivity label on a dataset",
			func(t *Tenant, in labelled) error {
				return t.onDataset(in.Dataset, func(d *dataset) error { d.label = in.Label; return nil })
			}),
		declare("datasets/refresh", "dataset refresh <dataset>", "ends a refresh of a dataset now, well or not",
			func(t *Tenant, in refreshedNow) error {
				return t.onDataset(in.Dataset, func(d *dataset) error {
					d.refreshes = append(slices.Clip(d.refreshes), refreshRun{kind: "OnDemand", started: t.now().Add(-refreshTime), failure: in.Error})
					return nil
				})
			}),
		declare("datasets/hole", "dataset hole <dataset> <hole>", "makes scans fail to tell what is in a dataset, each in a way that real ones have",
			func(t *Tenant, in withHole) error {
				if !slices.Contains([]hole{whole, holeError, holeNeverRefreshed, holeStale}, hole(in.Hole)) {
					return fmt.Errorf("%q is none of error, never_refreshed and stale", in.Hole)
				}
				return t.onDataset(in.Dataset, func(d *dataset) error { d.hole = hole(in.Hole); return nil })
			}),
	}
}

// A hole is something that a scan does not tell of a dataset.
type hole string

const (
	whole              hole = ""
	holeError          hole = "error"           // no tables, and a sentence why
	holeNeverRefreshed hole = "never_refreshed" // no tables, without a word
	holeStale          hole = "stale"           // tables that may be out of date
)

// refreshTime is how long a refresh runs.
const refreshTime = 20 * time.Second

// A refreshRun is a refresh beside those of every night.
type refreshRun struct {
	kind    string // as Power BI names how it was begun
	started time.Time
	failure string // why it failed; empty where it did not
}

// onWorkspace changes a workspace by its name or id.
func (t *Tenant) onWorkspace(name string, do func(*workspace) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, err := t.findWorkspace(name)
	if err == nil {
		err = do(w)
	}
	if err == nil {
		t.touch(w)
	}
	return err
}

// onDataset changes a dataset by its name or id, and with it the workspace.
func (t *Tenant) onDataset(name string, do func(*dataset) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.theDataset(name)
	if err == nil {
		err = do(d)
	}
	if err == nil {
		t.touch(d.space)
	}
	return err
}

func (t *Tenant) findWorkspace(name string) (*workspace, error) {
	if w := cmp.Or(t.workspaceByID(name), t.workspaceNamed(name)); w != nil {
		return w, nil
	}
	return nil, missing("workspace", name)
}

func (t *Tenant) theDataset(name string) (*dataset, error) {
	if d := t.datasetByID(name); d != nil {
		return d, nil
	}
	var found *dataset
	for w := range t.workspaces() {
		for _, d := range w.datasets {
			if !strings.EqualFold(d.name, name) {
				continue
			}
			if found != nil {
				return nil, fmt.Errorf("several datasets are named %q: give the id, such as %s in %s", name, d.id, w.name)
			}
			found = d
		}
	}
	if found == nil {
		return nil, missing("dataset", name)
	}
	return found, nil
}

// principalNamed finds a person by sign-in name or email, or a group by name or id.
func (t *Tenant) principalNamed(name string) (principal, error) {
	if p := t.personByName(name); p != nil {
		return p, nil
	}
	if g, err := t.groupNamed(name); err == nil {
		return g, nil
	}
	return nil, missing("person or group", name)
}

func (t *Tenant) groupNamed(name string) (*group, error) {
	for _, g := range t.groups {
		if strings.EqualFold(g.name, name) || strings.EqualFold(g.id, name) {
			return g, nil
		}
	}
	return nil, missing("group", name)
}

// dropReports takes away the reports on a dataset, wherever they are.
func (t *Tenant) dropReports(d *dataset) {
	on := func(r *report) bool { return r.dataset.id == d.id }
	for w := range t.held.workspaces() {
		if !slices.ContainsFunc(w.reports, on) {
			continue
		}
		w.reports = slices.DeleteFunc(slices.Clone(w.reports), on)
		t.touch(w)
		if w.app != nil {
			w.app.reports = slices.DeleteFunc(slices.Clone(w.app.reports), on)
		}
	}
}

// SetWorkspaceRight gives a person or a group a role in a workspace; an empty role
// takes their own role away.
func (t *Tenant) SetWorkspaceRight(workspaceName, name, right string) error {
	if right != "" && rightsOfRole(right) == (rights{}) {
		return fmt.Errorf("%q is none of Admin, Member, Contributor and Viewer", right)
	}
	return t.onWorkspace(workspaceName, func(w *workspace) error {
		to, err := t.principalNamed(name)
		if err == nil {
			w.users = t.setAccess(w.users, to, right)
		}
		return err
	})
}

// ChangeWorkspaces changes something in so many of the workspaces by which the
// tenant grew, others each time as long as there are any, so that the next
// incremental scan of whoever reads the tenant finds as many.
func (t *Tenant) ChangeWorkspaces(count int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.grown == nil {
		return errors.New("the tenant did not grow: it was started without workspaces to grow by")
	}
	return t.grown.change(count, t.now())
}
