package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
)

const readModel = `
select d.name,
  coalesce((select jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'expression', t.expression))
    from powerbi_table t where t.dataset_id = d.id and t.removed_at is null), '[]') as tables,
  coalesce((select jsonb_agg(jsonb_build_object('table', c.table_id, 'name', c.name, 'type', c.data_type, 'expression', c.expression))
    from powerbi_column c where c.dataset_id = d.id and c.removed_at is null), '[]') as columns,
  coalesce((select jsonb_agg(jsonb_build_object('table', m.table_id, 'name', m.name, 'expression', m.expression))
    from powerbi_measure m where m.dataset_id = d.id and m.removed_at is null), '[]') as measures,
  coalesce((select jsonb_agg(to_jsonb(r)) from model_relationship r where r.dataset_id = d.id), '[]') as relationships,
  coalesce((select jsonb_agg(to_jsonb(g)) from model_calculation_group g where g.dataset_id = d.id), '[]') as groups,
  coalesce((select jsonb_agg(to_jsonb(i) order by i.ordinal, i.name) from model_calculation_item i where i.dataset_id = d.id), '[]') as items,
  coalesce((select jsonb_agg(to_jsonb(f) order by f.name) from model_function f where f.dataset_id = d.id), '[]') as functions,
  coalesce((select jsonb_object_agg(r.part, r.state) from model_read r where r.dataset_id = d.id and ` + current + `), '{}') as parts
from powerbi_dataset d where d.id = $1 and d.removed_at is null`

// current holds for what was tried of the schema of d as the last scan found it.
const current = `(r.schema_hash is not distinct from d.schema_hash and r.read_at >= coalesce(d.schema_at, r.read_at))`

// Model returns a dataset's tables, columns and measures as the mirror has them,
// with what was read of it under people's tokens, or [knowledge.ErrNotFound].
func (s *Store) Model(ctx context.Context, datasetID string) (*knowledge.Model, error) {
	var tables []struct {
		ID               int64
		Name, Expression string
	}
	var elements, measures []struct {
		Table                  int64
		Name, Type, Expression string
	}
	var relationships []struct {
		FromTable  string `json:"from_table"`
		FromColumn string `json:"from_column"`
		ToTable    string `json:"to_table"`
		ToColumn   string `json:"to_column"`
		Name       string `json:"name"`
		IsActive   bool   `json:"is_active"`
		BothFilter bool   `json:"both_filter"`
		BothSecure bool   `json:"both_secure"`
		FromOne    bool   `json:"from_one"`
		ToMany     bool   `json:"to_many"`
	}
	var groups, items []struct {
		Table      string `json:"table_name"`
		Precedence int
		Name       string
		Ordinal    int
		Expression string
	}
	var parts map[knowledge.ModelPart]knowledge.ReadState
	m := &knowledge.Model{}
	var raw [8]json.RawMessage
	err := s.pool.QueryRow(ctx, readModel, datasetID).Scan(&m.Name, &raw[0], &raw[1], &raw[2], &raw[3], &raw[4], &raw[5], &raw[6], &raw[7])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, knowledge.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a model: %w", postgres.Translate(err))
	}
	for i, into := range []any{&tables, &elements, &measures, &relationships, &groups, &items, &m.Functions, &parts} {
		if err := json.Unmarshal(raw[i], into); err != nil {
			return nil, fmt.Errorf("reading a model: %w", err)
		}
	}
	at := map[int64]int{}
	for _, t := range tables {
		at[t.ID] = len(m.Tables)
		m.Tables = append(m.Tables, knowledge.Table{Name: t.Name, Expression: t.Expression})
	}
	for _, c := range elements {
		if i, ok := at[c.Table]; ok {
			m.Tables[i].Columns = append(m.Tables[i].Columns, knowledge.Column{Name: c.Name, DataType: knowledge.DataType(c.Type), Expression: c.Expression})
		}
	}
	for _, x := range measures {
		if i, ok := at[x.Table]; ok {
			m.Tables[i].Measures = append(m.Tables[i].Measures, knowledge.Measure{Name: x.Name, Expression: x.Expression})
		}
	}
	for _, r := range relationships {
		m.Relationships = append(m.Relationships, knowledge.Relationship{
			Name: r.Name, FromTable: r.FromTable, FromColumn: r.FromColumn, ToTable: r.ToTable, ToColumn: r.ToColumn,
			Inactive: !r.IsActive, BothFilter: r.BothFilter, BothSecure: r.BothSecure, FromOne: r.FromOne, ToMany: r.ToMany,
		})
	}
	byName := make(map[string]*knowledge.Table, len(m.Tables))
	for i := range m.Tables {
		byName[knowledge.Fold(m.Tables[i].Name)] = &m.Tables[i]
	}
	for _, g := range groups {
		if t := byName[knowledge.Fold(g.Table)]; t != nil {
			t.Group, t.Precedence = true, g.Precedence
		}
	}
	for _, i := range items {
		if t := byName[knowledge.Fold(i.Table)]; t != nil {
			t.Items = append(t.Items, knowledge.CalculationItem{Name: i.Name, Expression: i.Expression, Ordinal: i.Ordinal})
		}
	}
	unread := func(p knowledge.ModelPart) bool {
		return parts[p] != knowledge.PartRead && parts[p] != knowledge.PartRefused
	}
	m.RelationshipsKnown = parts[knowledge.Relationships] == knowledge.PartRead
	m.GroupsUnread, m.ItemsUnread, m.FunctionsUnread = unread(knowledge.CalculationGroups), unread(knowledge.CalculationItems), unread(knowledge.Functions)
	return m, nil
}

// CanEdit reports whether one of the object ids has a right on the dataset's
// workspace, or on the dataset, with which it may be edited: row-level security
// does not apply to those.
func (s *Store) CanEdit(ctx context.Context, datasetID string, objectIDs []string) (bool, error) {
	var edits bool
	err := s.pool.QueryRow(ctx, `
		select exists (
			select from powerbi_dataset d join powerbi_access a on
				a.item_kind = 'workspace' and a.item_id = d.workspace_id and a.access_right in ('Admin', 'Member', 'Contributor')
				or a.item_kind = 'dataset' and a.item_id = d.id and a.access_right like '%Write%'
			where d.id = $1 and a.object_id::text = any($2::text[]))`, datasetID, objectIDs).Scan(&edits)
	if err != nil {
		return false, fmt.Errorf("reading who may edit a dataset: %w", postgres.Translate(err))
	}
	return edits, nil
}
