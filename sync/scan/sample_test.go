package scan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/scan"
)

// A site is the sample tenant over HTTP, with all that it was asked and answered.
type site struct {
	*sample.Tenant
	url string

	mu      sync.Mutex
	asked   []string
	answers map[string][]byte // the last answer by path
}

func newSite(t *testing.T, cfg sample.Config) *site {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	tenant, err := sample.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Tenant: tenant, answers: map[string][]byte{}}
	h := tenant.Handler()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		copied := &copier{ResponseWriter: w}
		h.ServeHTTP(copied, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		s.answers[r.URL.Path] = copied.b.Bytes()
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

type copier struct {
	http.ResponseWriter
	b bytes.Buffer
}

func (c *copier) Write(p []byte) (int, error) { c.b.Write(p); return c.ResponseWriter.Write(p) }

// count is how many requests came whose method and path hold part.
func (s *site) count(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		if strings.Contains(a, part) {
			n++
		}
	}
	return n
}

func (s *site) scanner(t *testing.T, db *postgrestest.Database, log *slog.Logger) *scan.Scanner {
	t.Helper()
	sc, err := scannerOf(s.url, db.Worker(), log)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// scannerOf is the scanner of a process, but that it waits for nothing.
func scannerOf(url string, pool *pgxpool.Pool, log *slog.Logger) (*scan.Scanner, error) {
	h, err := fetch.NewFixed([]string{url}, fetch.Options{Environment: "test", Timeout: 5 * time.Minute, MaxBytes: 1 << 30})
	if err != nil {
		return nil, err
	}
	app := entra.New(url+sample.LoginPath, sample.TenantID, entra.Registration{
		ClientID: sample.ScannerID, Secret: func(context.Context) (string, error) { return sample.ScannerSecret, nil },
	}, h, time.Now)
	return &scan.Scanner{
		Source: powerbi.New(url+sample.PowerBIPath+"/v1.0/myorg", h),
		Token:  func(ctx context.Context) (string, error) { return app.AppToken(ctx, powerbi.AppScope) },
		Mirror: mirror.New(pool),
		Log:    log,
		Wait:   func(context.Context, time.Duration) error { return nil },
	}, nil
}

// scanned is what the tenant's own answers say, counted without our parser.
type scanned struct {
	Workspaces []struct {
		Users    []map[string]any
		Reports  []any
		Datasets []struct {
			Name        string
			Users       []map[string]any
			Roles       []any
			Expressions []struct{ Expression string }
			Tables      []struct {
				Source   []struct{ Expression string }
				Columns  []struct{ Name string }
				Measures []struct{ Expression string }
			}
			SchemaRetrievalError string
		}
	}
}

// SYNC-02, SYNC-03, SYNC-04, SYNC-05, SYNC-07, BOOK-01, BOOK-02
func TestSampleTenant(t *testing.T) {
	t.Parallel()
	db, s := postgrestest.New(t), newSite(t, sample.Config{})
	var log bytes.Buffer
	sc := s.scanner(t, db, slog.New(slog.NewJSONHandler(&log, nil)))
	done, err := sc.Full(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sc.Incremental(t.Context()); err != nil {
		t.Fatal(err)
	}

	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	called := map[string]bool{}
	for _, a := range s.asked {
		if !strings.Contains(a, sample.LoginPath) {
			called[ids.ReplaceAllString(a, "{id}")] = true
		}
	}
	const root = sample.PowerBIPath + "/v1.0/myorg/admin/"
	want := map[string]bool{
		"GET " + root + "workspaces/modified":        true,
		"POST " + root + "workspaces/getInfo":        true,
		"GET " + root + "workspaces/scanStatus/{id}": true,
		"GET " + root + "workspaces/scanResult/{id}": true,
		"GET " + root + "apps":                       true,
		"GET " + root + "apps/{id}/users":            true,
	}
	if d := cmp.Diff(want, called); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}

	// What the fixture holds, and what of it must not be kept.
	counts := map[string]int{}
	var marks, measures []string
	rights := func(list []map[string]any) (n int) {
		for _, u := range list {
			for k, v := range u {
				if right, _ := v.(string); strings.HasSuffix(k, "UserAccessRight") && right != "" && right != "None" && u["graphId"] != nil {
					n++
				}
			}
		}
		return n
	}
	for path, body := range s.answers {
		body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
		switch {
		case strings.HasSuffix(path, "/admin/apps"):
			var apps struct{ Value []any }
			json.Unmarshal(body, &apps)
			counts["powerbi_app"] += len(apps.Value)
		case strings.HasSuffix(path, "/users"):
			var users struct{ Value []map[string]any }
			json.Unmarshal(body, &users)
			counts["powerbi_access"] += rights(users.Value)
		case strings.Contains(path, "/scanResult/"):
			var all scanned
			if err := json.Unmarshal(body, &all); err != nil {
				t.Fatal(err)
			}
			if counts["powerbi_workspace"] > 0 {
				continue // the incremental run's answer
			}
			for _, w := range all.Workspaces {
				counts["powerbi_workspace"]++
				counts["powerbi_report"] += len(w.Reports)
				counts["powerbi_access"] += rights(w.Users)
				for _, d := range w.Datasets {
					counts["powerbi_dataset"]++
					counts["powerbi_role"] += len(d.Roles)
					counts["powerbi_access"] += rights(d.Users)
					if len(d.Tables) == 0 {
						counts["without schema"]++
						counts["powerbi_role"] -= len(d.Roles)
					}
					for _, e := range d.Expressions {
						marks = append(marks, e.Expression)
					}
					for _, tb := range d.Tables {
						counts["powerbi_table"]++
						counts["powerbi_measure"] += len(tb.Measures)
						for _, c := range tb.Columns {
							if !strings.HasPrefix(c.Name, "RowNumber") {
								counts["powerbi_column"]++
							}
						}
						for _, src := range tb.Source {
							marks = append(marks, src.Expression)
						}
						for _, m := range tb.Measures {
							measures = append(measures, m.Expression)
						}
					}
				}
			}
		}
	}
	for table, n := range counts {
		if table == "without schema" {
			continue
		}
		var stored int
		db.QueryRow("select count(*) from "+table+map[bool]string{true: " where removed_at is null", false: ""}[table != "powerbi_access"], nil, &stored)
		if stored != n || n == 0 {
			t.Errorf("%s has %d rows, the tenant %d", table, stored, n)
		}
	}
	if got := done.Counts; got.Datasets != counts["powerbi_dataset"] || got.Measures != counts["powerbi_measure"] || got.Columns != counts["powerbi_column"] {
		t.Errorf("counted %+v, want %v", got, counts)
	}
	var reasons int
	db.QueryRow("select count(*) from powerbi_dataset where schema_error <> ''", nil, &reasons)
	if reasons != counts["without schema"] {
		t.Errorf("%d datasets with a reason, %d without schema", reasons, counts["without schema"])
	}
	if len(marks) == 0 || len(measures) == 0 {
		t.Fatalf("%d expressions and %d measures to look for", len(marks), len(measures))
	}
	for _, m := range measures {
		var n int
		if db.QueryRow("select count(*) from powerbi_measure where expression = $1", []any{m}, &n); n == 0 {
			t.Errorf("the measure %q is not stored", m)
		}
	}

	var dump strings.Builder
	var tables []string
	db.QueryRow("select array_agg(quote_ident(table_name)) from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'", nil, &tables)
	for _, table := range tables {
		dump.WriteString(list(db, "select t::text from "+table+" t"))
	}
	dump.WriteString(log.String())
	servers := regexp.MustCompile(`"([^"]{4,})"`)
	for _, mark := range marks {
		if strings.Contains(dump.String(), mark) {
			t.Errorf("%q was kept", mark)
		}
		if !strings.Contains(mark, "Sql.Database") && !strings.Contains(mark, "IsParameterQuery") {
			continue
		}
		for _, part := range servers.FindAllStringSubmatch(mark, -1) {
			if strings.Contains(part[1], ".") && strings.Contains(dump.String(), part[1]) {
				t.Errorf("%q was kept", part[1])
			}
		}
	}
}

// SYNC-09
func TestAMemberOfAWorkspaceComesAndGoesWithOneIncrementalRun(t *testing.T) {
	t.Parallel()
	db, s := postgrestest.New(t), newSite(t, sample.Config{})
	sc := s.scanner(t, db, slog.New(slog.DiscardHandler))
	if _, err := sc.Full(t.Context()); err != nil {
		t.Fatal(err)
	}
	var outsider string
	for _, p := range s.People() {
		if strings.HasPrefix(p.UPN, "outsider@") {
			outsider = p.ObjectID
		}
	}
	reach := func() string {
		return list(db, "select w.name from powerbi_access a join powerbi_workspace w on w.id = a.item_id where a.object_id = '"+outsider+"'")
	}
	if got := reach(); got != "" {
		t.Fatalf("the outsider reaches %s", got)
	}
	for _, step := range []struct{ right, want string }{{"Viewer", "Commercial"}, {"", ""}} {
		if err := s.SetWorkspaceRight("Commercial", "outsider@sample.example", step.right); err != nil {
			t.Fatal(err)
		}
		if _, err := sc.Incremental(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := reach(); got != step.want {
			t.Errorf("with the right %q: reaches %q", step.right, got)
		}
	}
}

// SYNC-06
func TestAFaultOfTheTenantMidwayRemovesNothing(t *testing.T) {
	t.Parallel()
	db, s := postgrestest.New(t), newSite(t, sample.Config{})
	sc := s.scanner(t, db, slog.New(slog.DiscardHandler))
	first, err := sc.Full(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]sample.Fault{
		"a connection that ends": {Path: "*scanResult", Drop: true},
		"half an answer":         {Path: "*scanResult", Status: 200, Body: `{"workspaces":[{"id":"` + s.WorkspaceID("Commercial") + `","name":"Commercial"},`},
		"an error":               {Path: "*/users", Count: 5, Status: 403},
	} {
		s.Break(fault)
		if _, err := sc.Full(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		s.Mend()
		var n int
		db.QueryRow("select count(*) from powerbi_dataset where removed_at is null", nil, &n)
		if n != first.Counts.Datasets {
			t.Errorf("%s: %d datasets of %d are left", name, n, first.Counts.Datasets)
		}
		// The next run goes on with it, and finds everything as it was.
		if done, err := sc.Full(t.Context()); err != nil || done.Counts != first.Counts {
			t.Errorf("%s: then %+v, %v", name, done, err)
		}
	}
	// Throttling is waited for.
	s.Break(sample.Fault{Path: "*getInfo", Count: 2, Status: 429, RetryAfter: 1})
	if done, err := sc.Full(t.Context()); err != nil || done.Counts != first.Counts || len(done.Changed) != 0 {
		t.Errorf("got %+v, %v, want %+v and nothing changed", done, err, first.Counts)
	}
}
