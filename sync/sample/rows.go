package sample

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// A rowSource reads or makes the rows of a dataset's tables.
type rowSource func(m *knowledge.Model) ([]*eval.Rows, error)

// A lazyEngine is made when it is first asked for, and again after the model
// changed.
type lazyEngine struct {
	mu     sync.Mutex // guards the rest
	engine *eval.Engine
	of     *knowledge.Model
	kept   struct { // what the dataset's rows are taken from; see [dataset.source]
		rows    []*eval.Rows
		version int
	}
}

// get returns the engine of a model. The model must not change; a changed one is
// another value.
func (l *lazyEngine) get(m *knowledge.Model, rows rowSource, now func() time.Time) (*eval.Engine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine != nil && l.of == m {
		return l.engine, nil
	}
	list, err := rows(m)
	if err != nil {
		return nil, err
	}
	e, err := eval.New(m, list, now)
	if err != nil {
		return nil, err
	}
	l.engine, l.of = e, m
	return e, nil
}

// companyRows are the rows of a dataset of the company: the CSV files of its
// data folder, the days of its calendar, and the large tables, which are
// generated.
func companyRows(fsys fs.FS, dir, name string) rowSource {
	return func(m *knowledge.Model) ([]*eval.Rows, error) {
		var list []*eval.Rows
		for _, tbl := range m.Tables {
			if tbl.Expression != "" || len(tbl.Items) > 0 {
				continue
			}
			rows, err := readRows(fsys, path.Join(dir, "data", tbl.Name+".csv"), tbl)
			if errors.Is(err, fs.ErrNotExist) {
				rows, err = generate(name, tbl)
			}
			if err != nil {
				return nil, fmt.Errorf("rows of %s: %w", tbl.Name, err)
			}
			list = append(list, rows)
		}
		return list, nil
	}
}

func readRows(fsys fs.FS, name string, tbl knowledge.Table) (*eval.Rows, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return eval.ReadCSV(tbl, f)
}
