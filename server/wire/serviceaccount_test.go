package wire_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/tools/catalogue"
)

const (
	accountsPath = "/api/v1/admin/service-accounts"
	admin        = "admin@sample.example"
)

// account makes a service account and returns its id.
func (c caller) account(fields map[string]any) string {
	c.d.t.Helper()
	all := map[string]any{"name": "nightly report", "roles": []string{"viewer"}}
	for name, value := range fields {
		all[name] = value
	}
	return c.must(http.MethodPost, accountsPath, all).text("id")
}

// key makes a key of an account and returns its id and the key itself.
func (c caller) key(account string) (id, key string) {
	c.d.t.Helper()
	a := c.must(http.MethodPost, accountsPath+"/"+account+"/keys", map[string]any{})
	return a.text("id"), a.text("key")
}

// SVC-01, SVC-02, SVC-03, SVC-09
func TestAKeyOpensTheAPIAlone(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	account := boss.account(nil)
	id, key := boss.key(account)
	secret, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key, "pbmb_sk_"))
	if err != nil || len(secret) != 32 || !strings.HasPrefix(key, "pbmb_sk_") {
		t.Fatalf("the key %q: %v", key, err)
	}
	if _, other := boss.key(account); other == key {
		t.Error("two keys are the same")
	}
	who := d.bearer(key).must(http.MethodGet, "/api/v1/me", nil)
	if who.text("kind") != "service_account" || who.text("id") != account || who.text("name") != "nightly report" || who.text("via") != "service_account" {
		t.Errorf("who the key speaks for: %s", who.body)
	}

	// The key itself is in no later answer, in no table and not in the log.
	for _, path := range []string{accountsPath, accountsPath + "/" + account, accountsPath + "/" + account + "/keys", "/api/v1/admin/audit"} {
		if a := boss.must(http.MethodGet, path, nil); strings.Contains(a.body, key) || strings.Contains(a.body, strings.TrimPrefix(key, "pbmb_sk_")) {
			t.Errorf("%s shows the key", path)
		}
	}
	if dump := d.dump("service_account", "service_account_key", "audit_event", "request_rate"); strings.Contains(dump, strings.TrimPrefix(key, "pbmb_sk_")) || strings.Contains(dump, hex.EncodeToString(secret)) {
		t.Error("the database has the key")
	}
	if strings.Contains(d.log.String(), strings.TrimPrefix(key, "pbmb_sk_")) {
		t.Error("the log has the key")
	}
	var digest []byte
	d.db.QueryRow("select digest from service_account_key where id = $1", []any{id}, &digest)
	if want := sha256.Sum256([]byte(key)); string(digest) != string(want[:]) {
		t.Errorf("the digest is %x, want %x", digest, want)
	}

	for name, token := range map[string]string{
		"the digest in hex":                 hex.EncodeToString(digest),
		"the digest in hex, as a key":       "pbmb_sk_" + hex.EncodeToString(digest),
		"the digest in base64":              base64.StdEncoding.EncodeToString(digest),
		"the digest in base64, as a key":    "pbmb_sk_" + base64.StdEncoding.EncodeToString(digest),
		"the digest in base64url, as a key": "pbmb_sk_" + base64.RawURLEncoding.EncodeToString(digest),
		"the digest's bytes in upper case":  "pbmb_sk_" + strings.ToUpper(hex.EncodeToString(digest)),
		"the key without its prefix":        strings.TrimPrefix(key, "pbmb_sk_"),
		"the key with another prefix":       "PBMB_SK_" + strings.TrimPrefix(key, "pbmb_sk_"),
		"the prefix alone":                  "pbmb_sk_",
		"the key with its prefix twice":     "pbmb_sk_" + key,
		"the key in padded base64":          key + "=",
		"a token with a key's prefix":       "pbmb_sk_" + "eyJhbGciOiJFZERTQSJ9.e30.c2ln",
	} {
		if a := d.bearer(token).get("/api/v1/me"); a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// MCP-01, AUTHZ-28, OAUTH-47, SVC-18: beyond the catalogue a key opens nothing.
func TestAKeyOpensNothingElse(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	_, key := boss.key(boss.account(nil))
	caller := d.bearer(key)
	for path, method := range map[string]string{
		"/api/mcp":                    http.MethodPost,
		"/api/v1/oauth/consent":       http.MethodGet,
		"/api/v1/me/connection/start": http.MethodGet,
		"/api/connect/callback":       http.MethodGet,
		"/api/auth/session":           http.MethodGet,
		"/api/auth/sign-out":          http.MethodPost,
	} {
		if a := caller.do(method, path, nil); a.status != http.StatusUnauthorized {
			t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
		}
		// A session beside it is not looked at (OAUTH-10).
		if a := boss.with("Authorization: Bearer "+key).do(method, path, nil); a.status != http.StatusUnauthorized {
			t.Errorf("%s %s beside an admin's session: %d %s", method, path, a.status, a.body)
		}
	}
	if a := caller.do(http.MethodPost, "/api/v1/oauth/consent", map[string]any{"query": "", "allow": true}); a.status != http.StatusUnauthorized {
		t.Errorf("answering a consent: %d %s", a.status, a.body)
	}
	if a := boss.with("Authorization: Bearer " + key).get("/api/v1/me"); a.text("kind") != "service_account" {
		t.Errorf("beside an admin's session: %s", a.body)
	}
}

// dump is everything in some tables, as JSON with bytes in hex.
func (d *deployment) dump(tables ...string) string {
	d.t.Helper()
	var all strings.Builder
	for _, table := range tables {
		var rows json.RawMessage
		d.db.QueryRow("select coalesce(json_agg(t), '[]') from "+table+" t", nil, &rows)
		all.Write(rows)
	}
	return all.String()
}

// SVC-07, SVC-08, AUTHZ-06
func TestAKeyStops(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	account := boss.account(nil)
	path := accountsPath + "/" + account
	id, key := boss.key(account)
	caller := d.bearer(key)
	expect := func(when string, status int) {
		t.Helper()
		if a := caller.get("/api/v1/me"); a.status != status {
			t.Errorf("%s: %d %s", when, a.status, a.body)
		}
	}
	expect("at first", http.StatusOK)

	d.db.Exec("update service_account_key set created_at = created_at - interval '10 days', expires_at = expires_at - interval '10 days'")
	boss.must(http.MethodPatch, path, map[string]any{"max_key_age_days": 30})
	before := d.dump("service_account_key")
	expect("10 days old, of 30", http.StatusOK)
	boss.must(http.MethodPatch, path, map[string]any{"max_key_age_days": 5})
	expect("10 days old, of 5", http.StatusUnauthorized)
	if after := d.dump("service_account_key"); after != before {
		t.Errorf("the key's row was %s, and is %s", before, after)
	}
	if a := boss.must(http.MethodGet, path+"/keys", nil); !strings.Contains(a.body, `"state":"expired"`) {
		t.Errorf("the list says %s", a.body)
	}
	boss.must(http.MethodPatch, path, map[string]any{"max_key_age_days": 90})
	expect("of 90 again", http.StatusOK)

	boss.must(http.MethodPatch, path, map[string]any{"roles": []string{"curator"}})
	if a := caller.get("/api/v1/me"); !strings.Contains(a.body, `"roles":["curator"]`) {
		t.Errorf("with other roles: %s", a.body)
	}
	boss.must(http.MethodPost, path+"/disable", nil)
	expect("disabled", http.StatusUnauthorized)
	boss.must(http.MethodPost, path+"/enable", nil)
	expect("enabled", http.StatusOK)

	boss.must(http.MethodDelete, path+"/keys/"+id, nil)
	expect("revoked", http.StatusUnauthorized)
	if a := boss.must(http.MethodGet, path+"/keys", nil); !strings.Contains(a.body, `"state":"revoked"`) {
		t.Errorf("the list says %s", a.body)
	}
	id, key = boss.key(account)
	caller = d.bearer(key)
	expect("a new key", http.StatusOK)
	d.db.Exec("update service_account_key set created_at = created_at - interval '1 day', expires_at = now() where id = $1", id)
	expect("past its expiry", http.StatusUnauthorized)

	_, key = boss.key(account)
	caller = d.bearer(key)
	boss.must(http.MethodDelete, path, nil)
	expect("deleted", http.StatusUnauthorized)
	if again := boss.account(nil); again == account {
		t.Error("an account of the same name is the same")
	}
	expect("made again under the same name", http.StatusUnauthorized)
}

// SVC-10, SVC-11
func TestSourcesNeedATrustedProxy(t *testing.T) {
	t.Parallel()
	const sentence = "An account can be limited by address only where TRUSTED_PROXY is set."
	limited := map[string]any{"name": "limited", "roles": []string{"viewer"}, "source_cidrs": []string{"203.0.113.0/24", "2001:db8::/32"}}
	for name, c := range map[string]struct {
		proxy, header string
		proven        bool
		from          map[string]int // by X-Forwarded-For and X-Real-IP
	}{
		"behind the trusted proxy": {proxy: "127.0.0.1", proven: true, from: map[string]int{
			"203.0.113.9": 200, "198.51.100.1, 203.0.113.9": 200, "203.0.113.9, 198.51.100.1": 401, "[2001:db8::7]:4711": 200, "2001:db9::7": 401, "": 401,
		}},
		"from a peer that is not trusted": {proxy: "10.0.0.1", proven: true, from: map[string]int{"203.0.113.9": 401, "2001:db8::7": 401, "": 401}},
		"without a proxy":                 {from: map[string]int{"203.0.113.9": 401, "": 401}},
		"by a platform's header":          {header: "x-real-ip", from: map[string]int{"203.0.113.9": 401, "": 401}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, options{change: func(cfg *config.Config) { cfg.TrustedProxy, cfg.ClientAddressHeader = c.proxy, c.header }})
			boss := d.person(admin)
			account := boss.account(nil)
			path := accountsPath + "/" + account
			_, key := boss.key(account)
			if a := d.bearer(key).get("/api/v1/me"); a.status != http.StatusOK {
				t.Fatalf("before it is limited: %d %s", a.status, a.body)
			}
			made := boss.do(http.MethodPost, accountsPath, limited)
			changed := boss.do(http.MethodPatch, path, map[string]any{"source_cidrs": limited["source_cidrs"]})
			for what, a := range map[string]answer{"made": made, "changed": changed} {
				switch {
				case c.proven && (a.status != http.StatusOK || !strings.Contains(a.body, `"source_cidrs":["203.0.113.0/24","2001:db8::/32"]`)):
					t.Errorf("%s with ranges: %d %s", what, a.status, a.body)
				case !c.proven && (a.status != http.StatusBadRequest || a.text("detail") != sentence):
					t.Errorf("%s with ranges: %d %s", what, a.status, a.body)
				}
			}
			if !c.proven { // as an account may be left from before
				d.db.Exec("update service_account set source_cidrs = '{203.0.113.0/24,2001:db8::/32,127.0.0.0/8,::1/128}' where id = $1", account)
			}
			for address, want := range c.from {
				caller := d.bearer(key)
				if address != "" {
					caller = caller.with("X-Forwarded-For: "+address, "X-Real-IP: "+address)
				}
				if a := caller.get("/api/v1/me"); a.status != want {
					t.Errorf("from %q: %d %s, want %d", address, a.status, a.body, want)
				}
			}
			// An empty list lifts the limit, with a proxy and without.
			boss.must(http.MethodPatch, path, map[string]any{"source_cidrs": []string{}})
			if a := d.bearer(key).get("/api/v1/me"); a.status != http.StatusOK {
				t.Errorf("after the limit was lifted: %d %s", a.status, a.body)
			}
		})
	}
}

// SVC-12
func TestTooManyRequestsOfAnAccount(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	_, key := boss.key(boss.account(nil))
	boss.must(http.MethodPut, "/api/v1/admin/settings/service_accounts.rate_per_minute", map[string]any{"value": "1"})
	// Four in a row lie in two minutes at most, so at least two of them are too many.
	refused := 0
	for range 4 {
		switch a := d.bearer(key).get("/api/v1/me"); {
		case a.status == http.StatusTooManyRequests && a.text("kind") == "rate_limited" && a.header.Get("Retry-After") != "":
			refused++
		case a.status != http.StatusOK:
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
	if refused < 2 {
		t.Errorf("%d of 4 were refused", refused)
	}
	boss.must(http.MethodPut, "/api/v1/admin/settings/service_accounts.rate_per_minute", map[string]any{"value": "60"})
	if a := d.bearer(key).get("/api/v1/me"); a.status != http.StatusOK {
		t.Errorf("with the setting raised: %d %s", a.status, a.body)
	}
}

const (
	salesWorkspace   = "a0000000-0000-4000-8000-000000000001"
	financeWorkspace = "a0000000-0000-4000-8000-000000000002"
	salesDataset     = "d0000000-0000-4000-8000-000000000001"
	financeDataset   = "d0000000-0000-4000-8000-000000000002"
	financeApp       = "b0000000-0000-4000-8000-000000000001"
	noDataset        = "d0000000-0000-4000-8000-00000000ffff"
)

// mirror fills in two datasets, each in a workspace of its own, one of them in an app.
func (d *deployment) mirror() {
	d.t.Helper()
	d.db.Exec(`insert into powerbi_workspace (id, name, folded) values ('` + salesWorkspace + `', 'Sales', 'sales'), ('` + financeWorkspace + `', 'Finance', 'finance');
		insert into powerbi_dataset (id, workspace_id, name, folded) values
			('` + salesDataset + `', '` + salesWorkspace + `', 'Sales', 'sales'), ('` + financeDataset + `', '` + financeWorkspace + `', 'Ledger', 'ledger');
		insert into powerbi_app (id, workspace_id, name) values ('` + financeApp + `', '` + financeWorkspace + `', 'Figures');
		insert into powerbi_app_dataset (app_id, dataset_id) values ('` + financeApp + `', '` + financeDataset + `');`)
}

// SVC-13, VIS-06: under a policy that allows everything, an account sees what its
// workspaces and apps hold. Everything else answers as missing.
func TestAnAccountStaysWithinItsGrant(t *testing.T) {
	t.Parallel()
	for name, layers := range map[string][]fs.FS{"by default": nil, "whatever policies allow": {allowing("dataset", "book")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, options{policies: layers})
			d.mirror()
			boss := d.person(admin)
			if a := boss.get("/api/v1/datasets"); (a.field("total") == 2.0) != (layers != nil) {
				t.Fatalf("an admin without reach sees %s", a.body)
			}
			for name, c := range map[string]struct {
				grant         map[string]any
				sales, ledger bool
			}{
				"no grant":              {map[string]any{"name": "none"}, false, false},
				"a workspace":           {map[string]any{"name": "workspace", "workspace_ids": []string{strings.ToUpper(salesWorkspace)}}, true, false},
				"an app":                {map[string]any{"name": "app", "app_ids": []string{financeApp}}, false, true},
				"both":                  {map[string]any{"name": "both", "workspace_ids": []string{salesWorkspace}, "app_ids": []string{financeApp}}, true, true},
				"another's, as curator": {map[string]any{"name": "other", "workspace_ids": []string{noDataset}, "roles": []string{"curator"}}, false, false},
			} {
				_, key := boss.key(boss.account(c.grant))
				caller := d.bearer(key)
				list := caller.must(http.MethodGet, "/api/v1/datasets", nil)
				found := caller.must(http.MethodGet, "/api/v1/search?query=sales+ledger", nil)
				for id, sees := range map[string]bool{salesDataset: c.sales, financeDataset: c.ledger} {
					if strings.Contains(list.body, id) != sees || strings.Contains(found.body, id) && !sees {
						t.Errorf("%s: the list is %s, and found is %s", name, list.body, found.body)
					}
					read, query := caller.get("/api/v1/datasets/"+id), caller.query(id)
					if sees {
						// It may see it, and runs no queries (CONN-34).
						if read.status != http.StatusOK || query.status != http.StatusForbidden {
							t.Errorf("%s: %s is %d %s and %d %s", name, id, read.status, read.body, query.status, query.body)
						}
						continue
					}
					for what, pair := range map[string][2]answer{
						"reading":  {read, caller.get("/api/v1/datasets/" + noDataset)},
						"querying": {query, caller.query(noDataset)},
					} {
						hidden, missing := pair[0], pair[1]
						if hidden.status != http.StatusNotFound || plain(hidden, id) != plain(missing, noDataset) {
							t.Errorf("%s: %s %s is %d %s, and one that is not there %s", name, what, id, hidden.status, hidden.body, missing.body)
						}
					}
				}
			}
		})
	}
}

func (c caller) query(dataset string) answer {
	c.d.t.Helper()
	return c.do(http.MethodPost, "/api/v1/queries", map[string]any{"dataset": dataset, "dax": "EVALUATE { 1 }"})
}

// plain is an answer without what follows from the request itself.
func plain(a answer, id string) string {
	return strings.NewReplacer(id, "ID", a.header.Get("X-Request-Id"), "REQUEST").Replace(a.body)
}

// SVC-15, SVC-16, SVC-17, SVC-18, AUTHZ-10: whoever holds a key gets nothing more by
// it, under a policy that allows everything to everybody.
func TestAKeyWidensNothing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{policies: []fs.FS{allowing("admin", "book", "dataset", "thread", "result", "query_log")}})
	d.mirror()
	boss := d.person(admin)
	account := boss.account(map[string]any{"roles": []string{"viewer", "curator"}, "workspace_ids": []string{salesWorkspace}})
	id, key := boss.key(account)
	// The policy does allow it: a viewer may.
	if a := d.person("viewer@sample.example").get(accountsPath); a.status != http.StatusOK {
		t.Fatalf("a viewer under this policy: %d %s", a.status, a.body)
	}
	boss.must(http.MethodPut, "/api/v1/admin/settings/service_accounts.rate_per_minute", map[string]any{"value": "1000"})
	tables := []string{"service_account", "service_account_key", "role_assignment", "setting", "pii_rule", "oauth_grant", "powerbi_connection"}
	before := d.dump(tables...)
	administers := 0
	for _, def := range catalogue.All(catalogue.Stores{}) {
		own := def.Kind == "" && def.Name != "whoami"
		if def.Kind != policies.KindAdmin && !own {
			continue
		}
		administers++
		path := "/api/v1" + strings.NewReplacer("{account}", account, "{key}", id, "{assignment}", account, "{grant}", "x").Replace(def.Path)
		var body any
		if def.Method != http.MethodGet && def.Method != http.MethodDelete {
			body = map[string]any{}
		}
		a := d.bearer(key).do(def.Method, path, body)
		if want := def.Action != policies.ReadStatus; (a.status == http.StatusForbidden) != want {
			t.Errorf("%s: %d %s", def.Name, a.status, a.body)
		}
	}
	if administers < 15 {
		t.Fatalf("only %d operations were tried", administers)
	}
	// Sound requests, too.
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, accountsPath + "/" + account + "/keys", map[string]any{}},
		{http.MethodPost, accountsPath, map[string]any{"name": "another", "roles": []string{"curator"}}},
		{http.MethodPatch, accountsPath + "/" + account, map[string]any{"workspace_ids": []string{salesWorkspace, financeWorkspace}}},
		{http.MethodPatch, accountsPath + "/" + account, map[string]any{"roles": []string{"curator"}}},
		{http.MethodPost, "/api/v1/admin/roles", map[string]any{"role": "admin", "person": "viewer@sample.example"}},
		{http.MethodPut, "/api/v1/admin/settings/service_accounts.rate_per_minute", map[string]any{"value": "100000"}},
		{http.MethodDelete, "/api/v1/me/connection", nil},
		{http.MethodGet, "/api/v1/me/grants", nil},
	} {
		if a := d.bearer(key).do(c.method, c.path, c.body); a.status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
	if after := d.dump(tables...); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	var rows int
	d.db.QueryRow(`select count(*) from audit_event where principal_kind = 'service_account' and principal_id = $1 and via = 'service_account'
		and credential = $2 and outcome = 'deny' and action = 'create_service_account_key'`, []any{account, id}, &rows)
	if rows != 2 {
		t.Errorf("%d refusals to make a key are in the audit, want 2", rows)
	}
}

// SVC-19: an account whose id equals a person's is not that person.
func TestAnAccountIsNotThePersonOfItsID(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{policies: []fs.FS{allowing("admin", "book", "dataset")}})
	d.mirror()
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	person := viewer.must(http.MethodGet, "/api/v1/me", nil).text("id")
	d.db.Exec("insert into powerbi_connection (person_id, state, object_id, account, access_token) values ($1, 'connected', gen_random_uuid(), 'viewer', 'x')", person)
	d.db.Exec("insert into service_account (id, name, roles, workspace_ids) values ($1, 'double', '{viewer}', $2)", person, []string{salesWorkspace})
	_, key := boss.key(person)
	double := d.bearer(key)
	if a := viewer.must(http.MethodGet, "/api/v1/me", nil); !strings.Contains(a.body, `"state":"connected"`) {
		t.Fatalf("the person: %s", a.body)
	}
	if a := double.must(http.MethodGet, "/api/v1/me", nil); a.text("id") != person || a.text("kind") != "service_account" || !strings.Contains(a.body, `"state":"none"`) {
		t.Errorf("the account: %s", a.body)
	}
	// Before any token is asked for: the person's own does not open.
	if a := double.query(salesDataset); a.status != http.StatusForbidden || a.text("detail") != "A service account runs no queries." {
		t.Errorf("a query: %d %s", a.status, a.body)
	}
	if a := double.do(http.MethodDelete, "/api/v1/me/connection", nil); a.status != http.StatusForbidden {
		t.Errorf("ending the person's connection: %d %s", a.status, a.body)
	}
	var state string
	d.db.QueryRow("select state from powerbi_connection where person_id = $1", []any{person}, &state)
	if state != "connected" {
		t.Errorf("the person's connection is %s", state)
	}
}

// SVC-14, SVC-20, SVC-21, SVC-22
func TestManagingAccounts(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, options{})
	boss := d.person(admin)
	account := boss.account(nil)
	id, key := boss.key(account)
	path := accountsPath + "/" + account
	steps := []struct {
		action, method, path string
		body                 any
	}{
		{"", http.MethodGet, accountsPath, nil},
		{"", http.MethodGet, path, nil},
		{"", http.MethodGet, path + "/keys", nil},
		{"create_service_account", http.MethodPost, accountsPath, map[string]any{"name": "another", "roles": []string{"curator"}}},
		{"update_service_account", http.MethodPatch, path, map[string]any{"name": "renamed"}},
		{"disable_service_account", http.MethodPost, path + "/disable", nil},
		{"enable_service_account", http.MethodPost, path + "/enable", nil},
		{"create_service_account_key", http.MethodPost, path + "/keys", map[string]any{"name": "spare", "expires_in_days": 7}},
		{"revoke_service_account_key", http.MethodDelete, path + "/keys/" + id, nil},
		{"delete_service_account", http.MethodDelete, path, nil},
	}
	others := map[string]caller{
		"a viewer": d.person("viewer@sample.example"), "a curator": d.person("curator@sample.example"), "a service account": d.bearer(key),
	}
	before := d.dump("service_account", "service_account_key")
	for name, other := range others {
		for _, s := range steps {
			if a := other.do(s.method, s.path, s.body); a.status != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d %s", name, s.method, s.path, a.status, a.body)
			}
		}
	}
	if a := d.anybody().get(accountsPath); a.status != http.StatusUnauthorized {
		t.Errorf("nobody: %d %s", a.status, a.body)
	}

	// What is not to be set is refused by name, along with all else that is wrong.
	full := map[string]any{"name": "sound", "roles": []string{"viewer"}}
	for name, c := range map[string]struct {
		method, path string
		body         map[string]any
		says         string
	}{
		"an id":                     {http.MethodPost, accountsPath, map[string]any{"id": account}, `unknown argument "id"`},
		"a time":                    {http.MethodPatch, path, map[string]any{"created_at": "2020-01-01T00:00:00Z"}, `unknown argument "created_at"`},
		"a maker":                   {http.MethodPatch, path, map[string]any{"created_by": "somebody"}, `unknown argument "created_by"`},
		"a switch":                  {http.MethodPatch, path, map[string]any{"disabled": true}, `unknown argument "disabled"`},
		"a digest":                  {http.MethodPost, path + "/keys", map[string]any{"digest": "x"}, `unknown argument "digest"`},
		"a key":                     {http.MethodPost, path + "/keys", map[string]any{"key": "x"}, `unknown argument "key"`},
		"an expiry":                 {http.MethodPost, path + "/keys", map[string]any{"expires_at": "2030-01-01T00:00:00Z"}, `unknown argument "expires_at"`},
		"another account":           {http.MethodPatch, path, map[string]any{"account": id}, "in the path already"},
		"a field that nobody knows": {http.MethodPatch, path, map[string]any{"colour": "red"}, `unknown argument "colour"`},
		// SVC-14
		"admin":             {http.MethodPost, accountsPath, map[string]any{"roles": []string{"viewer", "admin"}, "custom": true}, "A service account can be neither admin nor pii_reader."},
		"pii_reader":        {http.MethodPatch, path, map[string]any{"roles": []string{"pii_reader"}, "custom": true}, "A service account can be neither admin nor pii_reader."},
		"no role":           {http.MethodPatch, path, map[string]any{"roles": []string{}}, "roles"},
		"an unknown role":   {http.MethodPost, accountsPath, map[string]any{"roles": []string{"metric_steward"}}, "is no role that comes with the product"},
		"a name of nothing": {http.MethodPost, accountsPath, map[string]any{"name": "  "}, "name"},
		"an age over 90":    {http.MethodPatch, path, map[string]any{"max_key_age_days": 91}, "max_key_age_days"},
		"91 days":           {http.MethodPost, path + "/keys", map[string]any{"expires_in_days": 91}, "expires_in_days"},
		"no uuid":           {http.MethodPost, accountsPath, map[string]any{"workspace_ids": []string{"Sales"}}, "workspace_ids"},
	} {
		body := map[string]any{}
		if c.path == accountsPath {
			for name, value := range full {
				body[name] = value
			}
		}
		for name, value := range c.body {
			body[name] = value
		}
		if a := boss.do(c.method, c.path, body); a.status != http.StatusBadRequest || !strings.Contains(strings.ToLower(a.text("detail")), strings.ToLower(c.says)) {
			t.Errorf("%s: %d %s, want %q", name, a.status, a.body, c.says)
		}
	}
	for name, c := range map[string]struct {
		method, path string
		body         any
		status       int
	}{
		"a name that is taken":        {http.MethodPost, accountsPath, map[string]any{"name": "Nightly Report", "roles": []string{"viewer"}}, http.StatusConflict},
		"an account that is not":      {http.MethodGet, accountsPath + "/" + id, nil, http.StatusNotFound},
		"changing one that is not":    {http.MethodPatch, accountsPath + "/" + id, map[string]any{"name": "x"}, http.StatusNotFound},
		"a key of one that is not":    {http.MethodPost, accountsPath + "/" + id + "/keys", map[string]any{}, http.StatusNotFound},
		"the keys of one that is not": {http.MethodGet, accountsPath + "/" + id + "/keys", nil, http.StatusNotFound},
		"a key that is not":           {http.MethodDelete, path + "/keys/" + account, nil, http.StatusNotFound},
	} {
		if a := boss.do(c.method, c.path, c.body); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
	if after := d.dump("service_account", "service_account_key"); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}

	// An admin does all of it, and each change is in the audit: once, without the key.
	shown := []string{key}
	for _, s := range steps {
		d.db.Exec("create table if not exists seen (id bigint); truncate seen; insert into seen select coalesce(max(id), 0) from audit_event")
		a := boss.must(s.method, s.path, s.body)
		if s.action == "" {
			continue
		}
		if k := a.text("key"); k != "" {
			shown = append(shown, k)
		}
		var rows, right int
		d.db.QueryRow(`select count(*), count(*) filter (where action = $1 and outcome = 'allow' and principal_kind = 'person' and principal_name = $2 and via = 'browser' and element <> ''
			and (element = $3 or action = 'create_service_account')) from audit_event where id > (select id from seen)`, []any{s.action, admin, account}, &rows, &right)
		if rows != 1 || right != 1 {
			t.Errorf("%s: %d audit rows, %d of them right", s.action, rows, right)
		}
	}
	var keyed int
	d.db.QueryRow("select count(*) from audit_event where detail->>'key' = $1 and action in ('create_service_account_key', 'revoke_service_account_key') and element = $2", []any{id, account}, &keyed)
	if keyed != 2 {
		t.Errorf("%d audit rows name the key's id, want 2", keyed)
	}
	rows := d.dump("audit_event")
	for _, k := range shown {
		digest := sha256.Sum256([]byte(k))
		if strings.Contains(rows, strings.TrimPrefix(k, "pbmb_sk_")) || strings.Contains(rows, hex.EncodeToString(digest[:])) || strings.Contains(rows, base64.StdEncoding.EncodeToString(digest[:])) {
			t.Error("the audit has a key or its digest")
		}
	}
	if len(shown) != 2 {
		t.Errorf("%d keys were shown", len(shown))
	}
}
