package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
)

// switched selects all that an admin sees of a dataset that they may not describe.
const switched = `
select d.id::text as id, d.name,
  (select count(*) from powerbi_table t where t.dataset_id = d.id and t.removed_at is null) as tables,
  (select count(*) from powerbi_column c join powerbi_table t on t.id = c.table_id
    where c.dataset_id = d.id and c.removed_at is null and t.removed_at is null) as columns,
  (select count(*) from powerbi_measure m join powerbi_table t on t.id = m.table_id
    where m.dataset_id = d.id and m.removed_at is null and t.removed_at is null) as measures,
  coalesce(s.is_off, false) as is_off, coalesce(s.version, 0) as version, s.changed_at,
  coalesce(s.changed_by_name, '') as changed_by, coalesce(s.changed_via, '') as via
from powerbi_dataset d left join dataset_switch s on s.dataset_id = d.id
where d.removed_at is null`

const (
	listSwitched = switched + `
  and (@pattern = '' or d.name ilike @pattern) and (not @off or s.is_off)
order by d.folded, d.id offset @offset limit @limit`

	countSwitched = `
select count(*)
from powerbi_dataset d left join dataset_switch s on s.dataset_id = d.id
where d.removed_at is null and (@pattern = '' or d.name ilike @pattern) and (not @off or s.is_off)`

	findSwitched = switched + ` and (d.id::text = @id or @id = '' and d.folded = @name) order by d.id limit 20`
)

type switchedRow struct {
	ID        string     `db:"id"`
	Name      string     `db:"name"`
	Tables    int        `db:"tables"`
	Columns   int        `db:"columns"`
	Measures  int        `db:"measures"`
	IsOff     bool       `db:"is_off"`
	Version   int64      `db:"version"`
	ChangedAt *time.Time `db:"changed_at"`
	ChangedBy string     `db:"changed_by"`
	Via       string     `db:"via"`
}

func (r switchedRow) dataset() knowledge.SwitchedDataset {
	d := knowledge.SwitchedDataset{
		ID: r.ID, Name: r.Name, Tables: r.Tables, Columns: r.Columns, Measures: r.Measures,
		Off: r.IsOff, Version: r.Version, ChangedBy: r.ChangedBy, Via: r.Via,
	}
	if r.ChangedAt != nil {
		d.ChangedAt = *r.ChangedAt
	}
	return d
}

// ListAllDatasets returns one range of the datasets of the tenant, whoever reaches
// them, and how many match: those with words in the name, where there are words,
// and those that are off alone where onlyOff says so.
func (s *Store) ListAllDatasets(ctx context.Context, words string, onlyOff bool, r knowledge.Range) ([]knowledge.SwitchedDataset, int, error) {
	args := pgx.NamedArgs{"pattern": pattern(words), "off": onlyOff, "offset": r.Offset, "limit": r.Limit}
	found, err := s.pool.Query(ctx, listSwitched, args)
	if err != nil {
		return nil, 0, fmt.Errorf("listing every dataset: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByName[switchedRow])
	if err != nil {
		return nil, 0, fmt.Errorf("listing every dataset: %w", postgres.Translate(err))
	}
	var total int
	if err := s.pool.QueryRow(ctx, countSwitched, args).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("counting every dataset: %w", postgres.Translate(err))
	}
	all := make([]knowledge.SwitchedDataset, len(list))
	for i, r := range list {
		all[i] = r.dataset()
	}
	return all, total, nil
}

// SwitchDataset switches the dataset that name, an id or a name by itself, means
// off or on. Where it is so already, nothing is done. The error is
// [knowledge.ErrNotFound] where there is none and [knowledge.ErrNotOne] where
// several have the name.
func (s *Store) SwitchDataset(ctx context.Context, by *policies.Principal, name string, off bool) (d knowledge.SwitchedDataset, err error) {
	args := pgx.NamedArgs{"id": datasetID(name), "name": knowledge.Fold(strings.TrimSpace(name))}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		one := func() (row switchedRow, err error) {
			found, err := tx.Query(ctx, findSwitched, args)
			if err != nil {
				return row, err
			}
			row, err = pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[switchedRow])
			switch {
			case errors.Is(err, pgx.ErrNoRows):
				return row, knowledge.ErrNotFound
			case errors.Is(err, pgx.ErrTooManyRows):
				return row, knowledge.ErrNotOne
			}
			return row, err
		}
		before, err := one()
		if err != nil {
			return err
		}
		args["id"] = before.ID
		// Two at once leave one version each: the second waits for the row.
		tag, err := tx.Exec(ctx, `
			insert into dataset_switch as s (dataset_id, is_off, changed_by, changed_by_name, changed_via)
			select @id::uuid, @off, @by, @by_name, @via where @off or exists (select from dataset_switch where dataset_id = @id::uuid)
			on conflict (dataset_id) do update set
				is_off = excluded.is_off, version = s.version + 1, changed_at = now(),
				changed_by = excluded.changed_by, changed_by_name = excluded.changed_by_name, changed_via = excluded.changed_via
			where s.is_off <> excluded.is_off`,
			pgx.NamedArgs{"id": before.ID, "off": off, "by": by.ID, "by_name": by.Label(), "via": by.Via})
		if err != nil {
			return err
		}
		after, err := one()
		if err != nil {
			return err
		}
		d = after.dataset()
		if tag.RowsAffected() == 0 {
			return nil
		}
		action := "switch_dataset_on"
		if off {
			action = "switch_dataset_off"
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: action, Outcome: audit.Allow, Element: d.ID, Detail: map[string]any{"version": d.Version},
		})
	})
	if err != nil {
		return knowledge.SwitchedDataset{}, fmt.Errorf("switching a dataset: %w", err)
	}
	return d, nil
}
