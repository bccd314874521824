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
	run    *mirror.Run
	log    *slog.Logger
	seen   map[string]bool // ids of the workspaces that came in full
	partly []string        // of these, those of which something could not be read
	tally  mirror.Tally

	held     []mirror.Workspace
	elements int
}

func (w *writer) reset() {
	*w = writer{run: w.run, log: w.log, seen: map[string]bool{}}
}

func (w *writer) add(ctx context.Context, ws *powerbi.Workspace) error {
	id, ok := parseID(ws.ID)
	if !ok {
		w.log.WarnContext(ctx, "skipped a workspace without a usable id")
		w.tally.Skipped++
		return nil
	}
	if ws.DataRetrievalState != "" && !strings.EqualFold(ws.DataRetrievalState, "Success") {
		return nil // as if it had not come
	}
	if w.seen[id] {
		w.tally.Skipped++ // twice: the first one counts
		return nil
	}
	w.seen[id] = true
	if strings.EqualFold(ws.State, "Deleted") || strings.EqualFold(ws.State, "Removing") {
		return nil // on its way out: not seen
	}
	unread := ws.Unreadable
	scanned := mirror.Workspace{ID: id, Name: ws.Name, Description: ws.Description, Type: ws.Type}
	scanned.Access = w.access(ws.Users, workspaceRight)
	for i := range ws.Datasets {
		d, ok := w.dataset(&ws.Datasets[i])
		if !ok {
			unread++
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
			unread++
			continue
		}
		report.DatasetID, _ = parseID(r.DatasetID)
		report.AppID, _ = parseID(r.AppID)
		report.OriginalID, _ = parseID(r.OriginalReportObjectID)
		scanned.Reports = append(scanned.Reports, report)
	}
	if unread > 0 {
		// What could not be read may be one of those that are known.
		w.log.WarnContext(ctx, "skipped what could not be read of a workspace", "workspace", id, "skipped", unread)
		w.tally.Skipped += unread
		w.partly = append(w.partly, id)
	}
	w.held = append(w.held, scanned)
	if w.elements >= batch {
		return w.flush(ctx)
	}
	return nil
}

func (w *writer) flush(ctx context.Context) error {
	twice, err := w.run.WriteWorkspaces(ctx, w.held)
	if err != nil {
		return err
	}
	if twice > 0 {
		w.log.WarnContext(ctx, "skipped datasets that are in another workspace too", "skipped", twice)
	}
	w.tally.Skipped += twice
	w.held, w.elements = nil, 0
	return nil
}

func (w *writer) access(list []powerbi.Access, known func(string) (string, bool)) []mirror.Entry {
	entries, unusable := accessEntries(list, known)
	w.tally.Unusable += unusable
	return entries
}

// Why there are no tables where Power BI gave neither tables nor a reason, by what
// is known to have none.
const (
	noSchema      = "Power BI gave no tables and no reason: the model may not have been refreshed since its metadata is read, or is read only once somebody uses it."
	noDirectQuery = "Power BI gave no tables: it reads those of a DirectQuery model only once somebody uses the model."
	noPush        = "Power BI gave no tables: it has none to give of a model into which data is pushed."
)

func reasonOf(d *powerbi.Dataset) string {
	provider := strings.ToLower(d.ContentProviderType)
	switch {
	case d.SchemaRetrievalError != "":
		return d.SchemaRetrievalError
	case strings.Contains(provider, "directquery"):
		return noDirectQuery
	case strings.Contains(provider, "push"):
		return noPush
	}
	return noSchema
}

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
		Access:         w.access(d.Users, artifactRight),
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
	if len(out.Tables) == 0 {
		out.SchemaError = reasonOf(d)
	}
	w.tally.Skipped += alike(out.Tables)
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

// alike counts columns and measures whose names differ from that of another in case
// or width alone: of these the first is kept, and rules on names cover both.
func alike(tables []knowledge.Table) (n int) {
	measures := map[string]bool{}
	columns := map[[2]string]bool{}
	for _, t := range tables {
		table := knowledge.Fold(t.Name)
		for _, c := range t.Columns {
			key := [2]string{table, knowledge.Fold(c.Name)}
			if columns[key] {
				n++
			}
			columns[key] = true
		}
		for _, m := range t.Measures {
			key := knowledge.Fold(m.Name)
			if measures[key] {
				n++
			}
			measures[key] = true
		}
	}
	return n
}

// accessEntries keeps the entries that give somebody a right, and counts those
// that name no right that is known or nobody whom we could recognise.
func accessEntries(list []powerbi.Access, known func(string) (string, bool)) (entries []mirror.Entry, unusable int) {
	for _, a := range list {
		object, isID := parseID(a.ObjectID)
		right, isRight := known(a.Right)
		switch {
		case isID && strings.EqualFold(a.Right, "None"):
			// Somebody whom the list names in order to give nothing.
		case !isID || !isRight:
			unusable++
		default:
			entries = append(entries, mirror.Entry{ObjectID: object, Right: right})
		}
	}
	return entries, unusable
}

// workspaceRight returns a role in a workspace as Power BI documents it.
func workspaceRight(right string) (string, bool) {
	for _, r := range []string{"Admin", "Member", "Contributor", "Viewer"} {
		if strings.EqualFold(right, r) {
			return r, true
		}
	}
	return "", false
}

// artifactRight returns a right to a dataset or an app as Power BI documents them:
// Read, and what comes with it.
func artifactRight(right string) (string, bool) {
	if strings.EqualFold(right, "All") {
		return "All", true
	}
	var spelled string
	for rest := right; rest != ""; {
		found := false
		for _, word := range []string{"Read", "Write", "Reshare", "Explore", "Copy"} {
			if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
				spelled, rest, found = spelled+word, rest[len(word):], true
				break
			}
		}
		if !found {
			return "", false
		}
	}
	return spelled, strings.HasPrefix(spelled, "Read")
}

// parseID returns a uuid in the one form in which we keep it.
func parseID(s string) (string, bool) {
	id, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return id.String(), true
}

// KindOfHole says in a few words, which name no dataset, for which of the known
// causes Power BI gave no schema, from the reason that is stored with a dataset.
func KindOfHole(reason string) string {
	lower := strings.ToLower(reason)
	switch {
	case reason == noSchema:
		return "no reason given: not refreshed lately, or not used"
	case reason == noDirectQuery:
		return "DirectQuery: read once somebody uses the model"
	case reason == noPush:
		return "data is pushed into the model"
	case strings.Contains(lower, "object-level security"), strings.Contains(lower, "object level security"):
		return "object-level security"
	}
	return "another error of Power BI's, which the dataset shows"
}
