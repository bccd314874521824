package wire_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

// A sound request is one that an admin operation carries out: what stands for its
// path's parameters, and a body. It is made ready by an admin first.
type sound struct {
	path map[string]string
	body map[string]any
}

// soundRequests has one for every admin operation of the catalogue. A new operation
// needs its row: TestEveryAdminOperationHasASoundRequest.
var soundRequests = map[string]func(boss caller) sound{
	"list_pii_rules": plainly,
	"mark_pii":       func(caller) sound { return sound{body: map[string]any{"reference": "Customer[City]"}} },
	"clear_pii":      func(caller) sound { return sound{body: map[string]any{"reference": "Customer[City]"}} },
	"remove_pii_rule": func(boss caller) sound {
		boss.must(http.MethodPost, "/api/v1/admin/pii/mark", map[string]any{"reference": "Customer[Street]"})
		return sound{body: map[string]any{"reference": "Customer[Street]"}}
	},
	"release_pii": func(caller) sound { return sound{body: map[string]any{"reference": "Customer[City]"}} },
	"restore_pii_rule": func(boss caller) sound {
		marked := boss.must(http.MethodPost, "/api/v1/admin/pii/mark", map[string]any{"reference": "Customer[Road]"})
		return sound{body: map[string]any{"reference": "Customer[Road]", "version": marked.field("version")}}
	},
	"suggest_pii": plainly,
	"explain_pii": func(boss caller) sound {
		// Whoever asks sees the dataset.
		boss.must(http.MethodPut, "/api/v1/admin/settings/access.metadata_visibility", map[string]any{"value": "everyone"})
		return sound{body: map[string]any{"dataset": salesDataset, "query": "EVALUATE { 1 }"}}
	},
	"list_all_datasets":  plainly,
	"switch_dataset_off": func(caller) sound { return sound{path: map[string]string{"dataset": salesDataset}} },
	"switch_dataset_on":  func(caller) sound { return sound{path: map[string]string{"dataset": salesDataset}} },
	"list_checks":        plainly,
	"run_checks":         plainly,
	"get_sync_status":    plainly,
	"run_sync":           plainly,
	"list_audit":         plainly,
	"list_grants":        plainly,
	"revoke_grant": func(boss caller) sound {
		db := boss.d.db
		db.Exec(`insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource) values ('c', 'registered', 'c', '{}', '{}', '{}', '/api/mcp') on conflict do nothing`)
		var id string
		db.QueryRow(`with k as (insert into oauth_consent (person_id, client_id, scopes) select id, 'c', '{}' from person limit 1 on conflict do nothing returning id, person_id),
				k2 as (select id, person_id from k union all select id, person_id from oauth_consent where client_id = 'c' and ended_at is null limit 1)
			insert into oauth_grant (id, consent_id, client_id, person_id, scopes, audience) select gen_random_uuid()::text, id, 'c', person_id, '{}', 'a' from k2 returning id`, nil, &id)
		return sound{path: map[string]string{"grant": id}}
	},
	"list_connections": plainly,
	"revoke_connection": func(boss caller) sound {
		var id string
		boss.d.db.QueryRow(`insert into powerbi_connection (person_id, state, object_id, account, access_token) select id, 'connected', gen_random_uuid(), 'x', 'x' from person where email = $1
			on conflict (person_id) do update set state = 'connected', access_token = 'x' returning person_id`, []any{admin}, &id)
		return sound{path: map[string]string{"person": id}}
	},
	"list_role_assignments": plainly,
	"assign_role": func(caller) sound {
		return sound{body: map[string]any{"role": "curator", "person": "clerk@sample.example"}}
	},
	"revoke_role": func(boss caller) sound {
		a := boss.must(http.MethodPost, "/api/v1/admin/roles", map[string]any{"role": "curator", "person": "hr@sample.example"})
		return sound{path: map[string]string{"assignment": a.text("id")}}
	},
	"list_settings": plainly,
	"get_setting":   func(caller) sound { return sound{path: map[string]string{"key": "query.timeout_seconds"}} },
	"set_setting": func(caller) sound {
		return sound{path: map[string]string{"key": "query.timeout_seconds"}, body: map[string]any{"value": "90"}}
	},
	"list_service_accounts": plainly,
	"get_service_account":   onAccount(nil),
	"create_service_account": func(caller) sound {
		return sound{body: map[string]any{"name": "made", "roles": []string{"viewer"}}}
	},
	"update_service_account":     onAccount(map[string]any{"roles": []string{"curator"}}),
	"disable_service_account":    onAccount(nil),
	"enable_service_account":     onAccount(nil),
	"delete_service_account":     onAccount(nil),
	"list_service_account_keys":  onAccount(nil),
	"create_service_account_key": onAccount(map[string]any{}),
	"revoke_service_account_key": func(boss caller) sound {
		account := boss.account(map[string]any{"name": unused()})
		id, _ := boss.key(account)
		return sound{path: map[string]string{"account": account, "key": id}}
	},
	"list_sign_in_providers": plainly,
	"test_sign_in_provider":  func(caller) sound { return sound{body: googleTrial} },
	"add_sign_in_provider": func(boss caller) sound {
		return sound{body: map[string]any{"test": boss.succeededTrial()}}
	},
	"remove_sign_in_provider": func(boss caller) sound {
		boss.must(http.MethodPost, "/api/v1/admin/sign-in/providers", map[string]any{"test": boss.succeededTrial()})
		return sound{path: map[string]string{"provider": "google"}}
	},
	"list_secrets": plainly,
	"set_secret": func(caller) sound {
		return sound{path: map[string]string{"name": "search.api_key"}, body: map[string]any{"value": "an-embedding-key"}}
	},
	"get_status": plainly,
}

func plainly(caller) sound { return sound{} }

func onAccount(body map[string]any) func(caller) sound {
	return func(boss caller) sound {
		return sound{path: map[string]string{"account": boss.account(map[string]any{"name": unused()})}, body: body}
	}
}

var names int

// unused is a name that no account has. The tests that make them do not run beside
// each other.
func unused() string {
	names++
	return fmt.Sprintf("account %d", names)
}

var googleTrial = map[string]any{"kind": "google", "name": "Google", "client_id": sample.GoogleClientID, "client_secret": sample.GoogleClientSecret}

// succeededTrial is a test of a provider that somebody has gone through.
func (c caller) succeededTrial() string {
	c.d.t.Helper()
	// A person may try ten times a minute, so that one trial stands for all.
	var tried int
	if c.d.db.QueryRow("select count(*) from sign_in_trial where person_id = (select id from person where email = $1)", []any{admin}, &tried); tried == 0 {
		c.must(http.MethodPost, "/api/v1/admin/sign-in/tests", googleTrial)
	}
	var id string
	c.d.db.QueryRow(`insert into sign_in_trial (person_id, provider, client_secret, created_at, expires_at, email, succeeded_at)
		select person_id, provider, client_secret, created_at, expires_at, 'x@sample.example', now() from sign_in_trial
		where person_id = (select id from person where email = $1) limit 1 returning id`, []any{admin}, &id)
	return id
}

// ask sends a sound request of an operation.
func (c caller) ask(d *operation.Def, r sound) answer {
	c.d.t.Helper()
	path := "/api/v1" + d.Path
	for name, value := range r.path {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	if r.body == nil {
		return c.do(d.Method, path, nil)
	}
	return c.do(d.Method, path, r.body)
}

// adminOperations are those of the catalogue that ask for an admin action.
func adminOperations() (all []*operation.Def) {
	for _, d := range catalogue.All(catalogue.Stores{}) {
		if d.Kind == policies.KindAdmin {
			all = append(all, d)
		}
	}
	return all
}

func TestEveryAdminOperationHasASoundRequest(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, d := range adminOperations() {
		known[d.Name] = true
		if soundRequests[d.Name] == nil {
			t.Errorf("%s has no sound request in soundRequests, so nothing shows that its action alone opens it, nor that it is audited", d.Name)
		}
	}
	for name := range soundRequests {
		if !known[name] {
			t.Errorf("%s is no admin operation", name)
		}
	}
}

// unaudited are the admin operations that write nothing which outlives an hour.
var unaudited = map[string]bool{
	"test_sign_in_provider": true, // keeps what is tried until it is added, which is audited
}

// AUTHZ-09, AUTHZ-10: every admin operation that changes something leaves a row
// with who did it, what it was, to what and by which way; one that is refused
// leaves a deny and nothing else.
func TestEveryAdminWriteIsAudited(t *testing.T) {
	d := newDeployment(t, options{})
	d.mirror()
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	rows := func(email, action, outcome string) (n int, complete bool) {
		var id string
		d.db.QueryRow("select id from person where email = $1", []any{email}, &id)
		d.db.QueryRow(`select count(*), coalesce(bool_and(principal_kind = 'person' and principal_name = $4 and via = 'browser' and client_id = '' and credential <> ''
				and request_id <> '' and (element <> '' or outcome = 'deny')), true)
			from audit_event where principal_id = $1 and action = $2 and outcome = $3`, []any{id, action, outcome, email}, &n, &complete)
		return n, complete
	}
	writes := 0
	for _, def := range adminOperations() {
		if def.Effect == operation.Reads || unaudited[def.Name] {
			continue
		}
		writes++
		ready := soundRequests[def.Name](boss)
		if a := viewer.ask(def, ready); a.status != http.StatusForbidden {
			t.Errorf("%s by a viewer: %d %s", def.Name, a.status, a.body)
		}
		if allowed, _ := rows("viewer@sample.example", def.Name, "allow"); allowed != 0 {
			t.Errorf("%s was refused, and the audit has it allowed", def.Name)
		}
		if denied, complete := rows("viewer@sample.example", def.Name, "deny"); denied != 1 || !complete {
			t.Errorf("%s was refused, and the audit has %d such rows, complete: %v", def.Name, denied, complete)
		}
		before, _ := rows(admin, def.Name, "allow")
		if a := boss.ask(def, ready); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", def.Name, a.status, a.body)
		}
		if after, complete := rows(admin, def.Name, "allow"); after != before+1 || !complete {
			t.Errorf("%s left %d rows, complete: %v", def.Name, after-before, complete)
		}
	}
	if writes < 15 {
		t.Errorf("only %d were tried", writes)
	}
}

// oneAction has policies that give each admin action to a role of its own name
// alone, with may_ before it.
func oneAction(actions []policies.Action) fs.FS {
	var rules strings.Builder
	for _, a := range actions {
		fmt.Fprintf(&rules, "    - actions: [%s]\n      effect: EFFECT_ALLOW\n      roles: [may_%[1]s]\n", a)
	}
	return fstest.MapFS{"admin.yaml": &fstest.MapFile{Data: []byte(`apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: admin
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
` + rules.String())}}
}

var adminActions = policies.Vocabulary()[policies.KindAdmin]

// AUTHZ-08, AUTHZ-11, AUTHZ-06: whoever holds one admin action is let in at the
// operations that ask for it, and at no other, from the request on in which they
// hold it and until the one in which they do not.
func TestAnAdminActionOpensItsOwnOperationsAlone(t *testing.T) {
	d := newDeployment(t, options{policies: []fs.FS{oneAction(adminActions)}})
	d.mirror()
	boss, viewer := d.person(admin), d.person("viewer@sample.example")
	d.db.Exec(`insert into setting (key, value) values ('query.timeout_seconds', '"60"') on conflict do nothing`)
	opened := map[policies.Action]int{}
	for _, action := range adminActions {
		d.db.Exec("delete from request_rate")
		d.db.Exec("delete from role_assignment where role like 'may_%'")
		d.db.Exec(`insert into role_assignment (role, kind, subject, person_id) select $1, 'person', email, id from person where email = 'viewer@sample.example'`, "may_"+string(action))
		for _, def := range adminOperations() {
			a := viewer.ask(def, soundRequests[def.Name](boss))
			if isOpen := a.status != http.StatusForbidden; isOpen != (def.Action == action) {
				t.Errorf("%s under %s: %d %s", def.Name, action, a.status, a.body)
			} else if isOpen {
				opened[action]++
				// What a person's own test is needed for may be a conflict.
				if a.status != http.StatusOK && a.status != http.StatusConflict {
					t.Errorf("%s under %s: %d %s", def.Name, action, a.status, a.body)
				}
			}
		}
	}
	d.db.Exec("delete from role_assignment where role like 'may_%'")
	if a := viewer.get("/api/v1/admin/status"); a.status != http.StatusForbidden {
		t.Errorf("after the last is gone: %d %s", a.status, a.body)
	}
	for _, def := range adminOperations() {
		if opened[def.Action] == 0 {
			t.Errorf("%s opened nothing", def.Action)
		}
	}
}
