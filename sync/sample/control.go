package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"

	"github.com/pbmb/pbmb/knowledge"
)

// controlPath is where a running tenant is changed and asked about itself. It is
// not part of what Microsoft serves.
const controlPath = "/_sample/"

func (t *Tenant) mountControl(mux *http.ServeMux) {
	mux.HandleFunc("GET "+controlPath+"people", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, t.People())
	})
	mux.HandleFunc("GET "+controlPath+"requests", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, t.asked.with(r.URL.Query().Get("prefix")))
	})
	mux.HandleFunc("DELETE "+controlPath+"faults", func(w http.ResponseWriter, _ *http.Request) {
		t.Mend()
		w.WriteHeader(http.StatusNoContent)
	})
	control(mux, "faults", func(f Fault) error { t.Break(f); return nil })
	control(mux, "keys/rotate", func(struct{}) error { return t.RotateKeys() })
	control(mux, "tokens/revoke", func(in struct{ Person string }) error { return t.RevokeTokens(in.Person) })
	control(mux, "measures/rename", func(in struct{ Dataset, Measure, To string }) error {
		return t.RenameMeasure(in.Dataset, in.Measure, in.To)
	})
	control(mux, "workspaces/change", func(in struct{ Count int }) error { return t.ChangeWorkspaces(in.Count) })
	control(mux, "workspaces/users", func(in struct{ Workspace, Person, Right string }) error {
		return t.SetWorkspaceRight(in.Workspace, in.Person, in.Right)
	})
}

// control mounts a change. Only JSON is taken, which no page of another origin
// can send without being asked.
func control[In any](mux *http.ServeMux, path string, change func(In) error) {
	mux.HandleFunc("POST "+controlPath+path, func(w http.ResponseWriter, r *http.Request) {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
			http.Error(w, "the body must be application/json", http.StatusUnsupportedMediaType)
			return
		}
		var in In
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		dec.DisallowUnknownFields()
		err := dec.Decode(&in)
		if err == nil {
			err = change(in)
		}
		switch {
		case errors.Is(err, knowledge.ErrNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

// RotateKeys makes Entra sign with a new key.
func (t *Tenant) RotateKeys() error { return t.keys.rotate(t.now()) }

// RevokeTokens ends the refresh tokens and sign-in sessions of a person. Access
// tokens last on, as they do at Entra.
func (t *Tenant) RevokeTokens(name string) error {
	t.mu.RLock()
	p := t.personByName(name)
	t.mu.RUnlock()
	if p == nil {
		return fmt.Errorf("person %q: %w", name, knowledge.ErrNotFound)
	}
	t.grants.revoke(p)
	return nil
}

// RenameMeasure renames a measure of a dataset. Expressions that use it keep the
// old name, as if it had been done without a tool that looks after them.
func (t *Tenant) RenameMeasure(datasetName, measure, to string) error {
	return t.changeModel(datasetName, func(m *knowledge.Model) error {
		for i, tbl := range m.Tables {
			for j, me := range tbl.Measures {
				if me.Name == measure {
					m.Tables[i].Measures = slices.Clone(tbl.Measures)
					m.Tables[i].Measures[j].Name = to
					return nil
				}
			}
		}
		return fmt.Errorf("measure %q of %q: %w", measure, datasetName, knowledge.ErrNotFound)
	})
}

// changeModel puts a changed copy in the place of a dataset's model, so that
// queries that run keep the one they have.
func (t *Tenant) changeModel(datasetName string, change func(*knowledge.Model) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.datasetNamed(datasetName)
	if d == nil {
		return fmt.Errorf("dataset %q: %w", datasetName, knowledge.ErrNotFound)
	}
	m := *d.model()
	m.Tables = slices.Clone(m.Tables)
	if err := change(&m); err != nil {
		return err
	}
	d.model = fixed(&m)
	t.touch(d.space)
	return nil
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

// SetWorkspaceRight gives a person a role in a workspace; an empty role takes the
// person's own role away.
func (t *Tenant) SetWorkspaceRight(workspaceName, personName, right string) error {
	if right != "" && rightsOfRole(right) == (rights{}) {
		return fmt.Errorf("%q is none of Admin, Member, Contributor and Viewer", right)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.personByName(personName)
	w := t.workspaceNamed(workspaceName)
	if p == nil || w == nil {
		return fmt.Errorf("person %q or workspace %q: %w", personName, workspaceName, knowledge.ErrNotFound)
	}
	users := slices.DeleteFunc(slices.Clone(w.users), func(a access) bool { return a.to.objectID() == p.id })
	if right != "" {
		users = append(users, access{to: p, right: right})
	}
	w.users = users
	t.touch(w)
	return nil
}
