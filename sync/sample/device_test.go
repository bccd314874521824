package sample_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/pbmb/pbmb/sync/sample"
)

// SAMPLE-01: a generic client signs a device in, once somebody entered its code.
func TestDeviceFlow(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	cfg := s.client()
	cfg.ClientSecret = "" // devices keep none
	cfg.Endpoint.DeviceAuthURL = s.url + sample.LoginPath + "/organizations/oauth2/v2.0/devicecode"
	begin := func() *oauth2.DeviceAuthResponse {
		t.Helper()
		d, err := cfg.DeviceAuth(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	enter := func(form url.Values) string {
		t.Helper()
		res, err := http.PostForm(s.url+sample.LoginPath+"/organizations/oauth2/deviceauth", form)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	poll := func(d *oauth2.DeviceAuthResponse) entraProblem {
		t.Helper()
		_, problem := s.post(cfg.Endpoint.TokenURL, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {sample.AppID}, "device_code": {d.DeviceCode},
		})
		return problem
	}
	d := begin()
	if d.Interval != 5 || !strings.HasSuffix(d.VerificationURI, "/oauth2/deviceauth") || len(d.UserCode) != 9 {
		t.Errorf("the flow begins with %+v", d)
	}
	if got := poll(d); got.Error != "authorization_pending" || !slices.Equal(got.Codes, []int{70016}) {
		t.Errorf("before anybody signs in: %+v", got)
	}
	contains(t, enter(url.Values{"code": {"WRONG"}, "person": {"viewer@sample.example"}}), "AADSTS70019")
	contains(t, enter(url.Values{"code": {d.UserCode}, "person": {"former@sample.example"}}), "AADSTS50057")
	contains(t, enter(url.Values{"code": {strings.ToLower(d.UserCode)}, "person": {"viewer@sample.example"}}), "go back to the device")
	contains(t, enter(url.Values{"code": {d.UserCode}, "person": {"ada@sample.example"}}), "AADSTS70019")
	d.Interval = 1 // the client's wait, of which Entra wants five
	token, err := cfg.DeviceAccessToken(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	var me struct{ UserPrincipalName string }
	s.call(token.AccessToken, "GET", sample.GraphPath+"/v1.0/me", nil, &me)
	if me.UserPrincipalName != "viewer@sample.example" || token.RefreshToken == "" {
		t.Errorf("signed in as %q", me.UserPrincipalName)
	}
	if got := poll(d); got.Error != "bad_verification_code" {
		t.Errorf("a code that was used: %+v", got)
	}
	declined := begin()
	enter(url.Values{"code": {declined.UserCode}, "cancel": {"1"}})
	if got := poll(declined); got.Error != "authorization_declined" {
		t.Errorf("declined: %+v", got)
	}
	late := begin()
	c.at = c.at.Add(16 * time.Minute)
	contains(t, enter(url.Values{"code": {late.UserCode}, "person": {"viewer@sample.example"}}), "AADSTS70019")
	if got := poll(late); got.Error != "expired_token" {
		t.Errorf("too late: %+v", got)
	}
	for name, form := range map[string]url.Values{
		"no client":         {"scope": {"User.Read"}},
		"an unknown client": {"client_id": {sample.TenantID}, "scope": {"User.Read"}},
		"no scope":          {"client_id": {sample.AppID}},
		"an unknown scope":  {"client_id": {sample.AppID}, "scope": {"Files.Read"}},
	} {
		if res, problem := s.post(cfg.Endpoint.DeviceAuthURL, form); res.StatusCode != http.StatusBadRequest || problem.Error == "" {
			t.Errorf("%s: %s %+v", name, res.Status, problem)
		}
	}
}

// SAMPLE-01: an API that was called goes on as its caller, and nobody else.
func TestOnBehalfOf(t *testing.T) {
	c := newClock()
	s := newSite(t, sample.Config{Now: c.now})
	ask := func(form map[string]string) (*http.Response, entraProblem) {
		t.Helper()
		values := url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "requested_token_use": {"on_behalf_of"},
			"client_id": {sample.AppID}, "client_secret": {sample.AppSecret}, "scope": {powerBIScope},
		}
		for name, value := range form {
			values.Set(name, value)
		}
		return s.post(s.client().Endpoint.TokenURL, values)
	}
	cfg := s.client()
	cfg.Scopes = []string{"openid", sample.AppAudience + "/access_as_user"}
	verifier := oauth2.GenerateVerifier()
	back := s.pick(newBrowser(t), cfg.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier)), "ada@sample.example")
	own, err := cfg.Exchange(t.Context(), back.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	if res, problem := ask(map[string]string{"assertion": own.AccessToken}); res.StatusCode != http.StatusOK {
		t.Errorf("its own token: %s %+v", res.Status, problem)
	}
	for name, tt := range map[string]struct {
		form   map[string]string
		number int
	}{
		"a token for Power BI":   {map[string]string{"assertion": s.powerBI("ada")}, 500131},
		"no token":               {map[string]string{"assertion": "x.y.z"}, 50013},
		"another client":         {map[string]string{"assertion": own.AccessToken, "client_id": sample.ScannerID, "client_secret": sample.ScannerSecret}, 500131},
		"no word of its purpose": {map[string]string{"assertion": own.AccessToken, "requested_token_use": ""}, 900144},
		"no scope":               {map[string]string{"assertion": own.AccessToken, "scope": ""}, 900144},
	} {
		if res, problem := ask(tt.form); res.StatusCode != http.StatusBadRequest || !slices.Equal(problem.Codes, []int{tt.number}) {
			t.Errorf("%s: %s %+v, want %d", name, res.Status, problem, tt.number)
		}
	}
	c.at = c.at.Add(2 * time.Hour)
	if _, problem := ask(map[string]string{"assertion": own.AccessToken}); !slices.Equal(problem.Codes, []int{500133}) {
		t.Errorf("a token that ended: %+v", problem)
	}
}

// SAMPLE-01: a generic client has the scanner's token, and Graph refuses it.
func TestClientCredentials(t *testing.T) {
	s := sharedSite(t)
	cfg := clientcredentials.Config{
		ClientID: sample.ScannerID, ClientSecret: sample.ScannerSecret, TokenURL: s.client().Endpoint.TokenURL, Scopes: []string{powerBIScope},
	}
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		cfg.AuthStyle = style
		res, err := cfg.Client(context.WithoutCancel(t.Context())).Get(s.url + adminPath + "/workspaces/modified")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("answered %s", res.Status)
		}
	}
	cfg.ClientSecret = "guess"
	if _, err := cfg.Token(t.Context()); err == nil {
		t.Error("a wrong secret has a token")
	} else if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != "invalid_client" {
		t.Errorf("a wrong secret: %v", err)
	}
	if res := s.call(s.scanner(), "GET", sample.GraphPath+"/v1.0/me", nil, nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("Graph answers %s", res.Status)
	}
}
