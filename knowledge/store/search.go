package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

// searchWords ranks by how many of the words stand in the name, and how many more in
// the description. A name that is just the words comes first, then one that the
// words hold as a whole, and an endorsed dataset's before others'. What rules on
// personal data cover is never found, whoever asks (PII-77).
const searchWords = `
with element as (
  select 'measure' as kind, d.id as dataset_id, d.name as dataset, w.name as workspace, t.name as table_name, m.name, m.folded,
    m.description, m.own_description, 0.4 as bonus, d.endorsement
  from powerbi_measure m join powerbi_table t on t.id = m.table_id
  join powerbi_dataset d on d.id = m.dataset_id join powerbi_workspace w on w.id = d.workspace_id
  where m.removed_at is null and t.removed_at is null and {datasets d} and not {pii_measure m t}
    and 'measure' = any(@kinds)
  union all
  select 'column', d.id, d.name, w.name, t.name, c.name, c.folded,
    c.description, c.own_description, 0.2, d.endorsement
  from powerbi_column c join powerbi_table t on t.id = c.table_id
  join powerbi_dataset d on d.id = c.dataset_id join powerbi_workspace w on w.id = d.workspace_id
  where c.removed_at is null and t.removed_at is null and {datasets d} and not {pii_column c t}
    and 'column' = any(@kinds)
  union all
  select 'table', d.id, d.name, w.name, t.name, t.name, t.folded,
    t.description, t.own_description, 0.1, d.endorsement
  from powerbi_table t
  join powerbi_dataset d on d.id = t.dataset_id join powerbi_workspace w on w.id = d.workspace_id
  where t.removed_at is null and {datasets d} and 'table' = any(@kinds)
    and (exists (select from powerbi_column c where c.table_id = t.id and c.removed_at is null and not {pii_column c t})
      or exists (select from powerbi_measure m where m.table_id = t.id and m.removed_at is null and not {pii_measure m t}))
  union all
  select 'dataset', d.id, d.name, w.name, '', d.name, d.folded,
    d.description, d.own_description, 0.3, d.endorsement
  from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
  where {datasets d} and 'dataset' = any(@kinds)
), matched as (
  select e.*,
    (select count(*) from unnest(@patterns::text[]) p where e.folded like p) as in_name,
    (select count(*) from unnest(@patterns::text[]) p where e.folded not like p and lower(e.description || ' ' || e.own_description) like p) as in_description
  from element e
  where (@dataset = '' or e.dataset_id::text = @dataset)
)
select kind, dataset_id::text as dataset_id, dataset, workspace, table_name, name, description, own_description, endorsement,
  ((case when folded = @whole then 10 when position(' ' || folded || ' ' in ' ' || @whole || ' ') > 0 then 4 else 0 end) + 3 * in_name + 0.3 * in_description + bonus
    + case endorsement when 'Certified' then 1 when 'Promoted' then 0.5 else 0 end
    - 0.1 * abs(cardinality(string_to_array(folded, ' ')) - in_name))::float8 as rank
from matched
where in_name + in_description > 0
order by rank desc, dataset, name, dataset_id, table_name
limit @limit`

type hitRow struct {
	Kind        string  `db:"kind"`
	DatasetID   string  `db:"dataset_id"`
	Dataset     string  `db:"dataset"`
	Workspace   string  `db:"workspace"`
	Table       string  `db:"table_name"`
	Name        string  `db:"name"`
	Description string  `db:"description"`
	Own         string  `db:"own_description"`
	Endorsement string  `db:"endorsement"`
	Rank        float64 `db:"rank"`
}

// Search finds what has one of the words in its name or description, best first.
func (s *Store) Search(ctx context.Context, view *visibility.View, words string, kinds []knowledge.HitKind, datasetID string, limit int) ([]knowledge.Hit, error) {
	if len(kinds) == 0 {
		kinds = []knowledge.HitKind{knowledge.HitMeasure, knowledge.HitColumn, knowledge.HitTable, knowledge.HitDataset}
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	found, err := rows[hitRow](ctx, s, view, searchWords, pgx.NamedArgs{
		"patterns": patterns(words), "whole": knowledge.Fold(strings.TrimSpace(words)), "kinds": names, "dataset": datasetID, "limit": limit,
	})
	if err != nil {
		return nil, fmt.Errorf("searching: %w", err)
	}
	hits := make([]knowledge.Hit, len(found))
	for i, r := range found {
		hits[i] = knowledge.Hit{
			Kind: knowledge.HitKind(r.Kind), DatasetID: r.DatasetID, Dataset: r.Dataset, Workspace: r.Workspace,
			Table: r.Table, Name: r.Name, Description: r.Description, OwnDescription: r.Own, Endorsement: r.Endorsement, Rank: r.Rank,
		}
	}
	return hits, nil
}

// patterns makes a LIKE pattern of each word of a search. Words of one or two
// letters are left out where longer ones say enough.
func patterns(words string) []string {
	split := strings.FieldsFunc(knowledge.Fold(words), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	long := slices.DeleteFunc(slices.Clone(split), func(w string) bool { return len([]rune(w)) < 3 })
	if len(long) == 0 {
		long = split
	}
	out := []string{}
	for _, w := range long {
		if p := pattern(w); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
