package store

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

// datasetColumns is what every read of datasets selects, from d and its workspace w.
const datasetColumns = `
  d.id::text as id, d.name, d.workspace_id::text as workspace_id, w.name as workspace, {app_ids d} as app_ids,
  array(select a.name from powerbi_app_dataset o join powerbi_app a on a.id = o.app_id and a.removed_at is null
    where o.dataset_id = d.id order by a.name) as app_names,
  d.description, d.own_description, d.endorsement, d.sensitivity_label, d.has_row_level_security, d.schema_error,
  d.configured_by, d.custom, d.last_seen_at`

type datasetRow struct {
	ID             string          `db:"id"`
	Name           string          `db:"name"`
	WorkspaceID    string          `db:"workspace_id"`
	Workspace      string          `db:"workspace"`
	AppIDs         []string        `db:"app_ids"`
	AppNames       []string        `db:"app_names"`
	Description    string          `db:"description"`
	OwnDescription string          `db:"own_description"`
	Endorsement    string          `db:"endorsement"`
	Label          string          `db:"sensitivity_label"`
	HasRowSecurity bool            `db:"has_row_level_security"`
	SchemaError    string          `db:"schema_error"`
	ConfiguredBy   string          `db:"configured_by"`
	Custom         json.RawMessage `db:"custom"`
	SeenAt         time.Time       `db:"last_seen_at"`
}

func (r datasetRow) weight() int {
	return 512 + len(r.Description) + len(r.OwnDescription) + len(r.Custom) + 64*(len(r.AppIDs)+len(r.AppNames))
}

func (r *datasetRow) dataset() (knowledge.Dataset, error) {
	d := knowledge.Dataset{
		ID: r.ID, Name: r.Name, WorkspaceID: r.WorkspaceID, Workspace: r.Workspace, AppIDs: r.AppIDs, AppNames: r.AppNames,
		Description: r.Description, OwnDescription: r.OwnDescription, Endorsement: r.Endorsement, SensitivityLabel: r.Label,
		HasRowSecurity: r.HasRowSecurity, SchemaError: r.SchemaError, ConfiguredBy: r.ConfiguredBy, SeenAt: r.SeenAt,
	}
	if err := json.Unmarshal(r.Custom, &d.Custom); err != nil {
		return d, fmt.Errorf("reading the custom fields of dataset %s: %w", r.ID, err)
	}
	return d, nil
}

const findDataset = `
select` + datasetColumns + `
from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
where d.id = @id::uuid and {datasets d}`

const findDatasets = `
select` + datasetColumns + `
from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
where d.folded = any(@names::text[]) and (@workspace = '' or d.folded = @name or w.folded = @workspace) and {datasets d}
order by w.name, d.name, d.id
limit 20`

var uuidInText = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// datasetID returns the dataset's id that name is or holds: an id by itself, or
// an address of Power BI. In an address the dataset's id follows "datasets".
func datasetID(name string) string {
	trimmed := strings.TrimSpace(name)
	if !strings.Contains(trimmed, "://") {
		if id := uuidInText.FindString(trimmed); len(id) == len(trimmed) {
			return strings.ToLower(id)
		}
		return ""
	}
	if _, after, found := strings.Cut(strings.ToLower(trimmed), "datasets/"); found {
		return uuidInText.FindString(after)
	}
	return ""
}

// FindDatasets returns every dataset of view that name means.
func (s *Store) FindDatasets(ctx context.Context, view *visibility.View, name string) ([]knowledge.Dataset, error) {
	text, args := findDataset, pgx.NamedArgs{"id": datasetID(name)}
	if args["id"] == "" {
		// A slash may stand between workspace and name, or in the name itself.
		whole := knowledge.Fold(strings.TrimSpace(name))
		workspace, within, _ := strings.Cut(whole, "/")
		text, args = findDatasets, pgx.NamedArgs{
			"name": whole, "names": []string{whole, strings.TrimSpace(within)}, "workspace": strings.TrimSpace(workspace),
		}
		if within == "" {
			args["names"], args["workspace"] = []string{whole}, ""
		}
	}
	found, err := rows[datasetRow](ctx, s, view, text, args)
	if err != nil {
		return nil, fmt.Errorf("finding a dataset: %w", err)
	}
	return datasets(found)
}

func datasets(found []datasetRow) ([]knowledge.Dataset, error) {
	out := make([]knowledge.Dataset, len(found))
	for i := range found {
		var err error
		if out[i], err = found[i].dataset(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

const nearestDatasets = `
select d.name as name, d.folded as folded from powerbi_dataset d where {datasets d} order by d.name limit 5000`

type nameRow struct {
	Name   string `db:"name"`
	Folded string `db:"folded"`
}

// NearestDatasets returns up to five names in view that are like name, best first.
func (s *Store) NearestDatasets(ctx context.Context, view *visibility.View, name string) ([]string, error) {
	found, err := rows[nameRow](ctx, s, view, nearestDatasets, nil)
	if err != nil {
		return nil, fmt.Errorf("finding names like one: %w", err)
	}
	names := make([]string, len(found))
	for i, r := range found {
		names[i] = r.Name
	}
	return knowledge.Nearest(name, names, 5), nil
}

// Most lists are of everything. What could narrow them is left out of those: a plan
// is made once for all arguments, and one that must do for a filter as well takes
// several times as long where there is none.
const (
	listDatasets  = listed + listedInOrder
	countDatasets = `select count(*) as total from powerbi_dataset d where {datasets d}`
	listNarrowed  = listed + narrowed + listedInOrder
	countNarrowed = `select count(*) as total from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id where {datasets d}` + narrowed

	listed = `
with element as (
  select` + datasetColumns + `, d.folded
  from powerbi_dataset d join powerbi_workspace w on w.id = d.workspace_id
  where {datasets d}`

	narrowed = `
    and (@pattern = '' or d.name ilike @pattern or d.description ilike @pattern or d.own_description ilike @pattern)
    and (@workspace = '' or w.folded = @workspace or w.id::text = @workspace)`

	listedInOrder = `
)
select id, name, workspace_id, workspace, app_ids, app_names, description, own_description, endorsement, sensitivity_label,
  has_row_level_security, schema_error, configured_by, custom, last_seen_at
from element order by folded, id offset @offset limit @limit`
)

type totalRow struct {
	Total int `db:"total"`
}

func (totalRow) weight() int { return 64 }

// ListDatasets returns one range of the datasets that match and that view shows,
// and how many of these there are.
func (s *Store) ListDatasets(ctx context.Context, view *visibility.View, f knowledge.DatasetFilter, r knowledge.Range) ([]knowledge.Dataset, int, error) {
	args := pgx.NamedArgs{
		"pattern": pattern(f.Words), "workspace": knowledge.Fold(f.Workspace), "offset": r.Offset, "limit": r.Limit,
	}
	list, count := listDatasets, countDatasets
	if args["pattern"] != "" || args["workspace"] != "" {
		list, count = listNarrowed, countNarrowed
	}
	found, err := keptRows[datasetRow](ctx, s, view, list, args)
	if err != nil {
		return nil, 0, fmt.Errorf("listing datasets: %w", err)
	}
	total, err := keptRows[totalRow](ctx, s, view, count, args)
	if err != nil {
		return nil, 0, fmt.Errorf("counting datasets: %w", err)
	}
	all, err := datasets(found)
	return all, total[0].Total, err
}

const listTables = `
select t.name, t.description, t.own_description, t.is_hidden,
  coalesce((select o.version from own_text o where o.dataset_id = d.id and o.kind = 'table' and o.element_id = t.id), 0) as own_version,
  (select count(*) from powerbi_column c where c.table_id = t.id and c.removed_at is null and {columns c t}) as columns,
  (select count(*) from powerbi_measure m where m.table_id = t.id and m.removed_at is null and {measures m t}) as measures
from powerbi_table t join powerbi_dataset d on d.id = t.dataset_id
where t.removed_at is null and d.id = @dataset and {datasets d}
order by t.folded`

type tableRow struct {
	Name        string `db:"name"`
	Description string `db:"description"`
	Own         string `db:"own_description"`
	OwnVersion  int64  `db:"own_version"`
	IsHidden    bool   `db:"is_hidden"`
	Columns     int    `db:"columns"`
	Measures    int    `db:"measures"`
}

// ListTables returns the tables of a dataset of which view shows anything.
func (s *Store) ListTables(ctx context.Context, view *visibility.View, id string) ([]knowledge.ListedTable, error) {
	found, err := rows[tableRow](ctx, s, view, listTables, pgx.NamedArgs{"dataset": id})
	if err != nil {
		return nil, fmt.Errorf("listing tables: %w", err)
	}
	tables := []knowledge.ListedTable{}
	for _, t := range found {
		if t.Columns+t.Measures > 0 {
			tables = append(tables, knowledge.ListedTable{
				Name: t.Name, Description: t.Description, OwnDescription: t.Own, OwnVersion: t.OwnVersion, Hidden: t.IsHidden, Columns: t.Columns, Measures: t.Measures,
			})
		}
	}
	return tables, nil
}

const nearestTables = `
select distinct t.name, t.folded
from powerbi_table t join powerbi_dataset d on d.id = t.dataset_id
where t.removed_at is null and {datasets d} and (@id = '' or d.id::text = @id) and (@name = '' or d.folded = @name)
  and (exists (select from powerbi_column c where c.table_id = t.id and c.removed_at is null and {columns c t})
    or exists (select from powerbi_measure m where m.table_id = t.id and m.removed_at is null and {measures m t}))
limit 5000`

// NearestTables returns up to five names of tables of which view shows anything
// and that are like name, best first, in the filter's dataset.
func (s *Store) NearestTables(ctx context.Context, view *visibility.View, f knowledge.ElementFilter, name string) ([]string, error) {
	args := pgx.NamedArgs{"id": f.DatasetID, "name": ""}
	if f.DatasetID == "" {
		args["name"] = knowledge.Fold(f.Dataset)
	}
	found, err := rows[nameRow](ctx, s, view, nearestTables, args)
	if err != nil {
		return nil, fmt.Errorf("finding tables like one: %w", err)
	}
	names := make([]string, len(found))
	for i, r := range found {
		names[i] = r.Name
	}
	return knowledge.Nearest(name, names, 5), nil
}

const countDataset = `
select
  (select count(*) from powerbi_column c join powerbi_table t on t.id = c.table_id
    where c.dataset_id = d.id and c.removed_at is null and t.removed_at is null and {columns c t}) as columns,
  (select count(*) from powerbi_column c join powerbi_table t on t.id = c.table_id
    where c.dataset_id = d.id and c.removed_at is null and t.removed_at is null and not {columns c t}) as hidden_columns,
  (select count(*) from powerbi_measure m join powerbi_table t on t.id = m.table_id
    where m.dataset_id = d.id and m.removed_at is null and t.removed_at is null and {measures m t}) as measures,
  (select count(*) from powerbi_measure m join powerbi_table t on t.id = m.table_id
    where m.dataset_id = d.id and m.removed_at is null and t.removed_at is null and not {measures m t}) as hidden_measures,
  coalesce((select o.version from own_text o where o.dataset_id = d.id and o.kind = 'dataset' and o.element_id = 0), 0) as own_version,
  coalesce((select jsonb_agg(jsonb_build_object('part', r.part, 'at', case when ` + current + ` or r.state = 'read' then r.read_at end,
      'reason', case when ` + current + ` then r.reason else '' end, 'state',
      case when ` + current + ` then r.state when r.state = 'read' then 'outdated' else 'not_read' end))
    from model_read r where r.dataset_id = d.id), '[]') as parts
from powerbi_dataset d
where d.id = @dataset and {datasets d}`

type countRow struct {
	Columns        int             `db:"columns"`
	HiddenColumns  int             `db:"hidden_columns"`
	Measures       int             `db:"measures"`
	HiddenMeasures int             `db:"hidden_measures"`
	OwnVersion     int64           `db:"own_version"`
	Parts          json.RawMessage `db:"parts"`
}

// CountDataset counts what view shows of a dataset and what it leaves out.
func (s *Store) CountDataset(ctx context.Context, view *visibility.View, id string) (knowledge.DatasetCounts, error) {
	found, err := rows[countRow](ctx, s, view, countDataset, pgx.NamedArgs{"dataset": id})
	if err != nil {
		return knowledge.DatasetCounts{}, fmt.Errorf("counting a dataset: %w", err)
	}
	if len(found) == 0 {
		return knowledge.DatasetCounts{}, knowledge.ErrNotFound
	}
	c := found[0]
	var tried []knowledge.PartReading
	if err := json.Unmarshal(c.Parts, &tried); err != nil {
		return knowledge.DatasetCounts{}, fmt.Errorf("reading what is known of a model: %w", err)
	}
	counts := knowledge.DatasetCounts{Columns: c.Columns, Measures: c.Measures, PIIHidden: c.HiddenColumns + c.HiddenMeasures, OwnVersion: c.OwnVersion}
	for _, part := range knowledge.ModelParts() {
		reading := knowledge.PartReading{Part: part, State: knowledge.PartNotRead}
		for _, t := range tried {
			if t.Part == part {
				reading = t
			}
		}
		counts.Parts = append(counts.Parts, reading)
	}
	return counts, nil
}
