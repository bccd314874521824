package scan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/scan"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		runWorker() // this process is one that a test kills
		return
	}
	postgrestest.Main(m)
}

// A tenant is a Source whose scans are as JSON as Power BI's.
type tenant struct {
	mu         sync.Mutex
	workspaces map[string]string // id → JSON
	apps       []powerbi.App
	audiences  map[string][]powerbi.Access
	scans      map[string][]string

	since   []time.Time
	fail    func(call string) error // asked before each call
	status  string                  // of a scan; Succeeded where empty
	pending int                     // how many looks find a scan still running
}

func newTenant() *tenant {
	return &tenant{workspaces: map[string]string{}, audiences: map[string][]powerbi.Access{}, scans: map[string][]string{}}
}

func (t *tenant) call(name string) error {
	if t.fail == nil {
		return nil
	}
	return t.fail(name)
}

func (t *tenant) ModifiedWorkspaces(_ context.Context, _ string, since time.Time) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = append(t.since, since)
	var ids []string
	for id := range t.workspaces {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, t.call("modified")
}

func (t *tenant) StartScan(_ context.Context, _ string, ids []string) (powerbi.Scan, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.call("start"); err != nil {
		return powerbi.Scan{}, err
	}
	s := powerbi.Scan{ID: fmt.Sprint("scan-", len(t.scans)), Status: "NotStarted"}
	t.scans[s.ID] = ids
	return s, nil
}

func (t *tenant) ScanStatus(_ context.Context, _, id string) (powerbi.Scan, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.call("status"); err != nil {
		return powerbi.Scan{}, err
	}
	s := powerbi.Scan{ID: id, Status: "SUCCEEDED"}
	switch {
	case t.pending > 0:
		t.pending--
		s.Status = "Running"
	case t.status != "":
		s.Status, s.Error.Code = t.status, "SomeCode"
	}
	return s, nil
}

func (t *tenant) ScanResult(_ context.Context, _, id string, each func(*powerbi.Workspace) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.call("result"); err != nil {
		return err
	}
	for _, ws := range t.scans[id] {
		if t.workspaces[ws] == "" {
			continue
		}
		var w powerbi.Workspace
		if err := json.Unmarshal([]byte(t.workspaces[ws]), &w); err != nil {
			return err
		}
		if err := each(&w); err != nil {
			return err
		}
		if err := t.call("after " + ws); err != nil {
			return err
		}
	}
	return nil
}

func (t *tenant) Apps(context.Context, string) ([]powerbi.App, error) { return t.apps, t.call("apps") }

func (t *tenant) AppUsers(_ context.Context, _, id string) ([]powerbi.Access, error) {
	return t.audiences[id], t.call("audience")
}

func newScanner(db *postgrestest.Database, t *tenant) *scan.Scanner {
	return newScannerOver(db.Worker(), t)
}

func newScannerOver(pool *pgxpool.Pool, t *tenant) *scan.Scanner {
	return &scan.Scanner{
		Source: t,
		Token:  func(context.Context) (string, error) { return "token", nil },
		Mirror: mirror.New(pool),
		Log:    slog.New(slog.DiscardHandler),
		Wait:   func(context.Context, time.Duration) error { return nil },
	}
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

// workspace is the JSON of a workspace with datasets of one table each.
func workspace(n int, datasets ...string) string {
	return fmt.Sprintf(`{"id":%q,"name":"W%d","type":"Workspace","state":"Active","datasets":[%s]}`, id(n), n, strings.Join(datasets, ","))
}

func dataset(n int, columns ...string) string {
	list, _ := json.Marshal(columns)
	cols := []string{}
	for _, c := range columns {
		cols = append(cols, fmt.Sprintf(`{"name":%q,"dataType":"String"}`, c))
	}
	_ = list
	return fmt.Sprintf(`{"id":%q,"name":"D%d","tables":[{"name":"T","columns":[%s],"measures":[{"name":"M","expression":"COUNTROWS ( T )"}]}]}`,
		id(n), n, strings.Join(cols, ","))
}

// list is one text of a query's only column, its rows joined by a blank.
func list(db *postgrestest.Database, query string) string {
	var s string
	db.QueryRow("select coalesce(string_agg(x::text, ' ' order by x), '') from ("+query+") q(x)", nil, &s)
	return s
}

const liveDatasets = "select name from powerbi_dataset where removed_at is null"

func lastRun(t *testing.T, db *postgrestest.Database) mirror.Record {
	t.Helper()
	run, ok, err := mirror.Last(t.Context(), db.API(),
		[]mirror.Kind{mirror.Full, mirror.Incremental}, []mirror.State{mirror.Running, mirror.Succeeded, mirror.Failed})
	if err != nil || !ok {
		t.Fatalf("no run: %v", err)
	}
	return run
}

// SYNC-06, BOOK-01
func TestAbsenceCountsOnlyAfterACompleteScan(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, fail := range map[string]func(call string) error{
		"failing while the result is read": func(call string) error {
			if call == "after "+id(1) {
				return boom
			}
			return nil
		},
		"failing to start":        func(call string) error { return map[string]error{"start": boom}[call] },
		"failing at the list":     func(call string) error { return map[string]error{"modified": boom}[call] },
		"failing at the status":   func(call string) error { return map[string]error{"status": boom}[call] },
		"failing at the apps":     func(call string) error { return map[string]error{"apps": boom}[call] },
		"failing at the audience": func(call string) error { return map[string]error{"audience": boom}[call] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, src := postgrestest.New(t), newTenant()
			s := newScanner(db, src)
			src.apps = []powerbi.App{{ID: id(70), Name: "A", WorkspaceID: id(1)}}
			src.workspaces[id(1)] = workspace(1, dataset(11, "a", "b"))
			src.workspaces[id(2)] = workspace(2, dataset(12, "a"), dataset(13, "a"))
			if done, err := s.Full(t.Context()); err != nil || done.Counts != (mirror.Counts{Datasets: 3, Measures: 3, Columns: 4}) {
				t.Fatalf("got %+v, %v", done, err)
			}

			delete(src.workspaces, id(2))
			src.workspaces[id(1)] = workspace(1, dataset(11, "a"))
			src.fail = fail
			if _, err := s.Full(t.Context()); !errors.Is(err, boom) {
				t.Fatalf("got %v", err)
			}
			if got := list(db, liveDatasets); got != "D11 D12 D13" {
				t.Errorf("after a failed scan: %s", got)
			}
			if got := list(db, "select name from powerbi_column where removed_at is null and dataset_id = '"+id(11)+"'"); got != "a b" {
				t.Errorf("after a failed scan: columns %s", got)
			}
			if run := lastRun(t, db); run.State != mirror.Failed || run.Error != "boom" || run.EndedAt == nil {
				t.Errorf("got the run %+v", run)
			}

			src.fail = nil
			if _, err := s.Full(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := list(db, liveDatasets); got != "D11" {
				t.Errorf("after a complete scan: %s", got)
			}
			if got := list(db, "select name from powerbi_dataset"); got != "D11 D12 D13" {
				t.Errorf("rows of what was removed are gone: %s", got)
			}
			if got := list(db, "select name from powerbi_column where removed_at is null"); got != "a" {
				t.Errorf("after a complete scan: columns %s", got)
			}
			if run := lastRun(t, db); run.State != mirror.Succeeded || run.Counts.Datasets != 1 {
				t.Errorf("got the run %+v", run)
			}

			src.workspaces[id(2)] = workspace(2, dataset(12, "a"), dataset(13, "a"))
			src.workspaces[id(1)] = workspace(1, dataset(11, "a", "b"))
			if done, err := s.Full(t.Context()); err != nil || done.Counts != (mirror.Counts{Datasets: 3, Measures: 3, Columns: 4}) {
				t.Errorf("after they came back: %+v, %v", done, err)
			}
		})
	}
}

// SYNC-06
func TestAScanThatEndsBadlyFailsTheRun(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	src.workspaces[id(1)] = workspace(1, dataset(11, "a"))
	src.status, src.pending = "Failed", 3
	_, err := newScanner(db, src).Full(t.Context())
	var failed *scan.FailedError
	if !errors.As(err, &failed) || failed.Code != "SomeCode" || src.pending != 0 {
		t.Errorf("got %v with %d looks left", err, src.pending)
	}
}

// SYNC-06: a workspace that is listed but comes without its content, or not at
// all, is not known to be empty.
func TestAWorkspaceLeftOutOfAScanStays(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	for n := 1; n <= 3; n++ {
		src.workspaces[id(n)] = workspace(n, dataset(10+n, "a"))
	}
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	src.workspaces[id(1)] = ""
	src.workspaces[id(2)] = fmt.Sprintf(`{"id":%q,"name":"W2","dataRetrievalState":"Failed"}`, id(2))
	src.workspaces[id(3)] = fmt.Sprintf(`{"id":%q,"name":"W3","dataRetrievalState":"Success"}`, id(3))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, liveDatasets); got != "D11 D12" {
		t.Errorf("got %s", got)
	}
}

// BOOK-02
func TestADatasetWithoutSchemaKeepsTheReasonAndWhatWasKnown(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	src.workspaces[id(1)] = workspace(1, dataset(11, "a"), fmt.Sprintf(`{"id":%q,"name":"D12"}`, id(12)))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	const errorsOf = "select name || ':' || (case when schema_error = '' then 'no' else left(schema_error, 8) end) from powerbi_dataset"
	if got := list(db, errorsOf); got != "D11:no D12:Power BI" {
		t.Errorf("got %s", got)
	}
	src.workspaces[id(1)] = workspace(1, fmt.Sprintf(`{"id":%q,"name":"D11","schemaRetrievalError":"Object level security"}`, id(11)))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, errorsOf+" where removed_at is null"); got != "D11:Object l" {
		t.Errorf("got %s", got)
	}
	if got := list(db, "select name from powerbi_column where removed_at is null and dataset_id = '"+id(11)+"'"); got != "a" {
		t.Errorf("columns %s", got)
	}
}

// SYNC-04, SYNC-05, VIS-19, VIS-20
func TestWhatIsStored(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	src.workspaces[id(1)] = fmt.Sprintf(`{"id":%q,"name":"North","description":"about","type":"Workspace",
		"users":[{"groupUserAccessRight":"Viewer","graphId":%q},{"groupUserAccessRight":"None","graphId":%q},{"graphId":%q},
			{"groupUserAccessRight":"Admin","identifier":"mira@north.example","principalType":"User"}],
		"datasets":[{"id":%q,"name":"SALES Ｘ","description":"desc","configuredBy":"mira","targetStorageMode":"Abf",
			"endorsementDetails":{"endorsement":"Certified"},"sensitivityLabel":{"labelId":"label"},
			"expressions":[{"name":"Server","expression":"\"MARK-PARAMETER\" meta [IsParameterQuery=true]"},{"name":"f","expression":"let MARK-M in x"}],
			"tables":[{"name":"Customer","isHidden":true,"description":"people","source":[{"expression":"Sql.Database(\"MARK-SERVER\")"}],
				"columns":[{"name":"RowNumber-2662979B-1795-4F74-8F37-6A1BA8059B61","dataType":"Int64"},
					{"name":"Key","dataType":"Int64","isHidden":true},
					{"name":"Initial","dataType":"String","columnType":"Calculated","expression":"LEFT ( Customer[Name], 1 )"},
					{"name":"INITIAL","dataType":"String"},{"name":"nul\u0000","dataType":"Odd"}],
				"measures":[{"name":"Customers","expression":"COUNTROWS ( Customer )","description":"how many","isHidden":true}]}],
			"roles":[{"name":"North only","members":[{"memberName":"grp","memberId":"ABC","memberType":"Group"}],
				"tablePermissions":[{"name":"Customer","filterExpression":"[Region] = \"North\""}]}],
			"users":[{"datasetUserAccessRight":"ReadExplore","graphId":%q},{"datasetUserAccessRight":"Read","graphId":%q}]}],
		"reports":[{"id":%q,"name":"R","datasetId":%q},{"id":%q,"name":"[App] R","datasetId":%q,"appId":%q,"originalReportObjectId":%q}]}`,
		id(1), id(101), id(102), id(103), id(11), id(104), id(104), id(51), id(11), id(52), id(11), id(70), id(51))
	src.apps = []powerbi.App{{ID: id(70), Name: "A", Description: "an app", WorkspaceID: id(1)}, {ID: "odd", WorkspaceID: id(1)}, {ID: id(71), WorkspaceID: id(99)}}
	src.audiences[id(70)] = []powerbi.Access{{Right: "Read", ObjectID: strings.ToUpper(id(105))}, {ObjectID: id(106)}}

	done, err := newScanner(db, src).Full(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := done.Counts
	// The workspace's entries without a right and without an object id, the app's without a right.
	if want := (mirror.Counts{Datasets: 1, Measures: 1, Columns: 3, UnusableEntries: 3}); counts != want {
		t.Errorf("got %+v, want %+v", counts, want)
	}
	if run := lastRun(t, db); run.Counts != counts {
		t.Errorf("the run has %+v", run.Counts)
	}
	for query, want := range map[string]string{
		"select concat_ws('|', name, folded, description, type) from powerbi_workspace": "North|north|about|Workspace",
		`select concat_ws('|', name, folded, description, configured_by, endorsement, sensitivity_label, storage_mode, has_row_level_security, schema_error)
			from powerbi_dataset`: "SALES Ｘ|sales x|desc|mira|Certified|label|Abf|t|",
		"select concat_ws('|', name, folded, description, is_hidden) from powerbi_table": "Customer|customer|people|t",
		"select concat_ws('|', name, folded, data_type, is_hidden, expression) from powerbi_column": "Initial|initial|string|f|LEFT ( Customer[Name], 1 ) " +
			"Key|key|int64|t| nul|nul|variant|f|",
		"select concat_ws('|', name, expression, description, is_hidden) from powerbi_measure": "Customers|COUNTROWS ( Customer )|how many|t",
		"select name || definition::text from powerbi_role":                                    `North only{"tables": [{"table": "Customer", "filter": "[Region] = \"North\""}], "members": [{"kind": "Group", "name": "grp", "object_id": "abc"}]}`,
		"select concat_ws('|', name, dataset_id, app_id, original_id) from powerbi_report":     fmt.Sprintf("R|%s [App] R|%[1]s|%s|%s", id(11), id(70), id(51)),
		"select concat_ws('|', name, description, workspace_id) from powerbi_app":              "A|an app|" + id(1),
		"select app_id || '|' || dataset_id from powerbi_app_dataset":                          id(70) + "|" + id(11),
		"select concat_ws('|', item_kind, item_id, object_id, access_right) from powerbi_access": fmt.Sprintf(
			"app|%s|%s|Read dataset|%s|%s|ReadExplore workspace|%s|%s|Viewer", id(70), id(105), id(11), id(104), id(1), id(101)),
	} {
		got := strings.Fields(list(db, query))
		wanted := strings.Fields(want)
		slices.Sort(got)
		slices.Sort(wanted)
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", query, d)
		}
	}

	// Every table of the database, jobs included, as text.
	var tables []string
	db.QueryRow("select array_agg(quote_ident(table_name)) from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'", nil, &tables)
	for _, table := range tables {
		if got := list(db, "select t::text from "+table+" t where t::text like '%MARK%' or t::text like '%mira@%'"); got != "" {
			t.Errorf("%s has %s", table, got)
		}
	}
}

func TestListsAreReplaced(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	users := func(rights ...string) string {
		var u []string
		for i, r := range rights {
			if r != "" {
				u = append(u, fmt.Sprintf(`{"groupUserAccessRight":%q,"graphId":%q}`, r, id(100+i)))
			}
		}
		return fmt.Sprintf(`{"id":%q,"name":"W","users":[%s]}`, id(1), strings.Join(u, ","))
	}
	const rights = "select right(object_id::text, 1) || access_right from powerbi_access"
	for _, step := range []struct{ json, want string }{
		{users("Viewer", "Viewer", "Admin"), "4Viewer 5Viewer 6Admin"},
		{users("", "Admin", "Admin", "Member"), "5Admin 6Admin 7Member"},
		{users(), ""},
	} {
		src.workspaces[id(1)] = step.json
		if _, err := s.Incremental(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := list(db, rights); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
	src.workspaces[id(1)] = users("Viewer")
	s.Full(t.Context())
	delete(src.workspaces, id(1))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, rights); got != "" {
		t.Errorf("a removed workspace still gives %q", got)
	}
}

// SYNC-09
func TestIncrementalReadsWhatChanged(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	src.workspaces[id(1)] = workspace(1, dataset(11, "a", "b"))
	src.workspaces[id(2)] = workspace(2, dataset(12, "a"))
	if _, err := s.Incremental(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := lastRun(t, db)
	if first.Kind != mirror.Full || !src.since[0].IsZero() {
		t.Errorf("the first one was %s since %s", first.Kind, src.since[0])
	}
	delete(src.workspaces, id(2))
	src.workspaces[id(1)] = workspace(1, dataset(11, "b", "c"), dataset(13, "a"))
	src.fail = func(call string) error {
		if call == "apps" {
			t.Error("an incremental run reads apps")
		}
		return nil
	}
	if _, err := s.Incremental(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run := lastRun(t, db); run.Kind != mirror.Incremental || !src.since[1].Equal(first.StartedAt.Add(-31*time.Minute)) {
		t.Errorf("the second one was %s since %s", run.Kind, src.since[1])
	}
	if got := list(db, liveDatasets); got != "D11 D12 D13" {
		t.Errorf("got %s: what did not change is not gone", got)
	}
	if got := list(db, "select name from powerbi_column where removed_at is null and dataset_id = '"+id(11)+"'"); got != "b c" {
		t.Errorf("columns %s", got)
	}
}

// PII-120
func TestARelationshipGoesOnlyWhenAFullScanConfirmsIt(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	src.workspaces[id(1)] = workspace(1, dataset(11, "a", "b", "C"))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"B", "c"} {
		db.Exec("insert into model_relationship (dataset_id, from_table, from_column, to_table, to_column, is_active) values ($1, 'T', 'a', 'T', $2, true)", id(11), column)
	}
	const joined = "select to_column from model_relationship"
	src.workspaces[id(1)] = workspace(1, dataset(11, "a", "c"))
	if _, err := s.Incremental(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, joined); got != "B c" {
		t.Errorf("after an incremental run: %s", got)
	}
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, joined); got != "c" {
		t.Errorf("after a full run: %s", got)
	}
	delete(src.workspaces, id(1))
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, joined); got != "c" {
		t.Errorf("after the dataset went: %q", got)
	}
}

func TestThrottledRequestsAreSentAgain(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	s := newScanner(db, src)
	src.workspaces[id(1)] = workspace(1, dataset(11, "a"))
	var mu sync.Mutex
	var waits []time.Duration
	s.Wait = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, d)
		return nil
	}
	refusals := []error{&powerbi.Error{Status: 429, RetryAfter: time.Minute}, &powerbi.Error{Status: 503}}
	src.fail = func(call string) error {
		if call != "start" || len(refusals) == 0 {
			return nil
		}
		err := refusals[0]
		refusals = refusals[1:]
		return err
	}
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{time.Minute, 4 * time.Second, time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waited %v, want %v", waits, want)
	}

	src.fail = func(string) error { return &powerbi.Error{Status: 403, Code: "X"} }
	waits = nil
	if _, err := s.Full(t.Context()); err == nil || len(waits) > 0 {
		t.Errorf("got %v after waiting %v", err, waits)
	}
	if run := lastRun(t, db); !strings.HasPrefix(run.Error, "power bi answered 403 X. The scanner's app must be in the security group") {
		t.Errorf("stored %q", run.Error)
	}
}

func TestOneSyncAtATime(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	m := mirror.New(db.Worker())
	run, err := m.Begin(t.Context(), mirror.Full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Begin(t.Context(), mirror.Full); !errors.Is(err, mirror.ErrRunning) {
		t.Errorf("got %v", err)
	}
	if err := run.Fail(t.Context(), errors.New("x")); err != nil {
		t.Fatal(err)
	}
	again, err := m.Begin(t.Context(), mirror.Full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Complete(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A run whose process died leaves a row that the next one ends.
func TestAnInterruptedRunIsRecordedAsFailed(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("insert into sync_run (kind, state) values ('full', 'running')")
	s := newScanner(db, newTenant())
	if _, err := s.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := list(db, "select state || coalesce(error, '') from sync_run"); got != "failedinterrupted succeeded" {
		t.Errorf("got %s", got)
	}
}

// SYNC-08
func TestTheStoredErrorHasNoParameters(t *testing.T) {
	t.Parallel()
	db, src := postgrestest.New(t), newTenant()
	db.Exec("alter table powerbi_workspace add check (name <> 'MARK')")
	src.workspaces[id(1)] = fmt.Sprintf(`{"id":%q,"name":"MARK"}`, id(1))
	_, err := newScanner(db, src).Full(t.Context())
	if err == nil {
		t.Fatal("the insert did not fail")
	}
	run := lastRun(t, db)
	if !strings.Contains(run.Error, "violates check constraint") || strings.Contains(run.Error, "MARK") || strings.Contains(err.Error(), "MARK") {
		t.Errorf("stored %q, got %v", run.Error, err)
	}
}
