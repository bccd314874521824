package setting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	store "github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/tools/setting"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

const tenant = "5a3b1c00-7e57-4000-8000-0000000c0de5"

// book is a deployment of a bound tenant, with its settings in a real database.
type book struct {
	t     *testing.T
	db    *postgrestest.Database
	guard *operation.Guard
	defs  map[string]*operation.Def
}

func newBook(t *testing.T) *book {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	db.Exec("insert into deployment_tenant (tenant_id, mock) values ($1, true)", tenant)
	base, err := store.FromEnvironment(func(name string) string { return map[string]string{"POWERBI_TENANT_ID": tenant}[name] })
	if err != nil {
		t.Fatal(err)
	}
	b := &book{t: t, db: db, defs: map[string]*operation.Def{}}
	b.guard = &operation.Guard{Decider: &cerbostest.Fake{}, Audit: refusals{}, Log: slog.New(slog.DiscardHandler)}
	for _, d := range setting.Operations(store.New(db.API(), base)) {
		b.defs[d.Name] = d
	}
	return b
}

// refusals are audited elsewhere.
type refusals struct{}

func (refusals) Refused(context.Context, *policies.Principal, operation.Refusal) error { return nil }

func principal(kind policies.PrincipalKind, role string) *policies.Principal {
	return &policies.Principal{Kind: kind, ID: "p1", Email: role + "@sample.example", Roles: []string{role}, Via: policies.ViaCLI, ClientID: "pbmb-cli"}
}

var admin = principal(policies.Person, policies.RoleAdmin)

func (b *book) call(p *policies.Principal, name string, args map[string]any) (map[string]any, *operation.Error) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	out, failure := b.guard.Call(policies.NewContext(b.t.Context(), p), b.defs[name], raw)
	if failure != nil {
		return nil, failure
	}
	var answer map[string]any
	if err := json.Unmarshal(out.JSON, &answer); err != nil {
		b.t.Fatal(err)
	}
	return answer, nil
}

// set saves a setting as an admin and wants it to succeed.
func (b *book) set(key, value string) map[string]any {
	b.t.Helper()
	answer, failure := b.call(admin, "set_setting", map[string]any{"key": key, "value": value})
	if failure != nil {
		b.t.Fatalf("%s = %s: %v", key, value, failure)
	}
	return answer
}

func (b *book) rows() string {
	b.t.Helper()
	var kept string
	b.db.QueryRow("select coalesce(string_agg(key || '=' || value::text, ' ' order by key), '') from setting", nil, &kept)
	return kept
}

// ROLES-12: only an admin reads or changes settings, and never a
// service account.
func TestOnlyAnAdminReadsAndChangesSettings(t *testing.T) {
	b := newBook(t)
	for name, args := range map[string]map[string]any{
		"list_settings": {}, "get_setting": {"key": "query.timeout_seconds"}, "set_setting": {"key": "query.timeout_seconds", "value": "90"},
	} {
		before := b.rows()
		for _, p := range []*policies.Principal{
			principal(policies.Person, policies.RoleViewer), principal(policies.Person, policies.RoleCurator),
			principal(policies.Person, policies.RolePIIReader), principal(policies.ServiceAccount, policies.RoleAdmin),
		} {
			if answer, failure := b.call(p, name, args); failure == nil || failure.Kind != operation.Forbidden {
				t.Errorf("%s as %s of kind %s: %v %v", name, p.Roles, p.Kind, answer, failure)
			}
		}
		if kept := b.rows(); kept != before {
			t.Errorf("%s was refused and saved %s", name, kept)
		}
		if _, failure := b.call(admin, name, args); failure != nil {
			t.Errorf("%s as an admin: %v", name, failure)
		}
	}
}

func TestSettingIsSavedListedAndAudited(t *testing.T) {
	b := newBook(t)
	before, failure := b.call(admin, "get_setting", map[string]any{"key": "query.timeout_seconds"})
	if failure != nil || before["value"] != "120" || before["source"] != "default" || before["version"] != 0.0 || before["changed_at"] != nil {
		t.Errorf("before: %v %v", before, failure)
	}
	saved := b.set("query.timeout_seconds", "90")
	if saved["value"] != "90" || saved["source"] != "saved" || saved["version"] != 1.0 || saved["changed_by"] != "admin@sample.example" || saved["default"] != "120" {
		t.Errorf("saved: %v", saved)
	}
	b.set("powerbi.service_account_queries", "true")
	b.set("access.metadata_visibility", "everyone")
	b.set("powerbi.tenant_id", tenant)
	if again := b.set("query.timeout_seconds", "600"); again["version"] != 2.0 {
		t.Errorf("again: %v", again)
	}
	want := `access.metadata_visibility="everyone" powerbi.service_account_queries=true powerbi.tenant_id="` + tenant + `" query.timeout_seconds=600`
	if kept := b.rows(); kept != want {
		t.Errorf("kept %s, want %s", kept, want)
	}
	listed, failure := b.call(admin, "list_settings", map[string]any{})
	if failure != nil || listed["total"] != float64(len(store.All())) {
		t.Fatalf("listed %v, %v", listed, failure)
	}
	values := map[string]any{}
	for _, item := range listed["items"].([]any) {
		values[item.(map[string]any)["key"].(string)] = item.(map[string]any)["value"]
	}
	if values["query.timeout_seconds"] != "600" || values["access.metadata_visibility"] != "everyone" || values["access.default_role"] != "viewer" {
		t.Errorf("listed %v", values)
	}
	var audited string
	b.db.QueryRow(`select string_agg(concat_ws(' ', principal_name, via, action, outcome, element, detail->>'before', detail->>'after'), ', ' order by id)
		from audit_event where element = 'query.timeout_seconds'`, nil, &audited)
	if want := "admin@sample.example cli set_setting allow query.timeout_seconds 120 90, admin@sample.example cli set_setting allow query.timeout_seconds 90 600"; audited != want {
		t.Errorf("audited %q, want %q", audited, want)
	}
	// Both are kept or neither.
	b.db.Exec("alter table audit_event add constraint broken check (false) not valid")
	if _, failure := b.call(admin, "set_setting", map[string]any{"key": "query.timeout_seconds", "value": "5"}); failure == nil || !strings.Contains(b.rows(), "timeout_seconds=600") {
		t.Errorf("without an audit row: %v, kept %s", failure, b.rows())
	}
}

// FETCH-12, ROLES-28, VIS-01, TENANT-06: what is refused says what would do, and
// nothing is written.
func TestWhatIsRefused(t *testing.T) {
	b := newBook(t)
	operators := "This address is set by the operator, in the environment. Ask whoever runs the deployment."
	for name, c := range map[string]struct {
		key, value string
		kind       operation.ErrorKind
		says       string
	}{
		"an address of the operator's":         {"powerbi.authority", "https://attacker.example", operation.Invalid, operators},
		"Power BI's":                           {"powerbi.api_url", "https://attacker.example", operation.Invalid, operators},
		"Graph's":                              {"powerbi.graph_url", "https://attacker.example", operation.Invalid, operators},
		"the embeddings provider's":            {"search.base_url", "https://attacker.example", operation.Invalid, operators},
		"admin for everybody":                  {"access.default_role", "admin", operation.Invalid, "access.default_role must be viewer, curator or none. Give it a value such as viewer."},
		"pii_reader for everybody":             {"access.default_role", "pii_reader", operation.Invalid, "must be viewer, curator or none"},
		"a visibility that is none":            {"access.metadata_visibility", "all", operation.Invalid, "must be powerbi, everyone or policy"},
		"a time that is too long":              {"query.timeout_seconds", "601", operation.Invalid, "must be a whole number from 1 to 600. Give it a value such as 120."},
		"a time with its unit":                 {"query.timeout_seconds", "90s", operation.Invalid, "must be a whole number from 1 to 600"},
		"no value":                             {"query.timeout_seconds", "", operation.Invalid, "must be a whole number from 1 to 600"},
		"a list":                               {"query.timeout_seconds", "[90]", operation.Invalid, "must be a whole number from 1 to 600"},
		"two values":                           {"query.timeout_seconds", "90 90", operation.Invalid, "must be a whole number from 1 to 600"},
		"a switch that is none":                {"powerbi.service_account_queries", "on", operation.Invalid, "must be true or false"},
		"another tenant":                       {"powerbi.tenant_id", "6b1f0f3e-6f0c-4f5a-9b0e-1d2c3b4a5960", operation.Invalid, "This database belongs to one tenant for its whole life. Use a new database for another tenant."},
		"a tenant that is none":                {"powerbi.tenant_id", "contoso", operation.Invalid, "powerbi.tenant_id must be an id of"},
		"a name that is nearly right":          {"query.timeout", "90", operation.NotFound, `There is no setting "query.timeout". Nearest names: query.timeout_seconds`},
		"a name that is nothing like any":      {"zzz", "90", operation.NotFound, `There is no setting "zzz". The list of settings has their names.`},
		"one of the setup's":                   {"setup.step", "1", operation.NotFound, "There is no setting"},
		"one that nothing heeds yet":           {"retention.audit_days", "400", operation.NotFound, "There is no setting"},
		"one of the conventions":               {"trust.human_verify_from", "any", operation.NotFound, "There is no setting"},
		"a character that PostgreSQL has none": {"access.default_role", "viewer\x00", operation.Invalid, "NUL"},
	} {
		_, failure := b.call(admin, "set_setting", map[string]any{"key": c.key, "value": c.value})
		if failure == nil || failure.Kind != c.kind || !strings.Contains(failure.Text(""), c.says) {
			t.Errorf("%s: %v, want %s that says %q", name, failure, c.kind, c.says)
		}
		if c.kind == operation.NotFound {
			if _, failure := b.call(admin, "get_setting", map[string]any{"key": c.key}); failure == nil || failure.Kind != c.kind {
				t.Errorf("%s, read: %v", name, failure)
			}
		}
	}
	if kept := b.rows(); kept != "" {
		t.Errorf("kept %s", kept)
	}
	var audited int
	b.db.QueryRow("select count(*) from audit_event", nil, &audited)
	if audited != 0 {
		t.Errorf("%d audit rows of changes", audited)
	}
}

// A change that names the version it is based on conflicts with one that came
// first, also where nothing was saved before.
func TestConcurrentChangesConflict(t *testing.T) {
	b := newBook(t)
	for version := range 3 {
		const racers = 6
		failures := make([]*operation.Error, racers)
		var all sync.WaitGroup
		for i := range racers {
			all.Go(func() {
				_, failures[i] = b.call(admin, "set_setting", map[string]any{"key": "query.timeout_seconds", "value": fmt.Sprint(100*version + i + 1), "version": version})
			})
		}
		all.Wait()
		won := slices.Index(failures, nil)
		for i, failure := range failures {
			if i != won && (failure == nil || failure.Kind != operation.Conflict || failure.Kind.Status() != 409) {
				t.Errorf("at version %d, racer %d of which %d won: %v", version, i, won, failure)
			}
		}
		if want := fmt.Sprintf("query.timeout_seconds=%d", 100*version+won+1); won < 0 || b.rows() != want {
			t.Errorf("at version %d: kept %s, want %s", version, b.rows(), want)
		}
	}
	if _, failure := b.call(admin, "set_setting", map[string]any{"key": "query.timeout_seconds", "value": "7", "version": 0}); failure == nil || failure.Kind != operation.Conflict {
		t.Errorf("based on nothing saved: %v", failure)
	}
	b.set("query.timeout_seconds", "8")
}
