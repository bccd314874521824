package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

// pattern makes words a pattern for LIKE that holds where they all stand in this order.
func pattern(words string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.TrimSpace(words))
	if escaped == "" {
		return ""
	}
	return "%" + strings.Join(strings.Fields(escaped), "%") + "%"
}

// The two lists differ in where their elements come from. Most are of one dataset,
// and then its index finds the rows. What is not listed comes last, and the counts
// are in every row: one pass over the elements gives page and counts.
const (
	listColumns        = visible + ofColumns + paged
	listColumnsByID    = visible + byID + ofColumns + paged
	listColumnsByName  = visible + byName + ofColumns + paged
	listMeasures       = visible + ofMeasures + paged
	listMeasuresByID   = visible + byID + ofMeasures + paged
	listMeasuresByName = visible + byName + ofMeasures + paged

	// What may be seen is asked once, not for each element.
	visible = `
with d as materialized (
  select d.id, d.name, count(*) over () as datasets from powerbi_dataset d where {datasets d}`

	byID   = ` and d.id = @id::uuid`
	byName = ` and d.folded = @name`

	ofColumns = `
), element as materialized (
  select d.datasets, c.id, 'column' as kind, d.id as dataset_id, d.name as dataset, t.name as table_name, c.name, c.data_type as data_type,
    c.description, c.own_description, c.expression, c.is_hidden,
    t.folded as table_folded, c.folded, {pii_column c t} as pii,
    (@pattern = '' or c.name ilike @pattern or c.description ilike @pattern or c.own_description ilike @pattern) as found
  from d
  join powerbi_column c on c.dataset_id = d.id
  join powerbi_table t on t.id = c.table_id
  where c.removed_at is null and t.removed_at is null and (@table = '' or t.folded = @table)`

	ofMeasures = `
), element as materialized (
  select d.datasets, m.id, 'measure' as kind, d.id as dataset_id, d.name as dataset, t.name as table_name, m.name, m.format as data_type,
    m.description, m.own_description, m.expression, m.is_hidden,
    t.folded as table_folded, m.folded, {pii_measure m t} as pii,
    (@pattern = '' or m.name ilike @pattern or m.description ilike @pattern or m.own_description ilike @pattern) as found
  from d
  join powerbi_measure m on m.dataset_id = d.id
  join powerbi_table t on t.id = m.table_id
  where m.removed_at is null and t.removed_at is null and (@table = '' or t.folded = @table)`

	paged = `
)
select count(*) filter (where ({reads pii} or not pii) and found) over () as total,
  count(*) filter (where pii and not {reads pii}) over () as hidden,
  count(*) filter (where {reads pii} or not pii) over () as any_shown,
  datasets, ({reads pii} or not pii) and found as listed,
  dataset_id::text as dataset_id, dataset, table_name, name, data_type, description, own_description, expression, is_hidden, pii,
  coalesce((select o.version from own_text o where o.dataset_id = element.dataset_id and o.kind = element.kind and o.element_id = element.id), 0) as own_version
from element
order by ({reads pii} or not pii) and found desc, dataset, element.dataset_id, table_folded, folded
offset @offset limit @limit`
)

// elementRow is a row of either list.
type elementRow struct {
	Total       int    `db:"total"`
	Hidden      int    `db:"hidden"`
	AnyShown    int    `db:"any_shown"`
	Datasets    int    `db:"datasets"`
	Listed      bool   `db:"listed"` // false for what only counts
	DatasetID   string `db:"dataset_id"`
	Dataset     string `db:"dataset"`
	Table       string `db:"table_name"`
	Name        string `db:"name"`
	Type        string `db:"data_type"` // a measure's format
	Description string `db:"description"`
	Own         string `db:"own_description"`
	OwnVersion  int64  `db:"own_version"`
	Expression  string `db:"expression"`
	IsHidden    bool   `db:"is_hidden"`
	PII         bool   `db:"pii"`
}

func (e elementRow) weight() int {
	return 256 + len(e.Dataset) + len(e.Table) + len(e.Name) + len(e.Description) + len(e.Own) + len(e.Expression)
}

// elements runs one of the two lists. What is hidden is counted whatever words
// are looked for, so that no word can ask for a hidden name; and not at all for a
// table of which nothing is shown, which answers as one that does not exist.
func (s *Store) elements(ctx context.Context, view *visibility.View, all, byID, byName string, f knowledge.ElementFilter, r knowledge.Range) (found []elementRow, total, hidden int, err error) {
	args := pgx.NamedArgs{
		"table": knowledge.Fold(f.Table), "pattern": pattern(f.Words), "offset": r.Offset, "limit": r.Limit,
	}
	text := all
	switch {
	case f.DatasetID != "":
		text, args["id"] = byID, f.DatasetID
	case f.Dataset != "":
		text, args["name"] = byName, knowledge.Fold(strings.TrimSpace(f.Dataset))
	}
	found, err = keptRows[elementRow](ctx, s, view, text, args)
	byNameAlone := f.Dataset != "" && f.DatasetID == ""
	switch {
	case err != nil:
		return nil, 0, 0, err
	case byNameAlone && (len(found) == 0 || found[0].Datasets != 1):
		return nil, 0, 0, knowledge.ErrNotOne
	case len(found) == 0 && r.Offset > 0:
		// The page is past the end, and the counts are wanted all the same.
		_, total, hidden, err = s.elements(ctx, view, all, byID, byName, f, knowledge.Range{Limit: 1})
		return nil, total, hidden, err
	case len(found) == 0:
		return nil, 0, 0, nil
	}
	total, hidden = found[0].Total, found[0].Hidden
	if f.Table != "" && found[0].AnyShown == 0 {
		hidden = 0
	}
	listed := found[:0]
	for _, e := range found {
		if e.Listed {
			listed = append(listed, e)
		}
	}
	return listed, total, hidden, nil
}

// ListColumns returns one range of the columns that match and that view shows,
// how many of these there are, and how many columns were left out as personal data.
func (s *Store) ListColumns(ctx context.Context, view *visibility.View, f knowledge.ElementFilter, r knowledge.Range) ([]knowledge.ListedColumn, int, int, error) {
	found, total, hidden, err := s.elements(ctx, view, listColumns, listColumnsByID, listColumnsByName, f, r)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("listing columns: %w", err)
	}
	if err := s.withholdDAX(ctx, view, found); err != nil {
		return nil, 0, 0, fmt.Errorf("listing columns: %w", err)
	}
	columns := make([]knowledge.ListedColumn, len(found))
	for i, e := range found {
		columns[i] = knowledge.ListedColumn{
			DatasetID: e.DatasetID, Dataset: e.Dataset, Table: e.Table, Name: e.Name,
			DataType: knowledge.DataType(e.Type), Description: e.Description, OwnDescription: e.Own, OwnVersion: e.OwnVersion,
			Expression: e.Expression, Hidden: e.IsHidden, PII: e.PII,
		}
	}
	return columns, total, hidden, nil
}

// coveredNames are what DAX may not name to somebody without pii_reader.
const coveredNames = `
select c.dataset_id::text as dataset_id, c.folded
from powerbi_column c join powerbi_table t on t.id = c.table_id
where c.dataset_id = any(@datasets::uuid[]) and c.removed_at is null and t.removed_at is null and {pii_column c t}
union
select m.dataset_id::text, m.folded
from powerbi_measure m join powerbi_table t on t.id = m.table_id
where m.dataset_id = any(@datasets::uuid[]) and m.removed_at is null and t.removed_at is null and {pii_measure m t}`

type coveredName struct {
	DatasetID string `db:"dataset_id"`
	Folded    string `db:"folded"`
}

func (n coveredName) weight() int { return 64 + len(n.DatasetID) + len(n.Folded) }

// withholdDAX empties the expressions of calculated columns that name what is
// hidden from the caller as personal data. Only a measure's DAX may (PII-01,
// PII-75). A column of that name in another table counts too: which one is meant
// may depend on where the name stands.
func (s *Store) withholdDAX(ctx context.Context, view *visibility.View, columns []elementRow) error {
	var datasets []string
	for _, c := range columns {
		if c.Expression != "" && !slices.Contains(datasets, c.DatasetID) {
			datasets = append(datasets, c.DatasetID)
		}
	}
	if len(datasets) == 0 || view.ReadsPII() {
		return nil
	}
	covered, err := keptRows[coveredName](ctx, s, view, coveredNames, pgx.NamedArgs{"datasets": datasets})
	if err != nil {
		return err
	}
	for i := range columns {
		c := &columns[i]
		folded := knowledge.Fold(c.Expression)
		if slices.ContainsFunc(covered, func(n coveredName) bool {
			return n.DatasetID == c.DatasetID && strings.Contains(folded, "["+strings.ReplaceAll(n.Folded, "]", "]]")+"]")
		}) {
			c.Expression = ""
		}
	}
	return nil
}

// ListMeasures does for measures what [Store.ListColumns] does for columns.
func (s *Store) ListMeasures(ctx context.Context, view *visibility.View, f knowledge.ElementFilter, r knowledge.Range) ([]knowledge.ListedMeasure, int, int, error) {
	found, total, hidden, err := s.elements(ctx, view, listMeasures, listMeasuresByID, listMeasuresByName, f, r)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("listing measures: %w", err)
	}
	measures := make([]knowledge.ListedMeasure, len(found))
	for i, e := range found {
		measures[i] = knowledge.ListedMeasure{
			DatasetID: e.DatasetID, Dataset: e.Dataset, Table: e.Table, Name: e.Name,
			Format: e.Type, Description: e.Description, OwnDescription: e.Own, OwnVersion: e.OwnVersion,
			Expression: e.Expression, Hidden: e.IsHidden, PII: e.PII,
		}
	}
	return measures, total, hidden, nil
}
