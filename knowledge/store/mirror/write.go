package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// WriteWorkspaces writes workspaces with everything in them, and replaces their
// access lists and those of their datasets. It is one transaction. It returns how
// many datasets it left out because the run has found them in another workspace.
func (r *Run) WriteWorkspaces(ctx context.Context, workspaces []Workspace) (twice int, err error) {
	workspaces = unique(workspaces, func(w *Workspace) string { return w.ID })
	if len(workspaces) == 0 {
		return 0, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err = r.tx(ctx, func(q *db.Queries) error {
		if err := r.writeWorkspaces(ctx, q, workspaces); err != nil {
			return err
		}
		written, others, err := r.writeDatasets(ctx, q, workspaces)
		if err != nil {
			return err
		}
		twice = others
		if err := r.writeReports(ctx, q, workspaces); err != nil {
			return err
		}
		return r.writeListsOfWorkspaces(ctx, q, workspaces, written)
	})
	if err != nil {
		return 0, fmt.Errorf("writing workspaces: %w", err)
	}
	return twice, nil
}

// WriteApps writes apps and replaces their audiences, and counts what could not be
// taken of them. It is one transaction.
func (r *Run) WriteApps(ctx context.Context, apps []App, t Tally) error {
	apps = unique(apps, func(a *App) string { return a.ID })
	if len(apps) == 0 && t == (Tally{}) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.tx(ctx, func(q *db.Queries) error {
		p := db.UpsertAppsParams{SeenAt: r.at}
		var audiences lists
		for _, a := range apps {
			p.Ids = append(p.Ids, a.ID)
			p.WorkspaceIds = append(p.WorkspaceIds, a.WorkspaceID)
			p.Names = append(p.Names, text(a.Name))
			p.Descriptions = append(p.Descriptions, text(a.Description))
			audiences.add(a.ID, a.Access)
		}
		if err := q.AddTally(ctx, db.AddTallyParams{ID: r.id, Skipped: int32(t.Skipped), Unusable: int32(t.Unusable)}); err != nil {
			return err
		}
		if err := q.UpsertApps(ctx, p); err != nil {
			return err
		}
		return audiences.write(ctx, q, "app")
	})
	if err != nil {
		return fmt.Errorf("writing apps: %w", err)
	}
	return nil
}

func (r *Run) writeWorkspaces(ctx context.Context, q *db.Queries, workspaces []Workspace) error {
	p := db.UpsertWorkspacesParams{SeenAt: r.at}
	for _, w := range workspaces {
		p.Ids = append(p.Ids, w.ID)
		p.Names = append(p.Names, text(w.Name))
		p.Folded = append(p.Folded, knowledge.Fold(text(w.Name)))
		p.Descriptions = append(p.Descriptions, text(w.Description))
		p.Types = append(p.Types, text(w.Type))
	}
	return q.UpsertWorkspaces(ctx, p)
}

// writeDatasets returns the datasets that it wrote, by id.
func (r *Run) writeDatasets(ctx context.Context, q *db.Queries, workspaces []Workspace) (written map[string]*Dataset, twice int, err error) {
	p := db.UpsertDatasetsParams{SeenAt: r.at}
	seen := map[string]*Dataset{}
	var order []*Dataset
	for i := range workspaces {
		for j := range workspaces[i].Datasets {
			d := &workspaces[i].Datasets[j]
			if seen[d.ID] != nil {
				twice++
				continue
			}
			seen[d.ID] = d
			order = append(order, d)
			p.Ids = append(p.Ids, d.ID)
			p.WorkspaceIds = append(p.WorkspaceIds, workspaces[i].ID)
			p.Names = append(p.Names, text(d.Name))
			p.Folded = append(p.Folded, knowledge.Fold(text(d.Name)))
			p.Descriptions = append(p.Descriptions, text(d.Description))
			p.ConfiguredBy = append(p.ConfiguredBy, text(d.ConfiguredBy))
			p.Endorsements = append(p.Endorsements, text(d.Endorsement))
			p.SensitivityLabels = append(p.SensitivityLabels, text(d.SensitivityLabel))
			p.StorageModes = append(p.StorageModes, text(d.StorageMode))
			p.HasRowLevelSecurity = append(p.HasRowLevelSecurity, d.HasRowSecurity)
			p.SchemaErrors = append(p.SchemaErrors, text(d.SchemaError))
		}
	}
	if len(order) == 0 {
		return nil, twice, nil
	}
	ids, err := q.UpsertDatasets(ctx, p)
	if err != nil {
		return nil, 0, err
	}
	written = map[string]*Dataset{}
	for _, id := range ids {
		written[id] = seen[id]
	}
	datasets := slices.DeleteFunc(order, func(d *Dataset) bool { return written[d.ID] == nil })
	return written, twice + len(seen) - len(written), r.writeSchemas(ctx, q, datasets)
}

// writeSchemas writes tables and what is in them of those datasets alone whose
// schema is not the one written last.
func (r *Run) writeSchemas(ctx context.Context, q *db.Queries, datasets []*Dataset) error {
	hashes := db.SetSchemaHashesParams{SeenAt: r.at}
	known := map[string][]byte{}
	var ids []string
	for _, d := range datasets {
		ids = append(ids, d.ID)
	}
	rows, err := q.SchemaHashes(ctx, ids)
	if err != nil {
		return err
	}
	for _, row := range rows {
		known[row.ID] = row.SchemaHash
	}
	var changed []*Dataset
	for _, d := range datasets {
		if d.SchemaError != "" {
			continue
		}
		hash, err := schemaHash(d)
		if err != nil {
			return err
		}
		if bytes.Equal(hash, known[d.ID]) {
			continue
		}
		changed = append(changed, d)
		hashes.Ids = append(hashes.Ids, d.ID)
		hashes.Hashes = append(hashes.Hashes, hash)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := r.writeRoles(ctx, q, changed); err != nil {
		return err
	}
	tableIDs, err := r.writeTables(ctx, q, changed)
	if err != nil {
		return err
	}
	if err := r.writeElements(ctx, q, changed, tableIDs); err != nil {
		return err
	}
	return q.SetSchemaHashes(ctx, hashes)
}

// schemaHash does not depend on the order in which Power BI lists things.
func schemaHash(d *Dataset) ([]byte, error) {
	h := sha256.New()
	e := json.NewEncoder(h)
	tables := slices.Clone(d.Tables)
	slices.SortFunc(tables, func(a, b knowledge.Table) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range tables {
		t.Columns, t.Measures = slices.Clone(t.Columns), slices.Clone(t.Measures)
		slices.SortFunc(t.Columns, func(a, b knowledge.Column) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(t.Measures, func(a, b knowledge.Measure) int { return strings.Compare(a.Name, b.Name) })
		if err := e.Encode(t); err != nil {
			return nil, err
		}
	}
	roles := slices.Clone(d.Roles)
	slices.SortFunc(roles, func(a, b knowledge.Role) int { return strings.Compare(a.Name, b.Name) })
	if err := e.Encode(roles); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

type tableKey struct{ dataset, folded string }

func (r *Run) writeTables(ctx context.Context, q *db.Queries, datasets []*Dataset) (map[tableKey]int64, error) {
	p := db.UpsertTablesParams{SeenAt: r.at}
	ids := map[tableKey]int64{}
	var of []string
	for _, d := range datasets {
		of = append(of, d.ID)
		for _, t := range d.Tables {
			key := tableKey{d.ID, knowledge.Fold(text(t.Name))}
			if _, twice := ids[key]; twice {
				continue // a model whose names differ in case alone: rules on names cover both
			}
			ids[key] = 0
			p.DatasetIds = append(p.DatasetIds, d.ID)
			p.Names = append(p.Names, text(t.Name))
			p.Folded = append(p.Folded, key.folded)
			p.Descriptions = append(p.Descriptions, text(t.Description))
			p.IsHidden = append(p.IsHidden, t.Hidden)
			p.Expressions = append(p.Expressions, text(t.Expression))
		}
	}
	if err := q.UpsertTables(ctx, p); err != nil {
		return nil, err
	}
	rows, err := q.TableIDs(ctx, db.TableIDsParams{DatasetIds: of, SeenAt: r.at})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		ids[tableKey{row.DatasetID, row.Folded}] = row.ID
	}
	return ids, nil
}

func (r *Run) writeElements(ctx context.Context, q *db.Queries, datasets []*Dataset, tableIDs map[tableKey]int64) error {
	columns, measures := db.UpsertColumnsParams{SeenAt: r.at}, db.UpsertMeasuresParams{SeenAt: r.at}
	type columnKey struct {
		table  int64
		folded string
	}
	seenColumns, seenMeasures := map[columnKey]bool{}, map[tableKey]bool{}
	for _, d := range datasets {
		for _, t := range d.Tables {
			table := tableIDs[tableKey{d.ID, knowledge.Fold(text(t.Name))}]
			for _, c := range t.Columns {
				key := columnKey{table, knowledge.Fold(text(c.Name))}
				if seenColumns[key] {
					continue
				}
				seenColumns[key] = true
				columns.DatasetIds = append(columns.DatasetIds, d.ID)
				columns.TableIds = append(columns.TableIds, table)
				columns.Names = append(columns.Names, text(c.Name))
				columns.Folded = append(columns.Folded, key.folded)
				columns.Descriptions = append(columns.Descriptions, text(c.Description))
				columns.DataTypes = append(columns.DataTypes, string(c.DataType))
				columns.IsHidden = append(columns.IsHidden, c.Hidden)
				columns.Expressions = append(columns.Expressions, text(c.Expression))
			}
			for _, m := range t.Measures {
				key := tableKey{d.ID, knowledge.Fold(text(m.Name))}
				if seenMeasures[key] {
					continue
				}
				seenMeasures[key] = true
				measures.DatasetIds = append(measures.DatasetIds, d.ID)
				measures.TableIds = append(measures.TableIds, table)
				measures.Names = append(measures.Names, text(m.Name))
				measures.Folded = append(measures.Folded, key.folded)
				measures.Descriptions = append(measures.Descriptions, text(m.Description))
				measures.Expressions = append(measures.Expressions, text(m.Expression))
				measures.Formats = append(measures.Formats, text(m.FormatString))
				measures.IsHidden = append(measures.IsHidden, m.Hidden)
			}
		}
	}
	if err := q.UpsertColumns(ctx, columns); err != nil {
		return err
	}
	return q.UpsertMeasures(ctx, measures)
}

// A roleDefinition is what the column definition of powerbi_role holds.
type roleDefinition struct {
	Members []roleMember     `json:"members"`
	Tables  []rolePermission `json:"tables"`
}

type roleMember struct {
	Name     string `json:"name"`
	ObjectID string `json:"object_id"`
	Kind     string `json:"kind"`
}

type rolePermission struct {
	Table         string   `json:"table"`
	Filter        string   `json:"filter"`
	Hidden        bool     `json:"hidden,omitempty"`
	HiddenColumns []string `json:"hidden_columns,omitempty"`
}

func (r *Run) writeRoles(ctx context.Context, q *db.Queries, datasets []*Dataset) error {
	p := db.UpsertRolesParams{SeenAt: r.at}
	seen := map[tableKey]bool{}
	for _, d := range datasets {
		for _, role := range d.Roles {
			key := tableKey{d.ID, text(role.Name)}
			if seen[key] {
				continue
			}
			seen[key] = true
			def := roleDefinition{Members: []roleMember{}, Tables: []rolePermission{}}
			for _, m := range role.Members {
				def.Members = append(def.Members, roleMember{text(m.Name), text(m.ObjectID), text(m.Kind)})
			}
			for _, t := range role.Tables {
				def.Tables = append(def.Tables, rolePermission{text(t.Table), text(t.Filter), t.Hidden, t.HiddenColumns})
			}
			b, err := json.Marshal(def)
			if err != nil {
				return err
			}
			p.DatasetIds = append(p.DatasetIds, d.ID)
			p.Names = append(p.Names, key.folded)
			p.Definitions = append(p.Definitions, b)
		}
	}
	if len(p.Names) == 0 {
		return nil
	}
	return q.UpsertRoles(ctx, p)
}

func (r *Run) writeReports(ctx context.Context, q *db.Queries, workspaces []Workspace) error {
	p := db.UpsertReportsParams{SeenAt: r.at}
	seen := map[string]bool{}
	for _, w := range workspaces {
		for _, report := range w.Reports {
			if seen[report.ID] {
				continue
			}
			seen[report.ID] = true
			p.Ids = append(p.Ids, report.ID)
			p.WorkspaceIds = append(p.WorkspaceIds, w.ID)
			p.DatasetIds = append(p.DatasetIds, report.DatasetID)
			p.Names = append(p.Names, text(report.Name))
			p.AppIds = append(p.AppIds, report.AppID)
			p.OriginalIds = append(p.OriginalIds, report.OriginalID)
		}
	}
	if len(p.Ids) == 0 {
		return nil
	}
	return q.UpsertReports(ctx, p)
}

func (r *Run) writeListsOfWorkspaces(ctx context.Context, q *db.Queries, workspaces []Workspace, written map[string]*Dataset) error {
	var ofWorkspaces, ofDatasets lists
	for _, w := range workspaces {
		ofWorkspaces.add(w.ID, w.Access)
		for i := range w.Datasets {
			if d := &w.Datasets[i]; written[d.ID] == d {
				ofDatasets.add(d.ID, d.Access)
			}
		}
	}
	if err := ofWorkspaces.write(ctx, q, "workspace"); err != nil {
		return err
	}
	return ofDatasets.write(ctx, q, "dataset")
}

// lists are whole lists of several items of one kind.
type lists struct {
	items                    []string
	itemIDs, objects, rights []string // one entry across the three
	seen                     map[[2]string]bool
}

func (l *lists) add(item string, entries []Entry) {
	if l.seen == nil {
		l.seen = map[[2]string]bool{}
	}
	l.items = append(l.items, item)
	for _, e := range entries {
		key := [2]string{item, e.ObjectID}
		if l.seen[key] {
			continue
		}
		l.seen[key] = true
		l.itemIDs = append(l.itemIDs, item)
		l.objects = append(l.objects, e.ObjectID)
		l.rights = append(l.rights, e.Right)
	}
}

func (l *lists) write(ctx context.Context, q *db.Queries, kind string) error {
	if len(l.items) == 0 {
		return nil
	}
	err := q.DeleteOtherAccess(ctx, db.DeleteOtherAccessParams{ItemKind: kind, Items: l.items, ItemIds: l.itemIDs, ObjectIds: l.objects})
	if err != nil || len(l.objects) == 0 {
		return err
	}
	return q.UpsertAccess(ctx, db.UpsertAccessParams{ItemKind: kind, ItemIds: l.itemIDs, ObjectIds: l.objects, AccessRights: l.rights})
}

// unique keeps the first of those with the same key: a statement writes a row once.
func unique[T any](items []T, key func(*T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		k := key(&item)
		twice := seen[k]
		seen[k] = true
		return twice
	})
}

// text takes out the one character that PostgreSQL cannot keep.
func text(s string) string { return strings.ReplaceAll(s, "\x00", "") }
