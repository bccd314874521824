package scan

import (
	"context"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// A writer gathers workspaces until there is enough for a transaction.
type writer struct {
	run  *mirror.Run
	log  *slog.Logger
	seen map[string]bool // ids of the workspaces that came in full

	held     []mirror.Workspace
	elements int
	unusable int
}

func (w *writer) reset() {
	*w = writer{run: w.run, log: w.log, seen: map[string]bool{}}
}

func (w *writer) add(ctx context.Context, ws *powerbi.Workspace) error {
	id, ok := parseID(ws.ID)
	if !ok {
		w.log.WarnContext(ctx, "skipped a workspace without a usable id")
		return nil
	}
	if ws.DataRetrievalState != "" && !strings.EqualFold(ws.DataRetrievalState, "Success") {
		return nil // as if it had not come
	}
	w.seen[id] = true
	if strings.EqualFold(ws.State, "Deleted") || strings.EqualFold(ws.State, "Removing") {
		return nil // on its way out: not seen
	}
	scanned := mirror.Workspace{ID: id, Name: ws.Name, Description: ws.Description, Type: ws.Type}
	scanned.Access = w.access(ws.Users)
	for i := range ws.Datasets {
		d, ok := w.dataset(&ws.Datasets[i])
		if !ok {
			w.log.WarnContext(ctx, "skipped a dataset without a usable id", "workspace", id)
			continue
		}
		scanned.Datasets = append(scanned.Datasets, d)
		for _, t := range d.Tables {
			w.elements += 1 + len(t.Columns) + len(t.Measures)
		}
	}
	for _, r := range ws.Reports {
		report := mirror.Report{Name: r.Name}
		if report.ID, ok = parseID(r.ID); !ok {
			w.log.WarnContext(ctx, "skipped a report without a usable id", "workspace", id)
			continue
		}
		report.DatasetID, _ = parseID(r.DatasetID)
		report.AppID, _ = parseID(r.AppID)
		report.OriginalID, _ = parseID(r.OriginalReportObjectID)
		scanned.Reports = append(scanned.Reports, report)
	}
	w.held = append(w.held, scanned)
	if w.elements >= batch {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) flush(ctx context.Context) error {
	if err := w.run.WriteWorkspaces(ctx, w.held); err != nil {
		return err
	}
	w.run.SkipEntries(w.unusable)
	w.held, w.elements, w.unusable = nil, 0, 0
	return nil
}

func (w *writer) access(list []powerbi.Access) []mirror.Entry {
	entries, unusable := accessEntries(list)
	w.unusable += unusable
	return entries
}

// noSchema is the reason where Power BI gave neither tables nor a reason.
const noSchema = "Power BI gave no tables and no reason: the model may not have been refreshed since its metadata is read, or is read only once somebody uses it."

func (w *writer) dataset(d *powerbi.Dataset) (mirror.Dataset, bool) {
	id, ok := parseID(d.ID)
	if !ok {
		return mirror.Dataset{}, false
	}
	out := mirror.Dataset{
		ID: id, Name: d.Name, Description: d.Description, ConfiguredBy: d.ConfiguredBy,
		Endorsement: d.Endorsement.Endorsement, SensitivityLabel: d.SensitivityLabel.LabelID, StorageMode: d.TargetStorageMode,
		HasRowSecurity: d.IdentityRolesRequired || len(d.Roles) > 0,
		SchemaError:    d.SchemaRetrievalError,
		Access:         w.access(d.Users),
	}
	if strings.EqualFold(out.Endorsement, "None") {
		out.Endorsement = ""
	}
	for i := range d.Tables {
		out.Tables = append(out.Tables, table(&d.Tables[i]))
	}
	for i := range d.Roles {
		out.Roles = append(out.Roles, role(&d.Roles[i]))
	}
	if len(out.Tables) == 0 && out.SchemaError == "" {
		out.SchemaError = noSchema
	}
	return out, true
}

func table(t *powerbi.Table) knowledge.Table {
	out := knowledge.Table{Name: t.Name, Description: t.Description, Hidden: t.IsHidden}
	for _, c := range t.Columns {
		// The engine's own numbering of the rows, which no query can name.
		if strings.HasPrefix(c.Name, "RowNumber-") || strings.EqualFold(c.ColumnType, "RowNumber") {
			continue
		}
		out.Columns = append(out.Columns, knowledge.Column{
			Name: c.Name, Description: c.Description, DataType: dataType(c.DataType), Hidden: c.IsHidden, Expression: c.Expression,
		})
	}
	for _, m := range t.Measures {
		out.Measures = append(out.Measures, knowledge.Measure{
			Name: m.Name, Description: m.Description, Expression: m.Expression, Hidden: m.IsHidden,
		})
	}
	return out
}

func role(r *powerbi.Role) knowledge.Role {
	out := knowledge.Role{Name: r.Name}
	for _, m := range r.Members {
		out.Members = append(out.Members, knowledge.RoleMember{Name: m.MemberName, ObjectID: strings.ToLower(m.MemberID), Kind: m.MemberType})
	}
	for _, t := range r.TablePermissions {
		out.Tables = append(out.Tables, knowledge.TablePermission{Table: t.Name, Filter: t.FilterExpression})
	}
	return out
}

// dataType gives a type that is not known as Variant, the one that allows anything.
func dataType(s string) knowledge.DataType {
	for _, t := range []knowledge.DataType{
		knowledge.String, knowledge.Int64, knowledge.Double, knowledge.Decimal, knowledge.Boolean, knowledge.DateTime, knowledge.Binary,
	} {
		if strings.EqualFold(s, string(t)) {
			return t
		}
	}
	if s == "" {
		return ""
	}
	return knowledge.Variant
}

// accessEntries keeps the entries that give somebody a right, and counts those
// that name no right or nobody whom we could recognise.
func accessEntries(list []powerbi.Access) (entries []mirror.Entry, unusable int) {
	for _, a := range list {
		object, ok := parseID(a.ObjectID)
		switch {
		case a.Right == "" || !ok:
			unusable++
		case strings.EqualFold(a.Right, "None"):
			// Somebody whom the list names in order to give nothing.
		default:
			entries = append(entries, mirror.Entry{ObjectID: object, Right: a.Right})
		}
	}
	return entries, unusable
}

// parseID returns a uuid in the one form in which we keep it.
func parseID(s string) (string, bool) {
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}
