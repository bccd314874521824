package register_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/register"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

func count(s *oauthtest.Server) (n int) {
	s.DB.QueryRow("select count(*) from oauth_client where kind = 'registered'", nil, &n)
	return n
}

// OAUTH-39, OAUTH-41
func TestAnybodyMayRegisterAndGetsNothingButAnID(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	body := map[string]any{
		"client_name": "Ada's agent", "redirect_uris": []string{"http://localhost:1234/callback"},
		"grant_types": []string{"authorization_code", "refresh_token", "client_credentials"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "client_secret_post", "scope": "mcp api everything", "application_type": "native",
		"client_id": "chosen", "client_secret": "chosen", "skip_consent": true,
	}
	var answers [2]map[string]any
	for i, browser := range []*oauthtest.Browser{s.Browser(), s.SignIn("viewer@sample.example", oauthtest.ViewerID)} {
		a := browser.PostJSON(register.Path, body)
		if err := json.Unmarshal([]byte(a.Body), &answers[i]); err != nil || a.Status != http.StatusCreated {
			t.Fatal(a.Status, a.Body)
		}
		if len(a.Header.Values("Set-Cookie")) > 0 {
			t.Error("registration sets a cookie")
		}
	}
	got := answers[0]
	if got["client_id"] == "chosen" || got["token_endpoint_auth_method"] != "none" || got["scope"] != "mcp offline_access" {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"client_secret", "skip_consent", "registration_access_token"} {
		if _, there := got[name]; there {
			t.Errorf("the answer has %s", name)
		}
	}
	for _, volatile := range []string{"client_id", "client_id_issued_at"} {
		delete(answers[0], volatile)
		delete(answers[1], volatile)
	}
	with, _ := json.Marshal(answers[1])
	if without, _ := json.Marshal(answers[0]); string(with) != string(without) {
		t.Errorf("with a session %s, without %s", with, without)
	}
	var names string
	s.DB.QueryRow(`select coalesce(string_agg(column_name, ' '), '') from information_schema.columns
		where table_name = 'oauth_client' and column_name ~ 'person|creator|owner'`, nil, &names)
	if names != "" {
		t.Errorf("a client records %s", names)
	}
}

// OAUTH-40, OAUTH-42
func TestRefusedRegistrationsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	redirect := []string{"https://app.example/cb"}
	many := make([]string, 11)
	for i := range many {
		many[i] = "https://app.example/" + string(rune('a'+i))
	}
	for name, c := range map[string]struct {
		body map[string]any
		want string
	}{
		"jwks_uri":                    {map[string]any{"redirect_uris": redirect, "jwks_uri": "https://x.example"}, "invalid_client_metadata"},
		"post_logout_redirect_uris":   {map[string]any{"redirect_uris": redirect, "post_logout_redirect_uris": []string{}}, "invalid_client_metadata"},
		"backchannel_logout_uri":      {map[string]any{"redirect_uris": redirect, "backchannel_logout_uri": "https://x.example"}, "invalid_client_metadata"},
		"backchannel session":         {map[string]any{"redirect_uris": redirect, "backchannel_logout_session_required": nil}, "invalid_client_metadata"},
		"no redirect":                 {map[string]any{"client_name": "x"}, "invalid_redirect_uri"},
		"an empty list of redirects":  {map[string]any{"redirect_uris": []string{}}, "invalid_redirect_uri"},
		"eleven redirects":            {map[string]any{"redirect_uris": many}, "invalid_redirect_uri"},
		"a redirect that is a number": {map[string]any{"redirect_uris": []int{1}}, "invalid_client_metadata"},
		"one that is not a list":      {map[string]any{"redirect_uris": redirect[0]}, "invalid_client_metadata"},
		"the implicit grant alone":    {map[string]any{"redirect_uris": redirect, "grant_types": []string{"implicit"}}, "invalid_client_metadata"},
		"response type token":         {map[string]any{"redirect_uris": redirect, "response_types": []string{"token"}}, "invalid_client_metadata"},
		"a name of 101 characters":    {map[string]any{"redirect_uris": redirect, "client_name": strings.Repeat("é", 101)}, "invalid_client_metadata"},
	} {
		if a := s.Browser().PostJSON(register.Path, c.body); a.Status != http.StatusBadRequest || a.Field("error") != c.want {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	good, form := `{"redirect_uris": ["https://app.example/cb"]}`, url.Values{"redirect_uris": redirect}.Encode()
	for name, c := range map[string]struct{ contentType, body string }{
		"a form":           {"application/x-www-form-urlencoded", form},
		"JSON as text":     {"text/plain", good},
		"JSON as a form":   {"application/x-www-form-urlencoded", good},
		"multipart":        {"multipart/form-data; boundary=b", good},
		"no type":          {"", good},
		"a list":           {"application/json", "[" + good + "]"},
		"null":             {"application/json", "null"},
		"half of it":       {"application/json", good[:10]},
		"two":              {"application/json", good + good},
		"a body too large": {"application/json", `{"x": "` + strings.Repeat("x", 1<<15) + `"}`},
	} {
		if a := s.Browser().Do("POST", register.Path, c.body, "Content-Type: "+c.contentType); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if n := count(s); n != 0 {
		t.Errorf("%d clients", n)
	}
	preflight := s.Browser().Do("OPTIONS", register.Path, "", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
	if got := preflight.Header.Get("Access-Control-Allow-Origin"); got != "" || preflight.Status < 400 {
		t.Errorf("a foreign page's preflight: %d, allowed %q", preflight.Status, got)
	}
}
