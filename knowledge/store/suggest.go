package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

// readDeeply is how many models one call reads whole, for their roles and their DAX.
const readDeeply = 200

// reachable finds datasets as [Store.FindDatasets] does, of those that Power BI lets
// the caller reach.
const reachable = `
select d.id::text as id
from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
where {reach d} and (@id <> '' and d.id::text = @id
  or @id = '' and d.folded = any(@names::text[]) and (@workspace = '' or d.folded = @name or w.folded = @workspace))
limit 20`

type idRow struct {
	ID string `db:"id"`
}

// columnNames has every name of a column once for each type, except where a rule is
// about it or about its table.
const columnNames = `
select min(t.name) as table_name, min(c.name) as name, c.data_type, count(distinct c.dataset_id)::int as datasets
from powerbi_column c join powerbi_table t on t.id = c.table_id join powerbi_dataset d on d.id = c.dataset_id
where c.removed_at is null and t.removed_at is null and {reach d} and (@dataset = '' or d.id::text = @dataset)
  and (t.folded, c.folded) not in (select table_folded, name_folded from pii_rule where kind = 'column')
  and t.folded not in (select table_folded from pii_rule where kind = 'table')
group by t.folded, c.folded, c.data_type`

type columnNameRow struct {
	Table    string             `db:"table_name"`
	Name     string             `db:"name"`
	Type     knowledge.DataType `db:"data_type"`
	Datasets int                `db:"datasets"`
}

// worthReading are the datasets whose DAX or roles may tell more than their names
// do: they have something marked, or a role that asks who asks.
const worthReading = `
select d.id::text as id
from powerbi_dataset d
where {reach d} and (@dataset = '' or d.id::text = @dataset) and (
  exists (select from powerbi_role r where r.dataset_id = d.id and r.removed_at is null
    and (r.definition->'tables')::text ilike '%USER%NAME%')
  or exists (select from powerbi_column c join powerbi_table t on t.id = c.table_id
    where c.dataset_id = d.id and c.removed_at is null and t.removed_at is null and {pii_column c t})
  or exists (select from powerbi_measure m join powerbi_table t on t.id = m.table_id
    where m.dataset_id = d.id and m.removed_at is null and t.removed_at is null and {pii_measure m t}))
order by d.folded, d.id`

// Suggest looks for what may be personal data and nobody has decided on, in the
// datasets that Power BI lets the caller of view reach, off ones included; of one
// dataset where it is named. It changes nothing. A name that means none of them is
// [knowledge.ErrNotFound], one that means several [knowledge.ErrSeveral].
func (s *Store) Suggest(ctx context.Context, view *visibility.View, dataset string) (pii.Suggested, error) {
	id := ""
	if dataset != "" {
		var err error
		if id, err = s.reachable(ctx, view, dataset); err != nil {
			return pii.Suggested{}, err
		}
	}
	rules, err := s.Rules(ctx)
	if err != nil {
		return pii.Suggested{}, err
	}
	names, err := rows[columnNameRow](ctx, s, view, columnNames, pgx.NamedArgs{"dataset": id})
	if err != nil {
		return pii.Suggested{}, fmt.Errorf("reading names of columns: %w", err)
	}
	var all []pii.Suggestion
	in := map[string]int{}
	for _, n := range names {
		if found, ok := pii.SuggestName(n.Table, n.Name, n.Type); ok {
			all = append(all, found)
			in[found.Key()] += n.Datasets
		}
	}
	deep, err := rows[idRow](ctx, s, view, worthReading, pgx.NamedArgs{"dataset": id})
	if err != nil {
		return pii.Suggested{}, fmt.Errorf("finding the models to read: %w", err)
	}
	out := pii.Suggested{NotRead: max(0, len(deep)-readDeeply)}
	for _, d := range deep[:len(deep)-out.NotRead] {
		model, err := s.modelWithRoles(ctx, d.ID)
		if errors.Is(err, knowledge.ErrNotFound) {
			continue // gone since
		}
		if err != nil {
			return pii.Suggested{}, err
		}
		counted := map[string]bool{}
		for _, found := range pii.Suggest(rules, model) {
			if found.Reason == pii.ByName {
				continue // counted above
			}
			all = append(all, found)
			if key := found.Key(); found.Kind == pii.Measure && !counted[key] {
				counted[key] = true
				in[key]++
			}
		}
	}
	out.Suggestions = pii.Rank(all)
	for _, found := range out.Suggestions {
		out.Datasets = append(out.Datasets, in[found.Key()])
	}
	return out, nil
}

// reachable is the id of the one dataset that name means.
func (s *Store) reachable(ctx context.Context, view *visibility.View, name string) (string, error) {
	whole := knowledge.Fold(strings.TrimSpace(name))
	workspace, within, _ := strings.Cut(whole, "/")
	args := pgx.NamedArgs{"id": datasetID(name), "name": whole, "names": []string{whole}, "workspace": ""}
	if within != "" {
		args["names"], args["workspace"] = []string{whole, strings.TrimSpace(within)}, strings.TrimSpace(workspace)
	}
	found, err := rows[idRow](ctx, s, view, reachable, args)
	switch {
	case err != nil:
		return "", fmt.Errorf("finding a dataset: %w", err)
	case len(found) == 0:
		return "", knowledge.ErrNotFound
	case len(found) > 1:
		return "", knowledge.ErrSeveral
	}
	return found[0].ID, nil
}

// modelWithRoles is [Store.Model] with the roles of the model and their filters.
func (s *Store) modelWithRoles(ctx context.Context, datasetID string) (*knowledge.Model, error) {
	m, err := s.Model(ctx, datasetID)
	if err != nil {
		return nil, err
	}
	found, err := s.pool.Query(ctx, `select name, definition->'tables' from powerbi_role where dataset_id = $1 and removed_at is null order by name`, datasetID)
	if err != nil {
		return nil, fmt.Errorf("reading roles: %w", postgres.Translate(err))
	}
	var name string
	var raw json.RawMessage
	_, err = pgx.ForEachRow(found, []any{&name, &raw}, func() error {
		var tables []struct{ Table, Filter string }
		if err := json.Unmarshal(raw, &tables); err != nil {
			return err
		}
		role := knowledge.Role{Name: name}
		for _, t := range tables {
			role.Tables = append(role.Tables, knowledge.TablePermission{Table: t.Table, Filter: t.Filter})
		}
		m.Roles = append(m.Roles, role)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading roles: %w", postgres.Translate(err))
	}
	return m, nil
}
