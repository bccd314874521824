package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
)

const ruleColumns = `kind, table_name, name, pii, note, version, changed_at, changed_by_name, changed_via`

type ruleRow struct {
	Kind      string    `db:"kind"`
	Table     string    `db:"table_name"`
	Name      string    `db:"name"`
	PII       bool      `db:"pii"`
	Note      string    `db:"note"`
	Version   int64     `db:"version"`
	ChangedAt time.Time `db:"changed_at"`
	ChangedBy string    `db:"changed_by_name"`
	Via       string    `db:"changed_via"`
}

func (r ruleRow) rule() pii.Decision {
	return pii.Decision{
		Ref: pii.Ref{Kind: pii.Kind(r.Kind), Table: r.Table, Name: r.Name},
		PII: r.PII, Note: r.Note, Version: r.Version, ChangedBy: r.ChangedBy, ChangedAt: r.ChangedAt, Via: r.Via,
	}
}

// ListRules returns the rules by kind and name, the marked or the cleared ones
// alone where marked says so.
func (s *Store) ListRules(ctx context.Context, marked *bool) ([]pii.Decision, error) {
	found, err := s.pool.Query(ctx, `select `+ruleColumns+` from pii_rule where $1::boolean is null or pii = $1
		order by kind = 'measure', table_folded, name_folded`, marked)
	if err != nil {
		return nil, fmt.Errorf("listing rules: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByName[ruleRow])
	if err != nil {
		return nil, fmt.Errorf("listing rules: %w", postgres.Translate(err))
	}
	rules := make([]pii.Decision, len(list))
	for i, r := range list {
		rules[i] = r.rule()
	}
	return rules, nil
}

// SetRule makes ref marked, or reviewed and cleared, in place of whatever was
// decided for the same name before.
func (s *Store) SetRule(ctx context.Context, by *policies.Principal, ref pii.Ref, marked bool, note string) (rule pii.Decision, err error) {
	action := "clear_pii"
	if marked {
		action = "mark_pii"
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var before *bool
		err := tx.QueryRow(ctx, `select pii from pii_rule where kind = $1 and table_folded = $2 and name_folded = $3 for update`,
			ref.Kind, knowledge.Fold(ref.Table), knowledge.Fold(ref.Name)).Scan(&before)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		found, err := tx.Query(ctx, `
			insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii, note, changed_by, changed_by_name, changed_via)
			values (@kind, @table, @name, @table_folded, @name_folded, @pii, @note, @by, @by_name, @via)
			on conflict (kind, table_folded, name_folded) do update set
				pii = excluded.pii, note = excluded.note, version = pii_rule.version + 1, changed_at = now(),
				changed_by = excluded.changed_by, changed_by_name = excluded.changed_by_name, changed_via = excluded.changed_via
			returning `+ruleColumns,
			pgx.NamedArgs{
				"kind": ref.Kind, "table": ref.Table, "name": ref.Name, "table_folded": knowledge.Fold(ref.Table),
				"name_folded": knowledge.Fold(ref.Name), "pii": marked, "note": note, "by": by.ID, "by_name": by.Label(), "via": by.Via,
			})
		if err != nil {
			return err
		}
		row, err := pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[ruleRow])
		if err != nil {
			return err
		}
		rule = row.rule()
		return audit.Write(ctx, tx, by, audit.Event{
			Action: action, Outcome: audit.Allow, Element: rule.String(),
			Detail: map[string]any{"kind": ref.Kind, "before": decision(before), "after": decision(&marked)},
		})
	})
	if err != nil {
		return pii.Decision{}, fmt.Errorf("deciding on %s: %w", ref, err)
	}
	return rule, nil
}

func decision(marked *bool) string {
	switch {
	case marked == nil:
		return "none"
	case *marked:
		return "marked"
	}
	return "cleared"
}

// RemoveRule takes the decision for ref away, or returns [knowledge.ErrNotFound].
func (s *Store) RemoveRule(ctx context.Context, by *policies.Principal, ref pii.Ref) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var before bool
		err := tx.QueryRow(ctx, `delete from pii_rule where kind = $1 and table_folded = $2 and name_folded = $3 returning pii`,
			ref.Kind, knowledge.Fold(ref.Table), knowledge.Fold(ref.Name)).Scan(&before)
		if errors.Is(err, pgx.ErrNoRows) {
			return knowledge.ErrNotFound
		}
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: "remove_pii_rule", Outcome: audit.Allow, Element: ref.String(),
			Detail: map[string]any{"kind": ref.Kind, "before": decision(&before), "after": "none"},
		})
	})
	if err != nil {
		return fmt.Errorf("removing the rule on %s: %w", ref, err)
	}
	return nil
}

const countMatches = `
with match as (
  select c.dataset_id, 1 as columns, 0 as measures
  from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
  where c.removed_at is null and t.removed_at is null and t.folded = @table
    and (@kind = 'table' or @kind = 'column' and c.folded = @name) and {datasets d}
  union all
  select m.dataset_id, 0, 1
  from powerbi_measure m join powerbi_table t on t.id = m.table_id join powerbi_dataset d on d.id = m.dataset_id
  where m.removed_at is null and t.removed_at is null and t.folded = @table
    and @kind = 'measure' and m.folded = @name and {datasets d}
)
select coalesce(sum(columns), 0)::int as columns, coalesce(sum(measures), 0)::int as measures, count(distinct dataset_id)::int as datasets
from match`

type matchRow struct {
	Columns  int `db:"columns"`
	Measures int `db:"measures"`
	Datasets int `db:"datasets"`
}

// CountMatches counts what ref matches in the datasets that view reaches.
func (s *Store) CountMatches(ctx context.Context, view *visibility.View, ref pii.Ref) (pii.Matches, error) {
	found, err := rows[matchRow](ctx, s, view, countMatches, pgx.NamedArgs{
		"kind": string(ref.Kind), "table": knowledge.Fold(ref.Table), "name": knowledge.Fold(ref.Name),
	})
	if err != nil {
		return pii.Matches{}, fmt.Errorf("counting what %s matches: %w", ref, err)
	}
	return pii.Matches(found[0]), nil
}

const allReferences = `
select distinct t.name as table_name, c.name
from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
where c.removed_at is null and t.removed_at is null and {datasets d} and @kind = 'column'
union
select distinct t.name, m.name
from powerbi_measure m join powerbi_table t on t.id = m.table_id join powerbi_dataset d on d.id = m.dataset_id
where m.removed_at is null and t.removed_at is null and {datasets d} and @kind = 'measure'
union
select distinct t.name, ''
from powerbi_table t join powerbi_dataset d on d.id = t.dataset_id
where t.removed_at is null and {datasets d} and @kind = 'table'
limit 50000`

type referenceRow struct {
	Table string `db:"table_name"`
	Name  string `db:"name"`
}

// NearNames returns references of the mirror within view that are like ref, best first.
func (s *Store) NearNames(ctx context.Context, view *visibility.View, ref pii.Ref) ([]string, error) {
	found, err := rows[referenceRow](ctx, s, view, allReferences, pgx.NamedArgs{"kind": string(ref.Kind)})
	if err != nil {
		return nil, fmt.Errorf("finding names like %s: %w", ref, err)
	}
	names := make([]string, len(found))
	for i, r := range found {
		names[i] = pii.Ref{Kind: ref.Kind, Table: r.Table, Name: r.Name}.String()
	}
	return knowledge.Nearest(ref.String(), names, 5), nil
}

// Rules returns every rule.
func (s *Store) Rules(ctx context.Context) ([]pii.Rule, error) {
	found, err := s.pool.Query(ctx, `select kind, table_name as "table", name, pii from pii_rule`)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", postgres.Translate(err))
	}
	rules, err := pgx.CollectRows(found, pgx.RowToStructByName[pii.Rule])
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", postgres.Translate(err))
	}
	return rules, nil
}
