package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

const (
	book, drawer = "a0000000-0000-4000-8000-000000000000", "a0000000-0000-4000-8000-000000000001"
	open, shut   = "d0000000-0000-4000-8000-000000000000", "d0000000-0000-4000-8000-000000000001"
)

// library has two datasets alike, of which who sees book sees one.
func library(t *testing.T) (*postgrestest.Database, *store.Store, func(roles ...string) *visibility.View) {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	for dataset, workspace := range map[string]string{open: book, shut: drawer} {
		db.Exec(`insert into powerbi_workspace (id, name, folded) values ($1, $1::uuid::text, $1::uuid::text)`, workspace)
		db.Exec(`insert into powerbi_dataset (id, workspace_id, name, folded, description) values ($1, $2, 'Sales', 'sales', 'theirs')`, dataset, workspace)
		db.Exec(`insert into powerbi_table (dataset_id, name, folded, description) values ($1, 'Customer', 'customer', 'theirs')`, dataset)
		db.Exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, 'Empty', 'empty')`, dataset)
		db.Exec(`insert into powerbi_column (dataset_id, table_id, name, folded, description) select dataset_id, id, n, lower(n), 'theirs'
			from powerbi_table, unnest(array['City', 'Email']) n where dataset_id = $1 and name = 'Customer'`, dataset)
		db.Exec(`insert into powerbi_measure (dataset_id, table_id, name, folded, description) select dataset_id, id, 'Customers', 'customers', 'theirs'
			from powerbi_table where dataset_id = $1 and name = 'Customer'`, dataset)
	}
	db.Exec(`insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii) values ('column', 'Customer', 'Email', 'customer', 'email', true)`)
	views := visibility.New(&cerbostest.Fake{}, slog.New(slog.DiscardHandler))
	return db, store.New(db.API()), func(roles ...string) *visibility.View {
		t.Helper()
		v, err := views.For(t.Context(), &policies.Principal{
			Kind: policies.Person, ID: "e0000000-0000-4000-8000-000000000000", Email: "cleo@sample.example", Via: policies.ViaBrowser,
			Roles: roles, WorkspaceIDs: []string{book},
		})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var elements = map[string]knowledge.ElementRef{
	"":                    {Kind: knowledge.TheDataset, DatasetID: open},
	"Customer":            {Kind: knowledge.ATable, DatasetID: open, Table: "CUSTOMER"},
	"Customer[City]":      {Kind: knowledge.AColumn, DatasetID: open, Table: "customer", Name: "city"},
	"Customer[Customers]": {Kind: knowledge.AMeasure, DatasetID: open, Name: "customers"},
}

// BOOK-04, BOOK-15: each kind of element is described on the version that was read,
// beside what Power BI says, and the audit says by whom; the other dataset's element
// of the same name keeps out of it.
func TestOwnDescriptions(t *testing.T) {
	db, s, view := library(t)
	v := view("curator")
	for name, ref := range elements {
		got, own, err := s.WriteOwn(t.Context(), v, ref, knowledge.OwnText{Description: "ours of " + name, Custom: map[string]string{"department": "retail", "tier": "1"}})
		if err != nil || got.String() != name || own.Version != 1 || own.Custom["department"] != "retail" {
			t.Errorf("%q: %v %+v %v", name, got, own, err)
		}
		_, own, err = s.WriteOwn(t.Context(), v, ref, knowledge.OwnText{Description: "ours of " + name, Custom: map[string]string{"tier": ""}, Version: 1})
		if err != nil || own.Version != 2 || len(own.Custom) != 1 {
			t.Errorf("%q again: %+v %v", name, own, err)
		}
		for _, late := range []int64{0, 1, 3} {
			var e *knowledge.VersionError
			if _, _, err := s.WriteOwn(t.Context(), v, ref, knowledge.OwnText{Description: "late", Version: late}); !errors.As(err, &e) || e.Current != 2 || !errors.Is(err, knowledge.ErrConflict) {
				t.Errorf("%q on version %d: %v", name, late, err)
			}
		}
	}
	columns, _, _, err := s.ListColumns(t.Context(), v, knowledge.ElementFilter{DatasetID: open}, knowledge.Range{Limit: 9})
	if err != nil || len(columns) != 1 || columns[0].Description != "theirs" || columns[0].OwnDescription != "ours of Customer[City]" || columns[0].OwnVersion != 2 {
		t.Errorf("columns %+v %v", columns, err)
	}
	measures, _, _, err := s.ListMeasures(t.Context(), v, knowledge.ElementFilter{DatasetID: open}, knowledge.Range{Limit: 9})
	if err != nil || len(measures) != 1 || measures[0].Description != "theirs" || measures[0].OwnDescription != "ours of Customer[Customers]" || measures[0].OwnVersion != 2 {
		t.Errorf("measures %+v %v", measures, err)
	}
	tables, err := s.ListTables(t.Context(), v, open)
	if err != nil || len(tables) != 1 || tables[0].Description != "theirs" || tables[0].OwnDescription != "ours of Customer" || tables[0].OwnVersion != 2 {
		t.Errorf("tables %+v %v", tables, err)
	}
	found, total, err := s.ListDatasets(t.Context(), v, knowledge.DatasetFilter{Words: "ours of"}, knowledge.Range{Limit: 9})
	if err != nil || total != 1 || found[0].Description != "theirs" || found[0].OwnDescription != "ours of " || found[0].Custom["department"] != "retail" {
		t.Errorf("datasets %+v %v", found, err)
	}
	counts, err := s.CountDataset(t.Context(), v, open)
	if err != nil || counts.OwnVersion != 2 {
		t.Errorf("the dataset's version: %+v %v", counts, err)
	}
	hits, err := s.Search(t.Context(), v, "ours", nil, "", 9)
	if err != nil || len(hits) != 4 || hits[0].Description != "theirs" || !strings.HasPrefix(hits[0].OwnDescription, "ours of") {
		t.Errorf("found %+v %v", hits, err)
	}
	var others, audited int
	db.QueryRow(`select (select count(*) from powerbi_dataset where id = $1 and own_description <> '') + (select count(*) from powerbi_column where dataset_id = $1 and own_description <> '')`, []any{shut}, &others)
	db.QueryRow(`select count(*) from audit_event where action = 'write_description' and outcome = 'allow' and principal_name = 'cleo@sample.example' and detail ? 'version'
		and detail::text not like '%ours of%' and detail::text not like '%retail%'`, nil, &audited)
	if others != 0 || audited != 2*len(elements) {
		t.Errorf("%d elements of the other dataset are described, %d writes are audited", others, audited)
	}
}

// BOOK-04: what the writer does not see is missing to them, and nothing is written.
func TestHiddenElementsAreNotDescribed(t *testing.T) {
	db, s, view := library(t)
	db.Exec(`insert into powerbi_table (dataset_id, name, folded) values ($1, 'Secret', 'secret')`, open)
	db.Exec(`insert into powerbi_column (dataset_id, table_id, name, folded) select dataset_id, id, 'Pay', 'pay' from powerbi_table where name = 'Secret'`)
	db.Exec(`insert into pii_rule (kind, table_name, table_folded, name_folded, pii) values ('table', 'Secret', 'secret', '', true)`)
	for name, ref := range map[string]knowledge.ElementRef{
		"a dataset elsewhere":          {Kind: knowledge.TheDataset, DatasetID: shut},
		"a table elsewhere":            {Kind: knowledge.ATable, DatasetID: shut, Table: "Customer"},
		"a column elsewhere":           {Kind: knowledge.AColumn, DatasetID: shut, Table: "Customer", Name: "City"},
		"a measure elsewhere":          {Kind: knowledge.AMeasure, DatasetID: shut, Name: "Customers"},
		"no table":                     {Kind: knowledge.ATable, DatasetID: open, Table: "Costumer"},
		"a table with nothing":         {Kind: knowledge.ATable, DatasetID: open, Table: "Empty"},
		"a table of personal data":     {Kind: knowledge.ATable, DatasetID: open, Table: "Secret"},
		"personal data":                {Kind: knowledge.AColumn, DatasetID: open, Table: "Customer", Name: "Email"},
		"a column of another table":    {Kind: knowledge.AColumn, DatasetID: open, Table: "Empty", Name: "City"},
		"a measure as a column":        {Kind: knowledge.AColumn, DatasetID: open, Table: "Customer", Name: "Customers"},
		"a measure of another's table": {Kind: knowledge.AMeasure, DatasetID: open, Table: "Empty", Name: "Customers"},
	} {
		if _, _, err := s.WriteOwn(t.Context(), view("curator"), ref, knowledge.OwnText{Description: "x"}); !errors.Is(err, knowledge.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := s.WriteOwn(t.Context(), view("curator", "pii_reader"), knowledge.ElementRef{Kind: knowledge.AColumn, DatasetID: open, Table: "Customer", Name: "Email"}, knowledge.OwnText{Description: "x"}); err != nil {
		t.Errorf("a reader of personal data: %v", err)
	}
	var written int
	if db.QueryRow(`select count(*) from own_text`, nil, &written); written != 1 {
		t.Errorf("%d elements have a text", written)
	}
}

// BOOK-15: of two who write on one version at the same time one gets through.
func TestTwoWhoDescribeAtOnce(t *testing.T) {
	_, s, view := library(t)
	v := view("curator")
	for _, ref := range elements {
		for version := range int64(3) {
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				all.Go(func() {
					_, _, errs[i] = s.WriteOwn(t.Context(), v, ref, knowledge.OwnText{Description: fmt.Sprint("by ", i), Version: version})
				})
			}
			all.Wait()
			through := 0
			for _, err := range errs {
				if err == nil {
					through++
				} else if !errors.Is(err, knowledge.ErrConflict) {
					t.Error(err)
				}
			}
			if through != 1 {
				t.Errorf("%d wrote version %d of %q", through, version+1, ref)
			}
		}
	}
}

// BOOK-04, JOBS-22: of the mirror the api may write its own two columns and nothing
// else; the database refuses every other.
func TestTheApiWritesNothingElseOfTheMirror(t *testing.T) {
	db, _, _ := library(t)
	tables := 0
	for _, table := range []string{"powerbi_dataset", "powerbi_table", "powerbi_column", "powerbi_measure"} {
		var columns []string
		db.QueryRow(`select array_agg(column_name::text) from information_schema.columns where table_name = $1`, []any{table}, &columns)
		for _, c := range columns {
			tables++
			_, err := db.API().Exec(t.Context(), "update "+table+" set "+c+" = "+c)
			if own := c == "own_description" || c == "custom"; own != (err == nil) {
				t.Errorf("as %s: update of %s.%s: %v", postgres.API, table, c, err)
			}
		}
		for _, sql := range []string{"delete from " + table, "insert into " + table + " default values"} {
			if _, err := db.API().Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	if tables < 30 {
		t.Errorf("only %d columns", tables)
	}
}

// BOOK-03, VIS-23: who switches what, and under which name.
func TestSwitchDataset(t *testing.T) {
	_, s, view := library(t)
	by := view("admin").Principal()
	for name, want := range map[string]error{"Sales": knowledge.ErrNotOne, "Sails": knowledge.ErrNotFound, "d0000000-0000-4000-8000-000000000009": knowledge.ErrNotFound} {
		if _, err := s.SwitchDataset(t.Context(), by, name, true); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if d, err := s.SwitchDataset(t.Context(), by, open, false); err != nil || d.Version != 0 || d.Off {
		t.Errorf("on as it is: %+v %v", d, err)
	}
	d, err := s.SwitchDataset(t.Context(), by, strings.ToUpper(shut), true)
	if err != nil || !d.Off || d.Version != 1 || d.ChangedBy != "cleo@sample.example" || d.Via != "browser" || d.Columns != 2 || d.Measures != 1 || d.Tables != 2 {
		t.Errorf("off: %+v %v", d, err)
	}
	for onlyOff, want := range map[bool][]string{false: {open, shut}, true: {shut}} {
		list, total, err := s.ListAllDatasets(t.Context(), "SAL", onlyOff, knowledge.Range{Limit: 9})
		var ids []string
		for _, d := range list {
			ids = append(ids, d.ID)
		}
		if slices.Sort(ids); err != nil || !slices.Equal(ids, want) || total != len(want) {
			t.Errorf("only off %t: %v of %d, %v", onlyOff, ids, total, err)
		}
	}
}
