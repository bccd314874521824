package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/ratelimit"
	"github.com/pbmb/pbmb/oauth/device"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/server/web"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// NET-29, NET-30, NET-31, NET-32: the device flow behind the gate, with counts in
// the database. Each request says where it comes from.
func TestTheDeviceFlowIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	log := slog.New(slog.DiscardHandler)
	limits := ratelimit.New(s.DB.API(), s.Clock.Now)
	devices, err := device.New(device.Config{
		Site: s.Site, Store: s.Store, Sessions: s.Authn, Limits: limits, Address: web.ClientAddress,
		AuthSecret: oauthtest.AuthSecret, Now: s.Clock.Now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := httptest.NewServer(web.New(web.Config{
		Site: s.Site, Origin: s.URL, Shell: fstest.MapFS{"index.html": {}}, Routes: devices.Routes(),
		API: http.NotFoundHandler(), MCP: http.NotFoundHandler(),
		Auth: s.Authn, Limits: limits, Log: log, Address: func(r *http.Request) string { return r.Header.Get("Test-Address") },
	}))
	defer gate.Close()

	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	site, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookies := viewer.Jar.Cookies(&url.URL{Scheme: "https", Host: site.Host})
	if len(cookies) != 1 || cookies[0].Name != session.Cookie {
		t.Fatal(cookies)
	}
	send := func(from, method, path, kind, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, gate.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Test-Address", from)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Origin", s.URL)
		r.AddCookie(cookies[0])
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	const a, b, cli = "198.51.100.1", "198.51.100.2", "203.0.113.9"
	start := func(from string) (int, string) {
		return send(from, http.MethodPost, device.AuthorizationPath, "application/x-www-form-urlencoded",
			url.Values{"client_id": {"pbmb-cli"}, "resource": {s.URL + "/api/v1"}}.Encode())
	}
	lookUp := func(from, code string) int {
		status, _ := send(from, http.MethodGet, device.AnswerPath+"?user_code="+code, "", "")
		return status
	}
	answer := func(from, code, allow string) int {
		status, _ := send(from, http.MethodPost, device.AnswerPath, "application/json", `{"user_code":"`+code+`","allow":`+allow+`}`)
		return status
	}

	for i := range 10 {
		if status, body := start(cli); status != http.StatusOK {
			t.Fatalf("start %d: %d %s", i+1, status, body)
		}
	}
	if status, body := start(cli); status != http.StatusTooManyRequests || strings.Contains(body, "device_code") {
		t.Errorf("the 11th start: %d %s", status, body)
	}
	var requests int
	s.DB.QueryRow("select count(*) from device_request", nil, &requests)
	if requests != 10 {
		t.Errorf("%d requests are recorded, want 10", requests)
	}
	_, body := start(b)
	_, good, _ := strings.Cut(body, `"user_code":"`)
	good, _, _ = strings.Cut(good, `"`)

	for i := range 5 {
		if got := lookUp(a, "BCDF-GHJK"); got != http.StatusNotFound {
			t.Errorf("look-up %d: %d", i+1, got)
		}
		if got := answer(a, "BCDF-GHJK", "true"); got != http.StatusNotFound {
			t.Errorf("allow %d: %d", i+1, got)
		}
	}
	if got := lookUp(a, good); got != http.StatusTooManyRequests {
		t.Errorf("the 6th look-up, with a good code: %d", got)
	}
	if got := answer(a, good, "true"); got != http.StatusTooManyRequests {
		t.Errorf("the 6th allow, with a good code: %d", got)
	}
	for i := range 5 { // counted apart
		if got := answer(a, "BCDF-GHJK", "false"); got != http.StatusNotFound {
			t.Errorf("deny %d: %d", i+1, got)
		}
	}
	if got := answer(a, good, "false"); got != http.StatusTooManyRequests {
		t.Errorf("the 6th deny, with a good code: %d", got)
	}
	if got := lookUp(b, good); got != http.StatusOK {
		t.Errorf("another address looks it up: %d", got)
	}
	if got := answer(b, good, "true"); got != http.StatusOK {
		t.Errorf("another address allows it: %d", got)
	}

	var foreign int
	s.DB.QueryRow("select count(*) from request_rate where rule like 'device%' and not subject = any($1)", []any{[]string{a, b, cli}}, &foreign)
	if foreign != 0 {
		t.Errorf("%d counts are of other addresses than the browsers'", foreign)
	}
	var from string
	s.DB.QueryRow("select started_from from device_request order by started_at desc limit 1", nil, &from)
	if from != b {
		t.Errorf("started_from is %q", from) // OAUTH-59
	}
}
