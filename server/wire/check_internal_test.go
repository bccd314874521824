package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/sample"
	checktool "github.com/pbmb/pbmb/tools/check"
)

// checks reads the list of checks, or has them made, by their names.
func (b *browser) checks(method string) (map[string]checktool.Item, string) {
	b.Helper()
	body := ""
	if method == http.MethodPost {
		body = "{}"
	}
	a := b.send(method, "/api/v1/admin/checks", body, nil)
	var out checktool.Output
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || a.status != http.StatusOK {
		b.Fatalf("%s of the checks answered %d %s", method, a.status, a.body)
	}
	byID := map[string]checktool.Item{}
	for _, i := range out.Checks {
		byID[i.ID] = i
	}
	return byID, a.body
}

// settled has the checks made and waits until none of some is pending.
func (b *browser) settled(some ...string) (map[string]checktool.Item, string) {
	b.Helper()
	first, _ := b.checks(http.MethodPost)
	for _, id := range some {
		if first[id].State != "pending" {
			b.Errorf("%s is %s as soon as it is to be made", id, first[id].State)
		}
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		all, body := b.checks(http.MethodGet)
		pending := false
		for _, id := range some {
			pending = pending || all[id].State == "pending"
		}
		if !pending {
			return all, body
		}
	}
	b.Fatalf("the checks %q do not end", some)
	return nil, ""
}

// JOBS-05, JOBS-09, FETCH-26
func TestChecksOfADeployment(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	admin := d.signIn("admin@sample.example")
	want := map[string]string{
		"database": "passed", "policies": "passed", "secrets": "passed", "sync_age": "passed", "scanner": "passed", "what_to_sync": "passed",
		"app_registration": "failed", // the sample tenant consents to a lot
	}
	names := []string{}
	for id := range want {
		names = append(names, id)
	}
	got, _ := admin.settled(names...)
	for id, state := range want {
		if got[id].State != state || got[id].Answer == "" || got[id].CheckedAt.IsZero() {
			t.Errorf("%s: %+v, want %s", id, got[id], state)
		}
	}
	if answer := got["app_registration"].Answer; !strings.Contains(answer, "Tenant.Read.All") {
		t.Errorf("the app registration: %s", answer)
	}
	var rows int
	d.db.QueryRow("select count(*) from audit_event where action = 'run_checks' and outcome = 'allow' and principal_name = 'admin@sample.example'", nil, &rows)
	if rows != 1 {
		t.Errorf("%d rows are audited", rows)
	}
	if a := admin.send(http.MethodGet, "/api/v1/admin/status", "", nil); !strings.Contains(a.body, `"failing_checks":["app_registration"]`) {
		t.Errorf("the status is %s", a.body)
	}
	curator := d.signIn("curator@sample.example")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if a := curator.send(method, "/api/v1/admin/checks", strings.Repeat("{}", len(method)-3), nil); a.status != http.StatusForbidden {
			t.Errorf("a curator's %s answered %d", method, a.status)
		}
	}

	// A secret that Microsoft refuses, so that it can be one that nothing else resembles.
	const value = "wZ8~qJ4vXk9.Lp2_Rt6-Hy3mBn5c"
	if a := admin.send(http.MethodPut, "/api/v1/admin/secrets/scanner.client_secret", `{"value": "`+value+`"}`, nil); a.status != http.StatusOK {
		t.Fatalf("setting the secret answered %d", a.status)
	}
	got, body := admin.settled("scanner", "what_to_sync")
	if got["scanner"].State != "failed" || !strings.Contains(got["scanner"].Answer, "refuses the client secret") {
		t.Errorf("with a wrong secret: %+v", got["scanner"])
	}
	tables := []string{}
	d.db.QueryRow(`select array_agg(table_name::text) from information_schema.table_privileges where grantee = 'api_rw' and privilege_type = 'SELECT'`, nil, &tables)
	everything := body + d.logged()
	for _, table := range tables {
		var text string
		if err := d.db.API().QueryRow(t.Context(), "select coalesce(string_agg(t::text, ' '), '') from "+table+" t").Scan(&text); err != nil {
			t.Fatal(err)
		}
		everything += text
	}
	if !strings.Contains(everything, "refuses the client secret") || len(tables) < 30 {
		t.Fatalf("of %d tables no answer is read", len(tables))
	}
	for i := 0; i+8 <= len(value); i++ {
		if strings.Contains(everything, value[i:i+8]) {
			t.Errorf("a part of the scanner's secret, from %d on, is told", i)
		}
	}
}

// JOBS-05: without the worker its checks stay pending, and the api asks for no token
// of the scanner's.
func TestTheAPIMakesNoCheckOfTheScanner(t *testing.T) {
	t.Parallel()
	d := startDeployment(t, false)
	admin := d.signIn("admin@sample.example")
	got, _ := admin.settled("database", "policies", "secrets", "app_registration", "sync_age")
	for _, id := range []string{"scanner", "what_to_sync"} {
		if got[id].State != "pending" || got[id].Answer != "" {
			t.Errorf("%s: %+v", id, got[id])
		}
	}
	if got["app_registration"].State != "unknown" || got["sync_age"].State != "unknown" {
		t.Errorf("with nobody connected and nothing synced: %+v, %+v", got["app_registration"], got["sync_age"])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked[sample.ScannerID] != 0 || d.asked[sample.AppID] == 0 {
		t.Errorf("tokens were asked for so often: %v", d.asked)
	}
}

// The age of the syncs, by a clock of the test's.
func TestSyncsOfTwiceTheirScheduleFail(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	at := time.Now()
	ask := askSyncAge(db.API(), func() time.Time { return at })
	ends := func(when string, want check.Code) {
		t.Helper()
		err := ask(t.Context())
		if e, _ := err.(*check.Error); want == "" && err != nil || want != "" && (e == nil || e.Code != want) {
			t.Errorf("%s: %v, want %q", when, err, want)
		}
	}
	sync := func(kind mirror.Kind, state mirror.State) {
		t.Helper()
		db.Exec("insert into sync_run (kind, state, started_at, ended_at) values ('" + string(kind) + "', '" + string(state) + "', now(), now())")
	}
	ends("never", check.NoFull)
	sync(mirror.Full, mirror.Succeeded)
	sync(mirror.Incremental, mirror.Succeeded)
	ends("just now", "")
	start := at
	at = start.Add(time.Hour)
	ends("an hour ago", "")
	at = start.Add(2*time.Hour + time.Minute)
	ends("over two hours ago", check.OldChanges)
	db.Exec("update sync_run set ended_at = now() + interval '47 hours' where kind = 'incremental'")
	at = start.Add(24 * time.Hour)
	ends("a full one a day ago", "")
	at = start.Add(48*time.Hour + time.Minute)
	ends("a full one over two days ago", check.OldFull)
	db.Exec("update sync_run set state = 'failed' where kind = 'full'")
	ends("none that succeeded", check.NoFull)
}
