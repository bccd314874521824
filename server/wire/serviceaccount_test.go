package wire_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
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
