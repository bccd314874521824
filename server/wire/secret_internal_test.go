package wire

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

// planted are the values that nobody may ever see again. Two have to be the sample
// tenant's, or nothing would run.
var planted = map[secret.Name]string{
	secret.AppClient:            sample.AppSecret,
	secret.ScannerClient:        sample.ScannerSecret,
	secret.EmbeddingKey:         "sk-planted-embedding-key-0451",
	secret.CSVLinkKey:           "planted-csv-link-key-7719",
	secret.OfProvider("google"): "planted-provider-secret-2203",
}

func (b *browser) plant() {
	b.Helper()
	for name, value := range planted {
		body := fmt.Sprintf(`{"value":%q,"expires_at":"2099-01-31T00:00:00Z"}`, value)
		if a := b.send(http.MethodPut, "/api/v1/admin/secrets/"+string(name), body, nil); a.status != http.StatusOK {
			b.Fatalf("setting %s answered %d %s", name, a.status, a.body)
		}
	}
}

// forms are a value as it is, in hex and in base64, wherever it may stand in what
// was encoded.
func forms(value string) []string {
	all := []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// The first and the last characters depend on what stands beside the value.
			text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + value))
			all = append(all, text[(before*8+5)/6:len(text)-1])
		}
	}
	return all
}

func holds(text, value string) bool {
	return slices.ContainsFunc(forms(value), func(f string) bool { return strings.Contains(text, f) })
}

// An admin who calls everything gets no secret back.
//
// SECRET-12
func TestNoAnswerHasASecret(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	admin := d.signIn("admin@sample.example")
	admin.plant()
	access := admin.letIn().access
	look := func(what string, a answer) {
		t.Helper()
		header, err := json.Marshal(a.header)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range planted {
			if holds(a.body+string(header), value) {
				t.Errorf("%s answers %d with the value of %s: %s", what, a.status, name, a.body)
			}
		}
	}
	done := 0
	for _, op := range catalogue.All(catalogue.Stores{}) {
		for _, input := range inputs(op, d.tenant.DatasetID("Sales")) {
			if op.Surfaces&(operation.API|operation.Browser) != 0 {
				a := admin.operation(op, input)
				look(op.Name, a)
				if a.status == http.StatusOK {
					done++
				}
				if a.status >= http.StatusInternalServerError {
					t.Errorf("%s answers %d %s", op.Name, a.status, a.body)
				}
			}
			if op.Surfaces&operation.Connector != 0 {
				look("the tool "+op.Name, admin.rpc(access, "tools/call", map[string]any{"name": op.Name, "arguments": input}))
			}
		}
	}
	if done < 10 {
		t.Errorf("only %d operations were done", done)
	}
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/api/auth/config", "/api/auth/get-session", "/api/v1/openapi.json", "/api/v1/openapi.yaml",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/api/mcp", "/.well-known/oauth-protected-resource/api/v1",
		"/api/auth/sign-in/microsoft", "/api/v1/me/connection/start", "/api/v1/admin/secrets/powerbi.client_secret",
	} {
		look(path, admin.send(http.MethodGet, path, "", nil))
	}
	for _, method := range []string{"initialize", "tools/list", "ping"} {
		look(method, admin.rpc(access, method, map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "c", "version": "1"},
		}))
	}
	// Nor does the log have one, or the list show more than the end of one.
	for name, value := range planted {
		if holds(d.logged(), value) {
			t.Errorf("the log has the value of %s", name)
		}
	}
	list := admin.send(http.MethodGet, "/api/v1/admin/secrets", "", nil).body
	for name, value := range planted {
		if !strings.Contains(list, `"last_four":"`+value[len(value)-4:]+`"`) || strings.Contains(list, value[len(value)-5:]) {
			t.Errorf("the list does not show exactly the end of %s: %s", name, list)
		}
	}
}

func (d *deployment) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// operation calls an operation over REST.
func (b *browser) operation(op *operation.Def, input map[string]any) answer {
	b.Helper()
	path, rest := op.Path, maps.Clone(input)
	for _, name := range op.PathParams {
		path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(input[name]))
		delete(rest, name)
	}
	if op.Method == http.MethodGet || op.Method == http.MethodDelete {
		var query []string
		for name, value := range rest {
			query = append(query, name+"="+strings.ReplaceAll(fmt.Sprint(value), " ", "+"))
		}
		return b.send(op.Method, "/api/v1"+path+"?"+strings.Join(query, "&"), "", nil)
	}
	body, err := json.Marshal(rest)
	if err != nil {
		b.Fatal(err)
	}
	return b.send(op.Method, "/api/v1"+path, string(body), nil)
}

// inputs are two of an operation's: what it needs, made of its schema, and with
// everything else beside. Ending the caller's own connection would stop the rest,
// and a value that is set again would no longer be the one that is looked for.
func inputs(op *operation.Def, dataset string) []map[string]any {
	if slices.Contains([]string{"set_secret", "disconnect_power_bi"}, op.Name) {
		return nil
	}
	needed, whole := map[string]any{}, map[string]any{}
	for name, s := range op.Input.Properties {
		value := example(s)
		switch name {
		case "dataset":
			value = dataset
		case "query", "dax":
			value = `EVALUATE ROW("x", 1)`
		case "cursor":
			continue
		}
		whole[name] = value
		if slices.Contains(op.Input.Required, name) {
			needed[name] = value
		}
	}
	return []map[string]any{needed, whole}
}

func example(s *huma.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Format == "uuid":
		return "5a3b1c00-7e57-4000-8000-00000000ffff"
	case s.Format == "date-time":
		return "2026-01-01T00:00:00Z"
	}
	switch s.Type {
	case huma.TypeInteger, huma.TypeNumber:
		return 1
	case huma.TypeBoolean:
		return true
	case huma.TypeArray:
		return []any{}
	}
	return "Sales"
}

// What is wrong with a secret is said without saying it again.
//
// SECRET-12, SECRET-17, SEARCH-10
func TestARefusedSecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	admin, viewer := d.signIn("admin@sample.example"), d.signIn("viewer@sample.example")
	const path = "/api/v1/admin/secrets/"
	for name, tt := range map[string]struct {
		as     *browser
		path   string
		body   string
		status int
		says   string
	}{
		"a line break":         {admin, path + "powerbi.client_secret", `{"value":"canary-value\n"}`, 400, "control character"},
		"NUL":                  {admin, path + "powerbi.client_secret", `{"value":"canary-value\u0000"}`, 400, "NUL"},
		"nothing":              {admin, path + "powerbi.client_secret", `{"value":""}`, 400, "value"},
		"a number":             {admin, path + "powerbi.client_secret", `{"value":4242424242}`, 400, "value"},
		"a key with an accent": {admin, path + "search.api_key", `{"value":"canary-välue"}`, 400, "header"},
		"one that is over":     {admin, path + "powerbi.client_secret", `{"value":"canary-value","expires_at":"2020-01-01T00:00:00Z"}`, 400, "over already"},
		"another field":        {admin, path + "powerbi.client_secret", `{"value":"canary-value","secret":"canary-value"}`, 400, "Unknown argument"},
		"in place of its name": {admin, path + "canary-value", `{"value":"x"}`, 400, "the name of a secret"},
		"as a name with dots":  {admin, path + "canary.value", `{"value":"x"}`, 404, "powerbi.client_secret"},
		"in the query":         {admin, path + "powerbi.client_secret?value=canary-value", `{"value":"x"}`, 400, "query string"},
		"broken JSON":          {admin, path + "powerbi.client_secret", `{"value":"canary-value`, 400, "JSON"},
		"far too long":         {admin, path + "powerbi.client_secret", `{"value":"` + strings.Repeat("canary", 1000) + `"}`, 400, "value"},
		"from somebody else":   {viewer, path + "powerbi.client_secret", `{"value":"canary-value"}`, 403, "manage_secrets"},
	} {
		a := tt.as.send(http.MethodPut, tt.path, tt.body, nil)
		if a.status != tt.status || !strings.Contains(a.body, tt.says) || strings.Contains(a.body, "canary") || strings.Contains(a.body, "4242") {
			t.Errorf("%s: %d %s, want %d with %q and without the value", name, a.status, a.body, tt.status, tt.says)
		}
	}
	if a := viewer.send(http.MethodGet, "/api/v1/admin/secrets", "", nil); a.status != http.StatusForbidden {
		t.Errorf("a viewer lists secrets: %d %s", a.status, a.body)
	}
	if a := viewer.send(http.MethodGet, "/api/v1/admin/status", "", nil); a.status != http.StatusForbidden {
		t.Errorf("a viewer sees the status: %d %s", a.status, a.body)
	}
	if strings.Contains(d.logged(), "canary") {
		t.Error("the log has a value")
	}
	var kept int
	d.db.QueryRow("select count(*) from audit_event e where e::text like '%canary%'", nil, &kept)
	if kept != 0 {
		t.Error("the audit has a value")
	}
}

// SECRET-13: nothing else of a secret is in the type of an answer.
func TestWhatIsShownOfASecret(t *testing.T) {
	t.Parallel()
	want := []string{"about", "check", "expires_at", "last_four", "name", "readers", "set_at", "set_by"}
	for _, op := range catalogue.All(catalogue.Stores{}) {
		item := op.Output
		switch op.Name {
		case "list_secrets":
			item = op.Output.Properties["items"].Items
		case "set_secret":
		default:
			continue
		}
		if got := slices.Sorted(maps.Keys(item.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", op.Name, got, want)
		}
	}
}

// What ends soon is in the status, and so is what went wrong.
//
// SECRET-26, AUTHZ-12
func TestStatus(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	admin := d.signIn("admin@sample.example")
	admin.plant()
	for name, ends := range map[secret.Name]string{
		secret.AppClient: "29 days", secret.ScannerClient: "6 days", secret.OfProvider("google"): "-1 days", secret.EmbeddingKey: "31 days",
	} {
		d.db.Exec("update secret_ciphertext set expires_at = now() + $2::text::interval where name = $1", name, ends)
	}
	d.db.Exec("update sync_run set state = 'failed', error = 'marked error'")
	d.db.Exec("update powerbi_connection set state = 'needs_reconnect', access_token = null, refresh_token = null where person_id = (select person_id from powerbi_connection limit 1)")
	a := admin.send(http.MethodGet, "/api/v1/admin/status", "", nil)
	var got struct {
		Deployment string
		Version    string
		FullSync   struct{ State, Message string } `json:"full_sync"`
		Remake     int                             `json:"connections_to_remake"`
		Secrets    []struct{ Name, Expiry string }
		Warnings   []string
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	expiry := map[string]string{}
	for _, s := range got.Secrets {
		expiry[s.Name] = s.Expiry
	}
	want := map[string]string{
		"powerbi.client_secret": "warn", "scanner.client_secret": "urgent", "sign_in.google.client_secret": "expired",
		"search.api_key": "none", "results.csv_link_key": "none",
	}
	if !maps.Equal(expiry, want) {
		t.Errorf("secrets %v, want %v", expiry, want)
	}
	if got.Deployment != "a deployment" || got.Version != Version || got.FullSync.State != "failed" || got.FullSync.Message != "marked error" || got.Remake != 1 {
		t.Errorf("%+v", got)
	}
	var starts []string
	for _, w := range got.Warnings {
		starts = append(starts, strings.Join(strings.Fields(w)[:5], " "))
	}
	wantStarts := []string{
		"The secret sign_in.google.client_secret ended on", "The secret scanner.client_secret ends on", "The last full sync failed:",
		"The tenant was never synced:", "The secret powerbi.client_secret ends on", "One person has to make", "One person alone is an",
	}
	if !slices.Equal(starts, wantStarts) {
		t.Errorf("warnings %q, want %q", got.Warnings, wantStarts)
	}
	for _, mark := range []string{"@sample.example", "planted", `"id"`} {
		if strings.Contains(a.body, mark) {
			t.Errorf("the status has %q: %s", mark, a.body)
		}
	}
}

// A copy of the whole database has nothing that opens anything.
//
// SECRET-04, SECRET-11
func TestADumpOpensNothing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	admin := d.signIn("admin@sample.example")
	admin.plant()
	g := admin.letIn()
	if a := admin.rpc(g.access, "tools/call", map[string]any{"name": "whoami", "arguments": map[string]any{}}); a.status != http.StatusOK {
		t.Fatalf("the client's token does not work: %d %s", a.status, a.body)
	}
	known := map[string]string{
		"AUTH_SECRET": d.cfg.AuthSecret, "a session": admin.cookie,
		"an access token": g.access, "a refresh token": g.refresh, "a code": g.code, "a verifier": g.verifier,
	}
	for name, value := range planted {
		known[string(name)] = value
	}
	d.mu.Lock()
	for i, issued := range d.issued {
		known[fmt.Sprintf("Microsoft's token %d", i)] = issued
	}
	d.mu.Unlock()
	if len(known) < 30 {
		t.Fatalf("only %d values are known", len(known))
	}
	for _, c := range []vault.Container{vault.API, vault.Worker} {
		content, err := os.ReadFile(identityFile(d.cfg, c))
		if err != nil {
			t.Fatal(err)
		}
		_, known["the identity of the "+string(c)], _ = strings.Cut(strings.TrimSpace(string(content)), "\n")
	}
	v, err := openVault("", identityFile(d.cfg, vault.API))
	if err != nil {
		t.Fatal(err)
	}
	var sealedKey []byte
	d.db.QueryRow("select private_key from jwks", nil, &sealedKey)
	seed, err := v.Open(sealedKey)
	if err != nil {
		t.Fatal(err)
	}
	known["the signing key"] = string(seed)

	dump, bytea := d.dump()
	for table, rows := range dump {
		for what, value := range known {
			if holds(rows, value) {
				t.Errorf("%s has %s", table, what)
			}
		}
		if strings.Contains(rows, "AGE-SECRET-KEY-") {
			t.Errorf("%s has an identity", table)
		}
	}
	if !strings.Contains(dump["powerbi_connection"], "connected") || !strings.Contains(dump["secret_ciphertext"], "search.api_key") {
		t.Error("what was looked for is not what is kept")
	}

	// What is stored is no credential, in whatever form it is brought.
	for column, value := range bytea {
		for _, text := range []string{
			hex.EncodeToString(value), base64.RawURLEncoding.EncodeToString(value), base64.StdEncoding.EncodeToString(value), printable.ReplaceAllString(string(value), ""),
		} {
			if len(text) > 4000 {
				continue // no cookie and no header is as long
			}
			for _, as := range []*browser{{deployment: d, cookie: text}, {deployment: d}} {
				header := map[string]string{}
				if as.cookie == "" {
					header["Authorization"] = "Bearer " + text
				}
				if a := as.send(http.MethodGet, "/api/v1/me", "", header); a.status == http.StatusOK {
					t.Errorf("%s is accepted: %s", column, a.body)
				}
			}
		}
	}
}

var printable = regexp.MustCompile(`[^!-~]`)

// dump is every row of every table as text, and one value of each column of bytes.
func (d *deployment) dump() (rows map[string]string, bytea map[string][]byte) {
	d.Helper()
	conn, err := pgx.Connect(d.Context(), d.db.SuperuserURL())
	if err != nil {
		d.Fatal(err)
	}
	defer conn.Close(d.Context())
	found, err := conn.Query(d.Context(), "select tablename from pg_tables where schemaname = 'public'")
	if err != nil {
		d.Fatal(err)
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		d.Fatal(err)
	}
	rows, bytea = map[string]string{}, map[string][]byte{}
	for _, table := range tables {
		var text string
		name := pgx.Identifier{table}.Sanitize()
		if err := conn.QueryRow(d.Context(), "select coalesce(string_agg(t::text, E'\\n'), '') from "+name+" t").Scan(&text); err != nil {
			d.Fatal(err)
		}
		rows[table] = text
		found, err := conn.Query(d.Context(), "select attname from pg_attribute where attrelid = $1::regclass and atttypid = 'bytea'::regtype and not attisdropped", table)
		if err != nil {
			d.Fatal(err)
		}
		columns, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			d.Fatal(err)
		}
		for _, column := range columns {
			var value []byte
			c := pgx.Identifier{column}.Sanitize()
			err := conn.QueryRow(d.Context(), "select "+c+" from "+name+" where "+c+" is not null limit 1").Scan(&value)
			if err == nil {
				bytea[table+"."+column] = value
			}
		}
	}
	return rows, bytea
}

// The demo seals the sample tenant's secrets as an admin's are sealed, on its first
// start alone.
//
// SECRET-08, SECRET-09
func TestSampleSecretsAreSealedOnce(t *testing.T) {
	t.Parallel()
	d := &deployment{T: t, db: postgrestest.New(t)}
	d.cfg = config.Config{
		IdentityFolder: t.TempDir(), DatabaseAPI: d.db.URL(postgres.API), DatabaseWorker: d.db.URL(postgres.Worker),
		TenantID: sample.TenantID, Authority: "http://localhost:8090/login",
	}
	for range 2 {
		if err := SetUpSample(t.Context(), d.cfg); err != nil {
			t.Fatal(err)
		}
	}
	var rows, audited string
	d.db.QueryRow("select string_agg(name || ' for ' || reader || ' by ' || set_by, ', ' order by name) from secret_ciphertext", nil, &rows)
	d.db.QueryRow("select string_agg(element || ' ' || principal_id, ', ' order by element) from audit_event where action = 'set_secret'", nil, &audited)
	if rows != "powerbi.client_secret for api by setup, scanner.client_secret for worker by setup" || audited != "powerbi.client_secret setup, scanner.client_secret setup" {
		t.Errorf("sealed %q, audited %q", rows, audited)
	}
}
