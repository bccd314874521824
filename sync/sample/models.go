package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
	"github.com/pbmb/pbmb/knowledge/tmdl"
)

// AddedModels is the name of the workspace that has the models of [Config].
const AddedModels = "Added models"

// addModels makes a dataset of each model that was given. Whoever reads Sales may
// write them: a model's own roles have members that nobody here is, so they would
// let nobody in.
func (t *Tenant) addModels(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	admin := t.personByName("admin@sample.example")
	var readers principal
	for _, g := range t.groups {
		if g.name == "Sales readers" {
			readers = g
		}
	}
	if admin == nil || readers == nil {
		return errors.New("the sample company lacks admin or the group Sales readers")
	}
	w := &workspace{
		id: id("workspace", AddedModels), name: AddedModels, description: "Models that were added at the start.",
		kind: "Workspace", modified: t.now().Add(-2 * time.Hour),
		users: []access{{to: admin, right: "Admin"}, {to: readers, right: "Contributor"}},
	}
	for _, p := range paths {
		src, err := tmdl.Load(p)
		if err != nil {
			return fmt.Errorf("--model: %w", err)
		}
		name := src.Model.Name
		for n := 2; slices.ContainsFunc(w.datasets, func(d *dataset) bool { return d.name == name }); n++ {
			name = fmt.Sprintf("%s (%d)", src.Model.Name, n)
		}
		d := &dataset{
			id: id("dataset", AddedModels+"/"+name), name: name, by: admin, space: w, model: fixed(src.Model),
			description: "Added from " + filepath.Base(p) + ".", rows: t.addedRows(name, src),
		}
		w.datasets = append(w.datasets, d)
		t.tellUnsupported(d)
	}
	t.held.spaces = append(t.held.spaces, w)
	return nil
}

// tellUnsupported notes what of an added model cannot be evaluated. A model of
// which nothing can still has its tables and measures to be found and read.
func (t *Tenant) tellUnsupported(d *dataset) {
	engine, err := d.engine.get(d.model(), d.source(), t.now)
	if err != nil {
		t.note(d.name, err.Error())
		return
	}
	for _, sentence := range engine.Unsupported() {
		t.note(d.name, sentence)
	}
}

func (t *Tenant) note(model, sentence string) {
	t.noting.Lock()
	defer t.noting.Unlock()
	if sentence = model + ": " + sentence; !slices.Contains(t.notes, sentence) {
		t.notes = append(t.notes, sentence)
	}
}

// addedRows reads the CSV files beside a model. What does not fit a table is
// noted, and the table stays empty.
func (t *Tenant) addedRows(name string, src tmdl.Source) rowSource {
	dirs := rowFolders(src.Dir)
	return func(m *knowledge.Model) ([]*eval.Rows, error) {
		var list []*eval.Rows
		for _, tbl := range m.Tables {
			if tbl.Expression != "" || len(tbl.Items) > 0 {
				continue
			}
			rows, err := firstRows(dirs, tbl)
			switch {
			case err == nil:
				list = append(list, rows)
			case !errors.Is(err, fs.ErrNotExist):
				t.note(name, err.Error())
			}
		}
		return list, nil
	}
}

// rowFolders are the folders in which the rows of a model may lie: its own, data
// in it, and data beside it or beside one of the two folders that hold it.
func rowFolders(dir string) []string {
	list := []string{dir, filepath.Join(dir, "data")}
	for range 3 {
		dir = filepath.Dir(dir)
		list = append(list, filepath.Join(dir, "data"))
	}
	return list
}

func firstRows(dirs []string, tbl knowledge.Table) (*eval.Rows, error) {
	if filepath.Base(tbl.Name) != tbl.Name {
		return nil, fs.ErrNotExist // such a name is no file's
	}
	for _, dir := range dirs {
		rows, err := readRows(os.DirFS(dir), tbl.Name+".csv", tbl)
		if !errors.Is(err, fs.ErrNotExist) {
			return rows, err
		}
	}
	return nil, fs.ErrNotExist
}
