package device_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/device"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

// whoami asks the API who a token is for.
func whoami(s *oauthtest.Server, access string) oauthtest.Answer {
	return s.Browser().Get("/api/v1/whoami", "Authorization: Bearer "+access)
}

// OAUTH-57, OAUTH-58, OAUTH-63, OAUTH-08, OAUTH-09
func TestAPersonLetsTheCommandLineIn(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	start := s.Browser().PostForm(device.AuthorizationPath,
		"client_id", store.CLI, "scope", "api offline_access", "resource", s.URL+"/api/v1")
	var fields map[string]any
	if err := json.Unmarshal([]byte(start.Body), &fields); err != nil || start.Status != http.StatusOK {
		t.Fatal(start.Status, start.Body)
	}
	deviceCode, userCode := start.Field("device_code"), start.Field("user_code")
	if len(fields) != 5 || !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(userCode) ||
		fields["verification_uri"] != s.URL+"/device" || fields["expires_in"] != 600.0 || fields["interval"] != 5.0 {
		t.Errorf("the answer: %s", start.Body)
	}
	if got := start.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q", got)
	}

	if a := s.Poll(deviceCode); a.Status != http.StatusBadRequest || a.Field("error") != "authorization_pending" {
		t.Errorf("before the answer: %d %s", a.Status, a.Body)
	}
	looker, viewer := s.SignIn("other@sample.example", oauthtest.OtherID), s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	for _, b := range []*oauthtest.Browser{looker, viewer} {
		if a := b.Get(device.AnswerPath + "?user_code=" + userCode); a.Status != http.StatusOK {
			t.Errorf("looking it up: %d %s", a.Status, a.Body)
		}
	}
	typed := strings.ToLower(strings.ReplaceAll(userCode, "-", " ")) // as somebody may type it
	if a := viewer.AnswerDevice(typed, true); a.Status != http.StatusOK || a.Field("allowed") != "true" {
		t.Fatalf("allowing: %d %s", a.Status, a.Body)
	}
	for _, allow := range []bool{true, false} {
		if a := looker.AnswerDevice(userCode, allow); a.Status != http.StatusNotFound {
			t.Errorf("another person's later answer: %d %s", a.Status, a.Body)
		}
	}

	s.Clock.Advance(store.PollInterval)
	a := s.Poll(deviceCode, "resource", s.URL+"/api/v1")
	if a.Status != http.StatusOK || a.Field("scope") != "api offline_access" || a.Field("token_type") != "Bearer" {
		t.Fatalf("after the answer: %d %s", a.Status, a.Body)
	}
	who := whoami(s, a.Field("access_token"))
	if who.Field("Email") != "viewer@sample.example" || who.Field("Via") != "cli" || who.Field("ClientID") != store.CLI {
		t.Errorf("whoami: %d %s", who.Status, who.Body)
	}
	if got := s.Call(a.Field("access_token")); got != http.StatusUnauthorized {
		t.Errorf("at the connector: %d", got)
	}
	refreshed := s.Refresh(store.CLI, a.Field("refresh_token"))
	if refreshed.Status != http.StatusOK || whoami(s, refreshed.Field("access_token")).Status != http.StatusOK {
		t.Errorf("refreshed: %d %s", refreshed.Status, refreshed.Body)
	}

	var allows int
	s.DB.QueryRow("select count(*) from audit_event where action = 'allow_client' and outcome = 'allow' and element = 'pbmb-cli'", nil, &allows)
	if allows != 1 {
		t.Errorf("%d audit rows", allows)
	}
}

func TestAPersonTurnsTheCommandLineAway(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	deviceCode, userCode := s.StartDevice()
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	if a := viewer.AnswerDevice(userCode, false); a.Status != http.StatusOK || a.Field("allowed") != "false" {
		t.Fatalf("denying: %d %s", a.Status, a.Body)
	}
	if a := viewer.AnswerDevice(userCode, true); a.Status != http.StatusNotFound {
		t.Errorf("allowing afterwards: %d %s", a.Status, a.Body)
	}
	if a := s.Poll(deviceCode); a.Status != http.StatusBadRequest || a.Field("error") != "access_denied" {
		t.Errorf("the poll: %d %s", a.Status, a.Body)
	}
	var grants int
	s.DB.QueryRow("select count(*) from oauth_grant", nil, &grants)
	if grants != 0 {
		t.Errorf("%d grants", grants)
	}
}

// OAUTH-26, OAUTH-27, OAUTH-55, OAUTH-56
func TestRefusedRequestsMakeNoCode(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	registered := s.Register()
	good := url.Values{"client_id": {store.CLI}, "scope": {"api offline_access"}, "resource": {s.URL + "/api/v1"}}
	with := func(name string, values ...string) string {
		v := url.Values{}
		for n, all := range good {
			v[n] = all
		}
		v[name] = values
		return v.Encode()
	}
	const form = "Content-Type: application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		path, body, kind, want string
	}{
		"another client":       {"", with("client_id", registered), form, "unauthorized_client"},
		"an unknown client":    {"", with("client_id", "nobody"), form, "invalid_client"},
		"no client":            {"", with("client_id"), form, "invalid_client"},
		"another scope":        {"", with("scope", "mcp"), form, "invalid_scope"},
		"one scope more":       {"", with("scope", "api openid"), form, "invalid_scope"},
		"offline access alone": {"", with("scope", "offline_access"), form, "invalid_scope"},
		"the other resource":   {"", with("resource", s.URL+"/api/mcp"), form, "invalid_target"},
		"a foreign resource":   {"", with("resource", "https://elsewhere.example/api/v1"), form, "invalid_target"},
		"no resource":          {"", with("resource"), form, "invalid_target"},
		"two resources":        {"", with("resource", s.URL+"/api/v1", s.URL+"/api/v1"), form, "invalid_target"},
		"two clients":          {"", with("client_id", store.CLI, registered), form, "invalid_request"},
		"two equal scopes":     {"", with("scope", "api", "api"), form, "invalid_request"},
		"a person":             {"", with("user_id", "11111111-1111-4111-8111-111111111111"), form, "invalid_request"},
		"an empty person":      {"", with("user_id", ""), form, "invalid_request"},
		"in the address":       {"?" + good.Encode(), "", form, "invalid_request"},
		"as JSON":              {"", `{"client_id":"pbmb-cli"}`, "Content-Type: application/json", "invalid_request"},
		"as multipart":         {"", good.Encode(), "Content-Type: multipart/form-data; boundary=x", "invalid_request"},
	} {
		a := s.Browser().Do(http.MethodPost, device.AuthorizationPath+c.path, c.body, c.kind)
		if a.Field("error") != c.want || a.Status < 400 || a.Field("device_code") != "" {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, c.want)
		}
	}
	var requests int
	s.DB.QueryRow("select count(*) from device_request", nil, &requests)
	if requests != 0 {
		t.Errorf("%d requests were recorded", requests)
	}
	if a := s.Browser().Do(http.MethodPost, device.AuthorizationPath, good.Encode(), form); a.Status != http.StatusOK {
		t.Errorf("the good one: %d %s", a.Status, a.Body)
	}
}

// OAUTH-59
func TestTheScreenSaysWhenAndFromWhere(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	before := s.Clock.Now()
	_, userCode := s.StartDevice()
	s.Clock.Advance(time.Minute)
	a := s.SignIn("viewer@sample.example", oauthtest.ViewerID).Get(device.AnswerPath + "?user_code=" + userCode)
	var screen struct {
		Person      struct{ Email, Name string }
		ClientID    string    `json:"client_id"`
		StartedAt   time.Time `json:"started_at"`
		StartedFrom string    `json:"started_from"`
		Can, Cannot []string
	}
	if err := json.Unmarshal([]byte(a.Body), &screen); err != nil || a.Status != http.StatusOK {
		t.Fatal(a.Status, a.Body)
	}
	if screen.StartedAt.Sub(before).Abs() > 10*time.Second || screen.StartedFrom != oauthtest.Address ||
		screen.Person.Email != "viewer@sample.example" || screen.ClientID != store.CLI || len(screen.Can) == 0 || len(screen.Cannot) == 0 {
		t.Errorf("%+v", screen)
	}
}

// OAUTH-60
func TestEveryFailureToAnswerIsTheSame(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	viewer, other := s.SignIn("viewer@sample.example", oauthtest.ViewerID), s.SignIn("other@sample.example", oauthtest.OtherID)
	_, expired := s.StartDevice()
	s.Clock.Advance(11 * time.Minute)
	_, denied := s.StartDevice()
	_, allowed := s.StartDevice()
	viewer.AnswerDevice(denied, false)
	viewer.AnswerDevice(allowed, true)
	s.Clock.Advance(11 * time.Minute) // a new window of the limits
	_, claimed := s.StartDevice()
	viewer.AnswerDevice(claimed, true)

	var want string
	for name, code := range map[string]string{
		"unknown": "BCDF-GHJK", "malformed": "1", "empty": "", "expired": expired, "denied": denied, "allowed": allowed, "claimed by another": claimed,
	} {
		s.Clock.Advance(11 * time.Minute)
		for how, a := range map[string]oauthtest.Answer{
			"allow": other.AnswerDevice(code, true), "deny": other.AnswerDevice(code, false),
		} {
			got := http.StatusText(a.Status) + a.Header.Get("Content-Type") + a.Body
			if want == "" {
				want = got
			}
			if got != want || a.Status != http.StatusNotFound {
				t.Errorf("%s, %s: %s, want %s", name, how, got, want)
			}
		}
		if a := other.Get(device.AnswerPath + "?user_code=" + url.QueryEscape(code)); code != "" && http.StatusText(a.Status)+a.Header.Get("Content-Type")+a.Body != want {
			t.Errorf("%s, looked up: %d %s, want %s", name, a.Status, a.Body, want)
		}
	}
}

// OAUTH-61: whoever polls without a pause while a person presses Allow gets a
// token that counts from its first use on.
func TestTheFirstTokenCounts(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	for range 10 {
		s.Clock.Advance(11 * time.Minute)
		deviceCode, userCode := s.StartDevice()
		answered := make(chan oauthtest.Answer, 1)
		go func() { answered <- viewer.AnswerDevice(userCode, true) }()
		for {
			s.DB.Exec("update device_request set polled_at = null") // no time passes, however slow the answer is
			a := s.Poll(deviceCode)
			if a.Field("error") == "authorization_pending" {
				continue
			}
			if a.Status != http.StatusOK {
				t.Fatal(a.Status, a.Body)
			}
			if who := whoami(s, a.Field("access_token")); who.Status != http.StatusOK {
				t.Fatalf("the first token: %d %s", who.Status, who.Body)
			}
			break
		}
		if a := <-answered; a.Status != http.StatusOK {
			t.Fatal(a.Status, a.Body)
		}
	}
}

// OAUTH-62
func TestCodesLiveTenMinutes(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	_, almost := s.StartDevice()
	deviceCode, over := s.StartDevice()
	s.Clock.Advance(10*time.Minute - time.Second)
	if a := viewer.AnswerDevice(almost, true); a.Status != http.StatusOK {
		t.Errorf("within 10 minutes: %d %s", a.Status, a.Body)
	}
	s.Clock.Advance(2 * time.Second)
	if a := viewer.Get(device.AnswerPath + "?user_code=" + over); a.Status != http.StatusNotFound {
		t.Errorf("looked up later: %d %s", a.Status, a.Body)
	}
	if a := viewer.AnswerDevice(over, true); a.Status != http.StatusNotFound {
		t.Errorf("allowed later: %d %s", a.Status, a.Body)
	}
	for range 2 { // the second one too soon, which does not matter any more
		if a := s.Poll(deviceCode); a.Status != http.StatusBadRequest || a.Field("error") != "expired_token" {
			t.Errorf("polled later: %d %s", a.Status, a.Body)
		}
	}
}

// OAUTH-63
func TestPollingTooSoonIsSlowedDown(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	deviceCode, userCode := s.StartDevice()
	for i, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "authorization_pending"},
		{4 * time.Second, "slow_down"},
		{2 * time.Second, "authorization_pending"}, // 6 s after the last good one
		{6 * time.Second, "authorization_pending"},
		{4900 * time.Millisecond, "authorization_pending"}, // every 5 s, and the network was quicker this time
		{time.Second, "slow_down"},
	} {
		s.Clock.Advance(step.after)
		if a := s.Poll(deviceCode); a.Status != http.StatusBadRequest || a.Field("error") != step.want {
			t.Errorf("poll %d: %d %s, want %s", i, a.Status, a.Body, step.want)
		}
	}
	s.SignIn("viewer@sample.example", oauthtest.ViewerID).AnswerDevice(userCode, true)
	s.Clock.Advance(5 * time.Second)
	if a := s.Poll(deviceCode); a.Status != http.StatusOK {
		t.Errorf("answered: %d %s", a.Status, a.Body)
	}
}

// A device code works once, as a code does: a copy of it ends what it bought.
func TestAReplayedDeviceCodeEndsItsGrant(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	deviceCode, userCode := s.StartDevice()
	s.SignIn("viewer@sample.example", oauthtest.ViewerID).AnswerDevice(userCode, true)
	bought := s.Poll(deviceCode)
	if bought.Status != http.StatusOK {
		t.Fatal(bought.Status, bought.Body)
	}
	// At once, so that it could be taken for a poll that comes too early.
	if a := s.Poll(deviceCode); a.Status != http.StatusBadRequest || a.Field("error") != "invalid_grant" {
		t.Errorf("the replay: %d %s", a.Status, a.Body)
	}
	if a := whoami(s, bought.Field("access_token")); a.Status != http.StatusUnauthorized {
		t.Errorf("the token after the replay: %d", a.Status)
	}
	if a := s.Refresh(store.CLI, bought.Field("refresh_token")); a.Field("error") != "invalid_grant" {
		t.Errorf("the refresh token after the replay: %d %s", a.Status, a.Body)
	}
}

func TestADeviceCodeIsGoodForItsClientAndResource(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	deviceCode, userCode := s.StartDevice()
	s.SignIn("viewer@sample.example", oauthtest.ViewerID).AnswerDevice(userCode, true)
	for name, c := range map[string]struct {
		form []string
		want string
	}{
		"an unknown code":      {[]string{"client_id", store.CLI, "device_code", "pbmb_dc_unknown"}, "invalid_grant"},
		"the user code":        {[]string{"client_id", store.CLI, "device_code", userCode}, "invalid_grant"},
		"no code":              {[]string{"client_id", store.CLI}, "invalid_grant"},
		"a registered client":  {[]string{"client_id", s.Register(), "device_code", deviceCode}, "unauthorized_client"},
		"an unknown client":    {[]string{"client_id", "nobody", "device_code", deviceCode}, "invalid_client"},
		"the other resource":   {[]string{"client_id", store.CLI, "device_code", deviceCode, "resource", s.URL + "/api/mcp"}, "invalid_target"},
		"two codes":            {[]string{"client_id", store.CLI, "device_code", deviceCode, "device_code", deviceCode}, "invalid_request"},
		"another grant's name": {[]string{"client_id", store.CLI, "code", deviceCode, "grant_type", "x"}, "invalid_request"},
	} {
		s.Clock.Advance(store.PollInterval)
		a := s.Browser().PostForm("/api/auth/oauth2/token", append(c.form, "grant_type", "urn:ietf:params:oauth:grant-type:device_code")...)
		if a.Field("error") != c.want || a.Field("access_token") != "" {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, c.want)
		}
	}
	s.Clock.Advance(store.PollInterval)
	// OAUTH-28
	if a := s.Browser().PostForm("/api/auth/oauth2/token", "grant_type", " urn:ietf:params:oauth:grant-type:device_code ",
		"client_id", store.CLI, "device_code", deviceCode); a.Status != http.StatusOK {
		t.Errorf("nothing of that spent it: %d %s", a.Status, a.Body)
	}
}

// OAUTH-47 and its like for devices: no token lets another one in.
func TestOnlyABrowserSessionAnswersADevice(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	first, firstUser := s.StartDevice()
	viewer.AnswerDevice(firstUser, true)
	bearer := "Authorization: Bearer " + s.Poll(first).Field("access_token")
	deviceCode, userCode := s.StartDevice()
	body := map[string]any{"user_code": userCode, "allow": true}
	for name, a := range map[string]oauthtest.Answer{
		"look up without a session": s.Browser().Get(device.AnswerPath + "?user_code=" + userCode),
		"answer without a session":  s.Browser().PostJSON(device.AnswerPath, body),
		"look up with a token":      s.Browser().Get(device.AnswerPath+"?user_code="+userCode, bearer),
		"answer with a token":       s.Browser().PostJSON(device.AnswerPath, body, bearer),
		"answer with both":          viewer.PostJSON(device.AnswerPath, body, bearer),
	} {
		if a.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	if a := s.Poll(deviceCode); a.Field("error") != "authorization_pending" {
		t.Errorf("the code was answered: %s", a.Body)
	}
	s.SetDefaultRole("none")
	if a := viewer.AnswerDevice(userCode, true); a.Status != http.StatusForbidden {
		t.Errorf("without a role: %d %s", a.Status, a.Body)
	}
	for name, body := range map[string]string{
		"no answer": `{"user_code": "BCDF-GHJK"}`, "more": `{"user_code": "x", "allow": true, "user_id": "y"}`, "a form": "user_code=x&allow=true",
	} {
		admin := s.SignIn("admin@sample.example", "33333333-3333-4333-8333-333333333333")
		if a := admin.Do(http.MethodPost, device.AnswerPath, body, "Content-Type: application/json"); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// OAUTH-65
func TestCodesAreKeptAsDigests(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	deviceCode, userCode := s.StartDevice()
	var dump string
	s.DB.QueryRow("select string_agg(d::text, E'\n') from device_request d", nil, &dump)
	bare := strings.ReplaceAll(userCode, "-", "")
	for _, code := range []string{deviceCode, strings.TrimPrefix(deviceCode, "pbmb_dc_"), userCode, bare} {
		for _, form := range []string{code, hex.EncodeToString([]byte(code)), base64.StdEncoding.EncodeToString([]byte(code))} {
			if strings.Contains(strings.ToLower(dump), strings.ToLower(form)) {
				t.Errorf("%q is in the table: %s", form, dump)
			}
		}
	}
	// The digest of a user code is keyed: what anybody can compute is not it.
	for _, plain := range []string{userCode, bare, strings.ToLower(bare)} {
		if strings.Contains(dump, hex.EncodeToString(store.Digest(plain))) {
			t.Errorf("the digest of %q needs no key", plain)
		}
	}
	viewer := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	if a := viewer.Get(device.AnswerPath + "?user_code=" + userCode); a.Status != http.StatusOK {
		t.Error(a.Status, a.Body)
	}
	if a := s.Poll(deviceCode); a.Field("error") != "authorization_pending" {
		t.Error(a.Status, a.Body)
	}
	if strings.Contains(s.Log.String(), userCode) || strings.Contains(s.Log.String(), deviceCode) {
		t.Error("the log holds a code")
	}
}

// The database keeps what is over for a day, so that it does not grow.
func TestOldRequestsGo(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	old, _ := s.StartDevice()
	s.Clock.Advance(23 * time.Hour)
	s.StartDevice()
	if a := s.Poll(old); a.Field("error") != "expired_token" {
		t.Errorf("within a day: %s", a.Body)
	}
	s.Clock.Advance(2 * time.Hour)
	s.StartDevice()
	if a := s.Poll(old); a.Field("error") != "invalid_grant" {
		t.Errorf("after a day: %s", a.Body)
	}
}

func TestNeedsASecret(t *testing.T) {
	t.Parallel()
	site, err := protocol.NewSite("https://book.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := device.New(device.Config{Site: site, AuthSecret: []byte("short")}); err == nil {
		t.Error("a short secret is taken")
	}
}
