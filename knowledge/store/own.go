package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
)

// What finds an element that view shows: its number in the mirror, and its names
// as the mirror writes them. A table shows where anything in it does.
const (
	findTheDataset = `select 0::bigint as id, '' as table_name, '' as name from powerbi_dataset d where d.id = @dataset::uuid and {datasets d}`

	findTable = `
select t.id, t.name as table_name, '' as name
from powerbi_table t join powerbi_dataset d on d.id = t.dataset_id
where d.id = @dataset::uuid and t.folded = @table and t.removed_at is null and {datasets d}
  and (exists (select from powerbi_column c where c.table_id = t.id and c.removed_at is null and {columns c t})
    or exists (select from powerbi_measure m where m.table_id = t.id and m.removed_at is null and {measures m t}))`

	findColumn = `
select c.id, t.name as table_name, c.name
from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
where d.id = @dataset::uuid and t.folded = @table and c.folded = @name
  and c.removed_at is null and t.removed_at is null and {datasets d} and {columns c t}`

	findMeasure = `
select m.id, t.name as table_name, m.name
from powerbi_measure m join powerbi_table t on t.id = m.table_id join powerbi_dataset d on d.id = m.dataset_id
where d.id = @dataset::uuid and (@table = '' or t.folded = @table) and m.folded = @name
  and m.removed_at is null and t.removed_at is null and {datasets d} and {measures m t}`
)

// What writes an element's own text, and nothing else of it.
const (
	ownText = ` set own_description = @description, custom = (custom || @set::jsonb) - @gone::text[] `

	writeDataset = `update powerbi_dataset` + ownText + `where id = @dataset::uuid returning custom`
	writeTable   = `update powerbi_table` + ownText + `where id = @id returning custom`
	writeColumn  = `update powerbi_column` + ownText + `where id = @id returning custom`
	writeMeasure = `update powerbi_measure` + ownText + `where id = @id returning custom`
)

type foundElement struct {
	ID    int64  `db:"id"`
	Table string `db:"table_name"`
	Name  string `db:"name"`
}

// WriteOwn writes the book's own description of what ref names, and changes the
// custom fields that own has, on behalf of view's caller. It returns the reference
// as the mirror writes it and what is written now. The error is
// [knowledge.ErrNotFound] for what view does not show, and a
// [*knowledge.VersionError] where own is based on another version than the current one.
func (s *Store) WriteOwn(ctx context.Context, view *visibility.View, ref knowledge.ElementRef, own knowledge.OwnText) (knowledge.ElementRef, knowledge.OwnText, error) {
	by := view.Principal()
	find, write := findTheDataset, writeDataset
	switch ref.Kind {
	case knowledge.ATable:
		find, write = findTable, writeTable
	case knowledge.AColumn:
		find, write = findColumn, writeColumn
	case knowledge.AMeasure:
		find, write = findMeasure, writeMeasure
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		sql, args := view.Statement(find, pgx.NamedArgs{
			"dataset": ref.DatasetID, "table": knowledge.Fold(ref.Table), "name": knowledge.Fold(ref.Name),
		})
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[foundElement])
		if errors.Is(err, pgx.ErrNoRows) {
			return knowledge.ErrNotFound
		}
		if err != nil {
			return err
		}
		ref.Table, ref.Name = found.Table, found.Name
		if own.Version, err = nextVersion(ctx, tx, by, ref, found.ID, own.Version); err != nil {
			return err
		}
		set, gone := map[string]string{}, []string{}
		for name, value := range own.Custom {
			if set[name] = value; value == "" {
				delete(set, name)
				gone = append(gone, name)
			}
		}
		var custom json.RawMessage
		err = tx.QueryRow(ctx, write, pgx.NamedArgs{
			"dataset": ref.DatasetID, "id": found.ID, "description": own.Description, "set": set, "gone": gone,
		}).Scan(&custom)
		if err != nil {
			return err
		}
		detail := map[string]any{"kind": string(ref.Kind), "version": own.Version}
		if ref.Kind != knowledge.TheDataset {
			detail["reference"] = ref.String()
		}
		if len(own.Custom) > 0 {
			detail["custom"] = slices.Sorted(maps.Keys(own.Custom))
		}
		own.Custom = map[string]string{}
		if err := json.Unmarshal(custom, &own.Custom); err != nil {
			return fmt.Errorf("reading the custom fields: %w", err)
		}
		return audit.Write(ctx, tx, by, audit.Event{Action: "write_description", Outcome: audit.Allow, Element: ref.DatasetID, Detail: detail})
	})
	if err != nil {
		return ref, knowledge.OwnText{}, fmt.Errorf("writing the book's own description: %w", err)
	}
	return ref, own, nil
}

// nextVersion makes the version after basedOn the current one. Of two who come from
// the same version one gets through, however close they are.
func nextVersion(ctx context.Context, tx pgx.Tx, by *policies.Principal, ref knowledge.ElementRef, id, basedOn int64) (int64, error) {
	args := pgx.NamedArgs{
		"dataset": ref.DatasetID, "kind": ref.Kind, "id": id, "based_on": basedOn, "by": by.ID, "by_name": by.Label(), "via": by.Via,
	}
	text := `update own_text set version = version + 1, changed_at = now(), changed_by = @by, changed_by_name = @by_name, changed_via = @via
		where dataset_id = @dataset::uuid and kind = @kind and element_id = @id and version = @based_on returning version`
	if basedOn == 0 {
		text = `insert into own_text (dataset_id, kind, element_id, changed_by, changed_by_name, changed_via)
			values (@dataset::uuid, @kind, @id, @by, @by_name, @via) on conflict do nothing returning version`
	}
	var next int64
	err := tx.QueryRow(ctx, text, args).Scan(&next)
	if !errors.Is(err, pgx.ErrNoRows) {
		return next, err
	}
	conflict := &knowledge.VersionError{}
	err = tx.QueryRow(ctx, `select coalesce((select version from own_text where dataset_id = @dataset::uuid and kind = @kind and element_id = @id), 0)`, args).Scan(&conflict.Current)
	if err != nil {
		return 0, err
	}
	return 0, conflict
}
