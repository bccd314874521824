package setting_test

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var update = flag.Bool("update", false, "rewrite the reference page")

// OPS-06
func TestReferencePage(t *testing.T) {
	const path = "../../docs/guide/settings.md"
	if *update {
		if err := os.WriteFile(path, []byte(setting.Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(setting.Reference(), string(got)); diff != "" {
		t.Errorf("run make generate: the page differs from the settings (-settings +page)\n%s", diff)
	}
}

// OPS-06: each setting says all there is to say of it, and its default and its
// example are values that it takes.
func TestDefinitions(t *testing.T) {
	for _, d := range setting.All() {
		if !slices.Contains([]string{"string", "integer", "number", "boolean"}, d.Type) || !strings.HasSuffix(d.Doc, ".") {
			t.Errorf("%s: type %q, documentation %q", d.Key, d.Type, d.Doc)
		}
		if d.Default == "" && d.Key != "powerbi.tenant_id" {
			t.Errorf("%s has no default", d.Key)
		}
		for _, value := range []string{d.Default, d.Example()} {
			if _, err := setting.FromEnvironment(variable(d.Variable(), value)); err != nil {
				t.Errorf("%s does not take %q: %v", d.Key, value, err)
			}
		}
		if d.Rule() == "text" {
			t.Errorf("%s takes anything", d.Key)
		}
	}
}

func variable(name, value string) func(string) string {
	return func(asked string) string { return map[string]string{name: value}[asked] }
}

// VIS-01, QUERY-07: what holds while nothing is set.
func TestDefaults(t *testing.T) {
	v, err := setting.Base{}.With(nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Access.MetadataVisibility != policies.VisibleByPowerBI || v.Access.DefaultRole != policies.RoleViewer {
		t.Errorf("access: %+v", v.Access)
	}
	if v.Query.Timeout() != 120*time.Second || v.ServiceAccounts.RatePerMinute != 60 || v.PowerBI != (setting.PowerBI{}) {
		t.Errorf("%+v", v)
	}
}

// Of every setting, those that nothing heeds yet included, the default is a value
// that it takes.
func TestDefaultsAreTaken(t *testing.T) {
	want, err := setting.Base{}.With(nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var groups map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	saved := map[string]json.RawMessage{}
	for group, fields := range groups {
		for field, value := range fields {
			saved[group+"."+field] = value
		}
	}
	delete(saved, "powerbi.tenant_id") // it has none
	if got, err := (setting.Base{}).With(saved); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if want.Retention.AuditDays != 400 || want.Results.TTLHours != 24 || want.Threads.SimilarFrom != 0.35 || want.Access.DAXVisibility != setting.DAXToReaders {
		t.Errorf("%+v", want)
	}
}

// The order of precedence: what is saved, then the environment, then the default.
func TestPrecedence(t *testing.T) {
	base, err := setting.FromEnvironment(variable("QUERY_TIMEOUT_SECONDS", "30"))
	if err != nil {
		t.Fatal(err)
	}
	for want, saved := range map[int]map[string]json.RawMessage{
		30: nil,
		90: {"query.timeout_seconds": json.RawMessage("90"), "setup.step": json.RawMessage(`"x"`)},
	} {
		v, err := base.With(saved)
		if err != nil || v.Query.TimeoutSeconds != want {
			t.Errorf("%d seconds, %v, want %d", v.Query.TimeoutSeconds, err, want)
		}
	}
}

// VIS-01, QUERY-07, ROLES-28: what no setting takes is refused from wherever it comes.
func TestValuesThatAreRefused(t *testing.T) {
	for key, values := range map[string][]string{
		"access.default_role":              {"admin", "pii_reader", "", "Viewer", "metric_steward"},
		"access.metadata_visibility":       {"all", "POWERBI", ""},
		"query.timeout_seconds":            {"0", "601", "-1", "1.5", "two", "", "null", "[1]"},
		"service_accounts.rate_per_minute": {"0", "many"},
		"powerbi.service_account_queries":  {"on", "1", "null"},
		"powerbi.tenant_id":                {"contoso", "null"},
	} {
		d, err := setting.Find(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			if value != "" { // an empty variable is none
				_, err := setting.FromEnvironment(variable(d.Variable(), value))
				if err == nil || !strings.Contains(err.Error(), d.Variable()+" must be "+d.Rule()) {
					t.Errorf("%s=%q in the environment: %v", d.Variable(), value, err)
				}
			}
			raw := json.RawMessage(value)
			if d.Type == "string" || !json.Valid(raw) {
				raw, _ = json.Marshal(value)
			}
			// Somebody wrote it into the table by hand.
			_, err := setting.Base{}.With(map[string]json.RawMessage{key: raw})
			if invalid, ok := errors.AsType[*setting.InvalidError](err); !ok || invalid.Key != key {
				t.Errorf("%s = %s in the table: %v", key, raw, err)
			}
		}
	}
}

// All that is wrong with the environment is said at once (OPS-05).
func TestEnvironmentNamesEveryMistake(t *testing.T) {
	_, err := setting.FromEnvironment(func(name string) string {
		return map[string]string{"ACCESS_DEFAULT_ROLE": "admin", "QUERY_TIMEOUT_SECONDS": "1h"}[name]
	})
	want := "ACCESS_DEFAULT_ROLE must be viewer, curator or none, such as viewer\n" +
		"QUERY_TIMEOUT_SECONDS must be a whole number from 1 to 600, such as 120"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FETCH-12, and settings that nothing heeds yet.
func TestNamesThatAreNoSettings(t *testing.T) {
	for _, key := range []string{"powerbi.authority", "powerbi.api_url", "powerbi.graph_url", "search.base_url"} {
		if _, err := setting.Find(key); !errors.Is(err, setting.ErrOperators) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for key, near := range map[string][]string{
		"query.timeout":           {"query.timeout_seconds"},
		"access.defaultrole":      {"access.default_role"},
		"access.dax_visibility":   nil,
		"retention.audit_days":    nil,
		"trust.human_verify_from": nil,
		"x":                       nil,
	} {
		_, err := setting.Find(key)
		unknown, ok := errors.AsType[*setting.UnknownError](err)
		if !ok || unknown.Key != key {
			t.Errorf("%s: %v", key, err)
			continue
		}
		for _, n := range near {
			if !slices.Contains(unknown.Near, n) {
				t.Errorf("%s: nearest %q", key, unknown.Near)
			}
		}
		all := map[string]bool{}
		for _, d := range setting.All() {
			all[d.Key] = true
		}
		for _, n := range unknown.Near {
			if !all[n] {
				t.Errorf("%s: nearest %q is none of %q", key, n, slices.Sorted(maps.Keys(all)))
			}
		}
	}
}
