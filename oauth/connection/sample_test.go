package connection_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/graph"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
)

// A sampleFixture is a fixture whose Microsoft is the sample tenant.
type sampleFixture struct {
	*fixture
	tenant *sample.Tenant
	url    string // of the tenant
	http   *http.Client
	app    *entra.Client
	conns  *connection.Connections

	// connect walks as the browser with a session does, and returns where it ends.
	connect func(session, person string) string
}

func newSampleFixture(t *testing.T, cfg sample.Config) *sampleFixture {
	t.Helper()
	f := newFixture(t)
	tenant, err := sample.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	microsoft := httptest.NewServer(tenant.Handler())
	t.Cleanup(microsoft.Close)
	h, err := fetch.NewFixed([]string{microsoft.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	app := entra.New(microsoft.URL+sample.LoginPath, sample.TenantID, entra.Registration{
		ClientID: sample.AppID, Secret: func(context.Context) (string, error) { return sample.AppSecret, nil },
	}, h, f.now)
	v, err := vault.FromFile(filepath.Join(t.TempDir(), "identity"))
	if err != nil {
		t.Fatal(err)
	}
	conns := connection.New(f.db.API(), v, app, graph.New(microsoft.URL+sample.GraphPath+"/v1.0", h), f.onlyOwn, f.now, slog.New(slog.DiscardHandler))

	mux := http.NewServeMux()
	ours := httptest.NewServer(mux)
	t.Cleanup(ours.Close)
	site, err := protocol.NewSite(ours.URL)
	if err != nil {
		t.Fatal(err)
	}
	handler := &connection.Handler{Connections: conns, Sessions: f, Site: site, Audit: audit.NewWriter(f.db.API()), SafeNext: signin.SafeNext}
	for _, r := range handler.Routes() {
		mux.HandleFunc(r.Method+" "+r.Path, r.Handler)
	}

	connect := func(session, person string) string {
		t.Helper()
		browser := &http.Client{Transport: fetchtest.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		get := func(address string) *url.URL {
			t.Helper()
			r, _ := http.NewRequest(http.MethodGet, address, nil)
			r.Header.Set("Cookie", session)
			resp, err := browser.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			to, err := resp.Location()
			if err != nil {
				t.Fatalf("%s answered %d", address, resp.StatusCode)
			}
			return to
		}
		page := get(ours.URL + connection.StartPath + "?next=/account")
		resp, err := browser.PostForm(page.String(), url.Values{"person": {person}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			t.Fatalf("the sign-in page answered %d", resp.StatusCode)
		}
		return get(back.String()).RequestURI()
	}
	return &sampleFixture{f, tenant, microsoft.URL, h, app, conns, connect}
}

// The whole way over HTTP: our pages, the sample tenant's sign-in page, its
// tokens, Graph and Power BI.
//
// CONN-01, CONN-08, CONN-19, CONN-28, CONN-29, CONN-30, QUERY-03
func TestSampleTenant(t *testing.T) {
	t.Parallel()
	s := newSampleFixture(t, sample.Config{Log: slog.New(slog.DiscardHandler)})
	f, tenant, conns, connect := s.fixture, s.tenant, s.conns, s.connect
	if got := connect("a", "viewer@sample.example"); got != "/account?power_bi=connected" {
		t.Fatalf("came back to %s", got)
	}
	if got := connect("b", "outsider@sample.example"); got != "/account?power_bi=connected" {
		t.Fatalf("came back to %s", got)
	}

	var oid string
	for _, p := range tenant.People() {
		if p.UPN == "viewer@sample.example" {
			oid = p.ObjectID
		}
	}
	token, err := conns.Token(t.Context(), f.people["a"].ID)
	if err != nil || token.ObjectID != oid || token.Account != "viewer@sample.example" {
		t.Fatalf("got %s of %s, %v", token.ObjectID, token.Account, err)
	}
	if n := f.text("select cardinality(group_ids)::text from powerbi_connection where person_id = $1 and groups_read_at is not null", f.people["a"].ID); n == "" || n == "0" {
		t.Errorf("%q groups are stored", n)
	}

	powerBI := powerbi.New(s.url+sample.PowerBIPath+"/v1.0/myorg", s.http)
	id := tenant.DatasetID("Sales")
	const dax = `EVALUATE ROW ( "net", [Net sales] )`
	res, err := powerBI.ExecuteQuery(t.Context(), token.Access, id, dax)
	if err != nil || len(res.Rows) != 1 || !slices.Equal(res.Columns, []string{"[net]"}) || res.Rows[0][0] == nil {
		t.Errorf("the viewer got %+v, %v", res, err)
	}
	other, err := conns.Token(t.Context(), f.people["b"].ID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = powerBI.ExecuteQuery(t.Context(), other.Access, id, dax)
	if refused, ok := errors.AsType[*powerbi.Error](err); !ok || !refused.Unseen() {
		t.Errorf("the outsider got %v", err)
	}

	// The access token ends; the refresh token still does; then Microsoft ends it too.
	f.pass(2 * time.Hour)
	again, err := conns.Token(t.Context(), f.people["a"].ID)
	if err != nil || again.Access == token.Access {
		t.Errorf("after two hours: %v", err)
	}
	if err := tenant.RevokeTokens("viewer@sample.example"); err != nil {
		t.Fatal(err)
	}
	f.pass(2 * time.Hour)
	if _, err := conns.Token(t.Context(), f.people["a"].ID); !errors.Is(err, connection.ErrNeedsReconnect) {
		t.Errorf("after Microsoft ended it: %v", err)
	}
	for _, secret := range []string{token.Access, again.Access, other.Access} {
		dump := f.text("select a::text from audit_event a") + f.text("select s::text from sign_in_state s") +
			f.text("select encode(access_token, 'escape') || encode(refresh_token, 'escape') from powerbi_connection where state = 'connected'")
		if secret == "" || strings.Contains(dump, secret) {
			t.Error("a token is in the database in clear")
		}
	}
}
