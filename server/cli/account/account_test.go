package account_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/server/cli/account"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// A home is a folder of its own for credentials, and an environment.
type home struct {
	t   *testing.T
	env map[string]string
}

func newHome(t *testing.T) *home {
	return &home{t, map[string]string{"XDG_CONFIG_HOME": t.TempDir()}}
}

func (h *home) getenv(name string) string { return h.env[name] }

func (h *home) file() *account.File {
	h.t.Helper()
	f, err := account.DefaultFile(h.getenv)
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

func (h *home) choose(flag string) *account.Account {
	h.t.Helper()
	a, err := account.Choose(flag, h.getenv, h.file(), "test")
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// remember writes the file as a login would have.
func (h *home) remember(text string) {
	h.t.Helper()
	path := h.file().Path()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// login signs a person in by the device flow, at a real authorization server.
func (h *home) login(s *oauthtest.Server, b *oauthtest.Browser) {
	h.t.Helper()
	a := h.choose(s.URL)
	err := a.Login(h.t.Context(), func(p account.Prompt) {
		if p.Address != s.URL+"/device" || time.Until(p.Until) < 9*time.Minute {
			h.t.Errorf("the prompt: %+v", p)
		}
		if answer := b.AnswerDevice(p.Code, true); answer.Status != http.StatusOK {
			h.t.Errorf("allowing: %d %s", answer.Status, answer.Body)
		}
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// whoami calls the server as whoever is signed in.
func (h *home) whoami(s *oauthtest.Server) (email string, err error) {
	h.t.Helper()
	raw, err := h.choose(s.URL).Call(h.t.Context(), http.MethodGet, "/api/v1/whoami", nil, nil)
	if err != nil {
		return "", err
	}
	var who struct{ Email string }
	return who.Email, json.Unmarshal(raw, &who)
}

// expire makes the access token look old, as after an hour.
func (h *home) expire() {
	h.t.Helper()
	raw, err := os.ReadFile(h.file().Path())
	if err != nil {
		h.t.Fatal(err)
	}
	var c struct {
		Last        string                    `json:"last"`
		Deployments map[string]map[string]any `json:"deployments"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		h.t.Fatal(err)
	}
	for _, e := range c.Deployments {
		e["expires_at"] = time.Now().Add(30 * time.Second) // ends on its way
	}
	if raw, err = json.Marshal(c); err != nil {
		h.t.Fatal(err)
	}
	h.remember(string(raw))
}

// CLI-02
func TestWhichDeployment(t *testing.T) {
	t.Parallel()
	const flag, env, last = "https://flag.example", "https://env.example", "https://last.example"
	for name, c := range map[string]struct{ flag, env, last, want string }{
		"the flag comes first":     {flag, env, last, flag},
		"then the environment":     {"", env, last, env},
		"then the last login":      {"", "", last, last},
		"else none":                {"", "", "", ""},
		"in its one form":          {"HTTPS://Flag.Example/", "", "", flag},
		"this machine unencrypted": {"http://localhost:8080", "", "", "http://localhost:8080"},
	} {
		h := newHome(t)
		h.env["PBMB_URL"] = c.env
		if c.last != "" {
			h.remember(`{"last": "` + c.last + `"}`)
		}
		if got := h.choose(c.flag).URL; got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, bad := range []string{"pbmb.example", "https://", "ftp://pbmb.example", "https://u:p@pbmb.example", "https://pbmb.example/sub", "https://pbmb.example?x", "http://pbmb.example", "http://localhost.example"} {
		h := newHome(t)
		if a, err := account.Choose(bad, h.getenv, h.file(), "test"); err == nil {
			t.Errorf("%q is taken for %q", bad, a.URL)
		}
	}
}

// CLI-02: a service account's key goes as it is, and nothing is read for it.
func TestAKeyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"auth": r.Header.Get("Authorization"), "agent": r.Header.Get("User-Agent")})
	}))
	defer server.Close()
	h := newHome(t)
	h.env["PBMB_TOKEN"], h.env["PBMB_URL"] = "pbmb_key_1", server.URL
	raw, err := h.choose("").Call(t.Context(), http.MethodGet, "/api/v1/me", nil, nil)
	if err != nil || string(raw) != `{"agent":"test","auth":"Bearer pbmb_key_1"}`+"\n" {
		t.Error(string(raw), err)
	}
	if _, err := os.Stat(h.file().Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file is there", err)
	}
}

// CLI-01, SECRET-20. It changes the umask of the process, so nothing runs beside it.
func TestCredentialsArePrivate(t *testing.T) {
	s := oauthtest.New(t, oauthtest.Options{})
	h := newHome(t)
	h.env["XDG_CONFIG_HOME"] = filepath.Join(h.env["XDG_CONFIG_HOME"], "deeper")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	h.login(s, s.SignIn("viewer@sample.example", oauthtest.ViewerID))
	path := h.file().Path()
	if path != filepath.Join(h.env["XDG_CONFIG_HOME"], "pbmb", "credentials.json") {
		t.Error(path)
	}
	for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, path + ".lock": 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	for _, wide := range []fs.FileMode{0o640, 0o604, 0o644, 0o660} {
		if err := os.Chmod(path, wide); err != nil {
			t.Fatal(err)
		}
		if _, err := h.whoami(s); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: %v", wide, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if email, err := h.whoami(s); err != nil || email != "viewer@sample.example" {
		t.Error(email, err)
	}
}

func TestHomeWithoutXDG(t *testing.T) {
	t.Parallel()
	f, err := account.DefaultFile(func(name string) string { return map[string]string{"HOME": "/home/ada"}[name] })
	if err != nil || f.Path() != "/home/ada/.config/pbmb/credentials.json" {
		t.Error(f, err)
	}
}

// CLI-01: one entry for each deployment.
func TestTwoDeployments(t *testing.T) {
	t.Parallel()
	a, b, h := oauthtest.New(t, oauthtest.Options{}), oauthtest.New(t, oauthtest.Options{}), newHome(t)
	h.login(a, a.SignIn("viewer@sample.example", oauthtest.ViewerID))
	h.login(b, b.SignIn("other@sample.example", oauthtest.OtherID))
	for s, want := range map[*oauthtest.Server]string{a: "viewer@sample.example", b: "other@sample.example"} {
		if got, err := h.whoami(s); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if got := h.choose("").URL; got != b.URL {
		t.Errorf("the last login is at %q", got)
	}
}

// OAUTH-18, OAUTH-19: many commands that find an old token at once spend its
// refresh token once: a second use would end everything that this login has.
func TestOneOfManyRefreshes(t *testing.T) {
	t.Parallel()
	s, h := oauthtest.New(t, oauthtest.Options{}), newHome(t)
	h.login(s, s.SignIn("viewer@sample.example", oauthtest.ViewerID))
	for round := range 3 {
		h.expire()
		var all sync.WaitGroup
		failures := make(chan error, 20)
		for range cap(failures) {
			all.Go(func() {
				if email, err := h.whoami(s); err != nil || email != "viewer@sample.example" {
					failures <- errors.Join(errors.New("whoami as "+email), err)
				}
			})
		}
		all.Wait()
		close(failures)
		for err := range failures {
			t.Error(err)
		}
		var issued, used, revoked int
		s.DB.QueryRow("select count(*), count(used_at) from oauth_refresh_token", nil, &issued, &used)
		s.DB.QueryRow("select count(*) from oauth_grant where revoked_at is not null", nil, &revoked)
		if issued != round+2 || used != round+1 || revoked != 0 {
			t.Fatalf("after round %d: %d refresh tokens issued, %d used, %d grants revoked", round, issued, used, revoked)
		}
	}
}

// CLI-08: what has ended at the deployment is nobody's login.
func TestALoginThatEnded(t *testing.T) {
	t.Parallel()
	s, h := oauthtest.New(t, oauthtest.Options{}), newHome(t)
	if _, err := h.whoami(s); !errors.Is(err, account.ErrNotSignedIn) {
		t.Errorf("before a login: %v", err)
	}
	h.login(s, s.SignIn("viewer@sample.example", oauthtest.ViewerID))
	s.DB.Exec("update oauth_grant set revoked_at = now()")
	for _, when := range []string{"a fresh token", "an old one"} {
		_, err := h.whoami(s)
		if !errors.Is(err, account.ErrNotSignedIn) || !strings.Contains(err.Error(), "pbmb login") {
			t.Errorf("%s: %v", when, err)
		}
		h.expire()
	}
}

// CLI-08: no login mends a token of the environment.
func TestATokenThatIsNotTaken(t *testing.T) {
	t.Parallel()
	s, h := oauthtest.New(t, oauthtest.Options{}), newHome(t)
	h.env["PBMB_TOKEN"] = "pbmb_sk_nobody"
	_, err := h.whoami(s)
	if !errors.Is(err, account.ErrNotSignedIn) || !strings.Contains(err.Error(), "PBMB_TOKEN") || strings.Contains(err.Error(), "pbmb login") {
		t.Errorf("a wrong token: %v", err)
	}
	_, err = h.choose("").Call(t.Context(), http.MethodGet, "/api/v1/whoami", nil, nil)
	if _, wrong := errors.AsType[*account.AddressError](err); !wrong || !strings.Contains(err.Error(), "PBMB_URL") {
		t.Errorf("no deployment: %v", err)
	}
}

// CLI-01
func TestLoginThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	s, h := oauthtest.New(t, oauthtest.Options{}), newHome(t)
	browser := s.SignIn("viewer@sample.example", oauthtest.ViewerID)
	err := h.choose(s.URL).Login(t.Context(), func(p account.Prompt) { browser.AnswerDevice(p.Code, false) })
	if err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("denied: %v", err)
	}
	err = h.choose(s.URL).Login(t.Context(), func(account.Prompt) { s.Clock.Advance(11 * time.Minute) })
	if err == nil || !strings.Contains(err.Error(), "ten minutes") {
		t.Errorf("expired: %v", err)
	}
	if _, err := os.Stat(h.file().Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("credentials were kept: %v", err)
	}
	other := strings.Replace(s.URL, "localhost", "127.0.0.1", 1)
	if err := h.choose(other).Login(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "calls itself "+s.URL) {
		t.Errorf("by another name: %v", err)
	}
}

// A token goes to the deployment that was named and nowhere else, and whatever
// stands in front of one may answer.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		status int
		header string
		body   string
		says   string
	}{
		"a redirect":         {http.StatusFound, "Location: " + elsewhere.URL, "", "answered 302"},
		"a proxy's page":     {http.StatusBadGateway, "Content-Type: text/html", "<html>", "answered 502"},
		"a page for success": {http.StatusOK, "Content-Type: text/html", "<html>", "answered 200"},
		"a broken problem":   {http.StatusForbidden, "Content-Type: application/problem+json", "{", "answered 403"},
		"a problem":          {http.StatusForbidden, "Content-Type: application/problem+json", `{"kind":"forbidden","detail":"No.","next":"Ask.","request_id":"R1"}`, "No.\nAsk.\nrequest R1"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			key, value, _ := strings.Cut(c.header, ": ")
			w.Header().Set(key, value)
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		}))
		h := newHome(t)
		h.env["PBMB_TOKEN"] = "key"
		_, err := h.choose(server.URL).Call(t.Context(), http.MethodGet, "/api/v1/me", nil, nil)
		if p, ok := errors.AsType[*account.Problem](err); !ok || p.Status != c.status || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
		if _, err := h.choose(server.URL).Call(t.Context(), http.MethodGet, "/api/v1/me", nil, nil); err == nil {
			t.Error("nobody is there, and no error")
		} else if _, ok := errors.AsType[*account.UnreachableError](err); !ok {
			t.Errorf("nobody is there: %v", err)
		}
	}
}
