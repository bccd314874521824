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
  exists (select from model_read r where r.dataset_id = d.id and r.state = 'read' and r.read_at >= coalesce(d.schema_at, r.read_at)) as relationships_known
from powerbi_dataset d where d.id = $1 and d.removed_at is null`

// Model returns a dataset's tables, columns, measures and relationships as the
// mirror has them, or [knowledge.ErrNotFound].
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
	m := &knowledge.Model{}
	var raw [4]json.RawMessage
	err := s.pool.QueryRow(ctx, readModel, datasetID).Scan(&m.Name, &raw[0], &raw[1], &raw[2], &raw[3], &m.RelationshipsKnown)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, knowledge.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading a model: %w", postgres.Translate(err))
	}
	for i, into := range []any{&tables, &elements, &measures, &relationships} {
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
