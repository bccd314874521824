package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

const countMatches = `
with asked as (
  select * from unnest(@kinds::text[], @tables::text[], @names::text[]) with ordinality as a (kind, table_folded, name_folded, n)
),
match as (
  select a.n, c.dataset_id, 1 as columns, 0 as measures
  from asked a join powerbi_table t on t.folded = a.table_folded and t.removed_at is null
    join powerbi_column c on c.table_id = t.id and c.removed_at is null and (a.kind = 'table' or c.folded = a.name_folded)
    join powerbi_dataset d on d.id = c.dataset_id
  where a.kind in ('table', 'column') and {reach d}
  union all
  select a.n, m.dataset_id, 0, 1
  from asked a join powerbi_table t on t.folded = a.table_folded and t.removed_at is null
    join powerbi_measure m on m.table_id = t.id and m.removed_at is null and m.folded = a.name_folded
    join powerbi_dataset d on d.id = m.dataset_id
  where a.kind = 'measure' and {reach d}
)
select coalesce(sum(m.columns), 0)::int as columns, coalesce(sum(m.measures), 0)::int as measures,
  count(distinct m.dataset_id)::int as datasets
from asked a left join match m using (n)
group by a.n order by a.n`

type matchRow struct {
	Columns  int `db:"columns"`
	Measures int `db:"measures"`
	Datasets int `db:"datasets"`
}

// CountMatches counts what each of the references matches in the datasets that
// Power BI lets the caller of view reach, off ones included.
func (s *Store) CountMatches(ctx context.Context, view *visibility.View, refs []pii.Ref) ([]pii.Matches, error) {
	kinds, tables, names := make([]string, len(refs)), make([]string, len(refs)), make([]string, len(refs))
	for i, r := range refs {
		kinds[i], tables[i], names[i] = string(r.Kind), knowledge.Fold(r.Table), knowledge.Fold(r.Name)
	}
	found, err := rows[matchRow](ctx, s, view, countMatches, pgx.NamedArgs{"kinds": kinds, "tables": tables, "names": names})
	if err != nil {
		return nil, fmt.Errorf("counting what rules match: %w", err)
	}
	out := make([]pii.Matches, len(found))
	for i, r := range found {
		out[i] = pii.Matches(r)
	}
	return out, nil
}

const allReferences = `
select distinct t.name as table_name, c.name
from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
where c.removed_at is null and t.removed_at is null and {reach d} and @kind = 'column'
union
select distinct t.name, m.name
from powerbi_measure m join powerbi_table t on t.id = m.table_id join powerbi_dataset d on d.id = m.dataset_id
where m.removed_at is null and t.removed_at is null and {reach d} and @kind = 'measure'
union
select distinct t.name, ''
from powerbi_table t join powerbi_dataset d on d.id = t.dataset_id
where t.removed_at is null and {reach d} and @kind = 'table'
limit 50000`

type referenceRow struct {
	Table string `db:"table_name"`
	Name  string `db:"name"`
}

// NearNames returns references that are like ref, best first, of the datasets that
// Power BI lets the caller of view reach.
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
