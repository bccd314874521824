package document_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/consent"
	"github.com/pbmb/pbmb/oauth/oauthtest"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

const id = "https://" + oauthtest.ForeignHost + "/clients/agent.json"

// sound is a document with nothing wrong in it, with changes; nil takes a field away.
func sound(changes map[string]any) string {
	fields := map[string]any{
		"client_id": id, "client_name": "Agent", "redirect_uris": []string{oauthtest.Redirect, "https://agents.example/cb", "com.example.agent:/cb"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none", "application_type": "native", "logo_uri": "https://agents.example/logo.png",
	}
	for name, value := range changes {
		if fields[name] = value; value == nil {
			delete(fields, name)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

func viewer(s *oauthtest.Server) *oauthtest.Browser {
	return s.SignIn("viewer@sample.example", oauthtest.ViewerID)
}

func ask(s *oauthtest.Server, b *oauthtest.Browser, client string, changes ...func(url.Values)) oauthtest.Answer {
	_, challenge := oauthtest.PKCE()
	return b.Get(authorize.Path + "?" + s.AuthorizeQuery(client, challenge, changes...))
}

func clients(s *oauthtest.Server) (n int) {
	s.DB.QueryRow("select count(*) from oauth_client where kind = 'metadata_document'", nil, &n)
	return n
}

// OAUTH-34: a client with a document goes through the whole flow, and its tokens
// work and rotate without the document.
func TestAClientWithADocumentIsLetIn(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/clients/agent.json" || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || !strings.Contains(r.Header.Get("Accept"), "json") {
			t.Errorf("the document's host sees %s %v", r.URL, r.Header)
		}
		says(sound(nil))(w, r)
	})
	browser := viewer(s)
	access, refresh := browser.Tokens(id)
	if status := s.Call(access); status != http.StatusOK {
		t.Errorf("the token answers %d", status)
	}
	s.Foreign.Serve(http.NotFound)
	s.Clock.Advance(48 * time.Hour)
	if a := s.Refresh(id, refresh); a.Status != http.StatusOK {
		t.Errorf("two days later, without the document: %d %s", a.Status, a.Body)
	}
	if got := s.Foreign.Dialed(); len(got) != 1 || got[0] != "93.184.216.34:443" {
		t.Errorf("dialed %q", got)
	}
}

// OAUTH-49, OAUTH-50, OAUTH-51: what vouches for such a client is the host of its
// document, whatever it says itself.
func TestTheScreenNamesTheDocumentsHost(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(says(sound(map[string]any{"client_name": "bank.example", "client_uri": "https://bank.example"})))
	browser := viewer(s)
	imitator := s.Browser().PostJSON("/api/auth/oauth2/register", map[string]any{
		"client_name": oauthtest.ForeignHost, "redirect_uris": []string{oauthtest.Redirect},
	}).Field("client_id")
	for client, want := range map[string]string{id: oauthtest.ForeignHost, imitator: ""} {
		a := browser.Get(consent.Path + "?" + ask(s, browser, client).Location().RawQuery)
		var screen struct {
			ClientID    string `json:"client_id"`
			ClaimedName string `json:"claimed_name"`
			VouchedHost string `json:"vouched_host"`
			Registered  struct {
				Kind string
				At   time.Time
			}
			Person struct{ Email string }
		}
		if err := json.Unmarshal([]byte(a.Body), &screen); err != nil || a.Status != http.StatusOK {
			t.Fatal(a.Status, a.Body)
		}
		kind := map[bool]string{true: "metadata_document", false: "registered"}[want != ""]
		if screen.VouchedHost != want || screen.ClientID != client || screen.Registered.Kind != kind ||
			time.Since(screen.Registered.At) > time.Hour || screen.Person.Email != "viewer@sample.example" {
			t.Errorf("%+v", screen)
		}
	}
}

// OAUTH-34, OAUTH-35, OAUTH-36, OAUTH-37, OAUTH-44, FETCH-14, FETCH-15, FETCH-24: every document
// that cannot be used gives the same answer, keeps nothing and redirects nowhere;
// why is in the log alone.
func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	browser := viewer(s)
	type refusal struct {
		id      string // id, where empty
		resolve string // a public address, where empty
		serve   http.HandlerFunc
		logged  string
		unasked bool // nothing may be dialed
	}
	cases := map[string]refusal{
		"a loopback name":          {resolve: "127.0.0.1", logged: "address is not allowed", unasked: true},
		"a private name":           {resolve: "10.0.0.5", logged: "address is not allowed", unasked: true},
		"a link-local name":        {resolve: "169.254.169.254", logged: "address is not allowed", unasked: true},
		"a carrier's network":      {resolve: "100.64.0.1", logged: "address is not allowed", unasked: true},
		"a local IPv6 name":        {resolve: "fd00::1", logged: "address is not allowed", unasked: true},
		"a mapped address":         {resolve: "::ffff:127.0.0.1", logged: "address is not allowed", unasked: true},
		"a translated address":     {resolve: "64:ff9b::7f00:1", logged: "address is not allowed", unasked: true},
		"a loopback address":       {id: "https://127.0.0.1/c", logged: "address is not allowed", unasked: true},
		"a loopback IPv6 address":  {id: "https://[::1]/c", logged: "address is not allowed", unasked: true},
		"a name that is nowhere":   {id: "https://nowhere.invalid/c", logged: "no such host", unasked: true},
		"plain http":               {id: "http://agents.example/c", logged: "not https", unasked: true},
		"another scheme":           {id: "ftp://agents.example/c", logged: "not https", unasked: true},
		"a scheme in capitals":     {id: "HTTPS://agents.example/c", logged: "not https", unasked: true},
		"no path":                  {id: "https://agents.example", logged: "no path", unasked: true},
		"the root":                 {id: "https://agents.example/", logged: "no path", unasked: true},
		"a fragment":               {id: "https://agents.example/c#x", logged: "fragment", unasked: true},
		"a user":                   {id: "https://x@agents.example/c", logged: "user information", unasked: true},
		"a password":               {id: "https://agents.example:x@evil.example/c", logged: "user information", unasked: true},
		"dot segments":             {id: "https://agents.example/a/../c", logged: "dot segments", unasked: true},
		"escaped dot segments":     {id: "https://agents.example/a/%2e%2e/c", logged: "dot segments", unasked: true},
		"a host in capitals":       {id: "https://Agents.example/c", logged: "usual form", unasked: true},
		"a host with a final dot":  {id: "https://agents.example./c", logged: "usual form", unasked: true},
		"a host of other letters":  {id: "https://аgents.example/c", logged: "escaped", unasked: true},
		"a backslash":              {id: `https://agents.example\@evil.example/c`, logged: "escaped", unasked: true},
		"a space":                  {id: "https://agents.example/ c", logged: "escaped", unasked: true},
		"a long address":           {id: "https://agents.example/" + strings.Repeat("x", 500), logged: "over 500", unasked: true},
		"another certificate":      {id: "https://evil.example/c", logged: "certificate"},
		"404":                      {serve: http.NotFound, logged: "404"},
		"a redirect":               {serve: http.RedirectHandler("https://agents.example/elsewhere", http.StatusFound).ServeHTTP, logged: "redirect"},
		"a document of 65 KiB":     {serve: says(sound(map[string]any{"filler": strings.Repeat("x", 65<<10)})), logged: "too large"},
		"a page":                   {serve: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, sound(nil)) }, logged: "content type"},
		"text":                     {serve: says("hello"), logged: "not a JSON object"},
		"null":                     {serve: says("null"), logged: "not a JSON object"},
		"a list":                   {serve: says("[" + sound(nil) + "]"), logged: "not a JSON object"},
		"two documents":            {serve: says(sound(nil) + sound(nil)), logged: "not a JSON object"},
		"another client_id":        {serve: says(sound(map[string]any{"client_id": id + "x"})), logged: "names another"},
		"client_id in capitals":    {serve: says(sound(map[string]any{"client_id": strings.ToUpper(id)})), logged: "names another"},
		"the field in capitals":    {serve: says(sound(map[string]any{"client_id": nil, "CLIENT_ID": id})), logged: "names another"},
		"no client_id":             {serve: says(sound(map[string]any{"client_id": nil})), logged: "names another"},
		"a number for it":          {serve: says(sound(map[string]any{"client_id": 7})), logged: "wrong type"},
		"no redirects":             {serve: says(sound(map[string]any{"redirect_uris": nil})), logged: "0 redirect_uris"},
		"an empty list of them":    {serve: says(sound(map[string]any{"redirect_uris": []string{}})), logged: "0 redirect_uris"},
		"51 redirects":             {serve: says(sound(map[string]any{"redirect_uris": slices.Repeat([]string{oauthtest.Redirect}, 51)})), logged: "51 redirect_uris"},
		"a redirect that is a URL": {serve: says(sound(map[string]any{"redirect_uris": oauthtest.Redirect})), logged: "wrong type"},
		"a script for a redirect":  {serve: says(sound(map[string]any{"redirect_uris": []string{oauthtest.Redirect, "javascript:alert(1)"}})), logged: "a redirect URI"},
		"a redirect over http":     {serve: says(sound(map[string]any{"redirect_uris": []string{"http://agents.example/cb"}})), logged: "a redirect URI"},
		"a name that reverses":     {serve: says(sound(map[string]any{"client_name": "evil\u202Egoog"})), logged: "client_name"},
		"a name of two lines":      {serve: says(sound(map[string]any{"client_name": "a\nb"})), logged: "client_name"},
		"a name of 101 characters": {serve: says(sound(map[string]any{"client_name": strings.Repeat("é", 101)})), logged: "client_name"},
		"a client with a secret":   {serve: says(sound(map[string]any{"token_endpoint_auth_method": "client_secret_post"})), logged: "auth_method"},
		"a client with a key":      {serve: says(sound(map[string]any{"token_endpoint_auth_method": "private_key_jwt"})), logged: "auth_method"},
		"the implicit grant alone": {serve: says(sound(map[string]any{"grant_types": []string{"implicit"}})), logged: "grant_types"},
		"response type token":      {serve: says(sound(map[string]any{"response_types": []string{"token"}})), logged: "response_types"},
	}
	for _, field := range []string{ // OAUTH-37
		"client_secret", "client_secret_expires_at", "client_id_issued_at", "registration_access_token", "resource", "kind", "creator", "created_by",
		"trusted", "Trusted", "first_party", "skip_consent", "disabled", "vouched_host",
	} {
		cases["the server's field "+field] = refusal{serve: says(sound(map[string]any{field: true})), logged: "only the server"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.id == "" {
				c.id = id
			}
			s.Foreign.Resolve("93.184.216.34")
			if c.resolve != "" {
				s.Foreign.Resolve(c.resolve)
			}
			var asked atomic.Int32
			s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.URL.Path == "/elsewhere" {
					t.Error("the redirect was followed")
				}
				if c.serve == nil {
					c.serve = says(sound(map[string]any{"client_id": c.id}))
				}
				c.serve(w, r)
			})
			dialed, logged := len(s.Foreign.Dialed()), len(s.Log.String())
			a := ask(s, browser, c.id)
			if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" || !strings.Contains(a.Body, "The client&#39;s metadata document could not be read, or is not in order.") {
				t.Errorf("%d %s %s", a.Status, a.Location(), a.Body)
			}
			if log := s.Log.String()[logged:]; !strings.Contains(log, c.logged) {
				t.Errorf("the log says %q, not %q", log, c.logged)
			}
			if c.unasked && (len(s.Foreign.Dialed()) != dialed || asked.Load() > 0) {
				t.Errorf("dialed %q", s.Foreign.Dialed()[dialed:])
			}
			if n := clients(s); n != 0 {
				t.Errorf("%d clients are kept", n)
			}
		})
	}
	var bodies []string
	for _, c := range []refusal{{serve: http.NotFound}, {id: "https://nowhere.invalid/c"}, {resolve: "10.0.0.5"}} {
		if c.id == "" {
			c.id = id
		}
		s.Foreign.Resolve("93.184.216.34")
		if c.resolve != "" {
			s.Foreign.Resolve(c.resolve)
		}
		s.Foreign.Serve(http.NotFound)
		bodies = append(bodies, ask(s, browser, c.id).Body)
	}
	if bodies = slices.Compact(bodies); len(bodies) != 1 {
		t.Errorf("the answers differ: %q", bodies)
	}
}

// OAUTH-34, FETCH-14: what takes over 5 seconds is given up.
func TestASlowDocumentIsRefused(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	start := time.Now()
	a := ask(s, viewer(s), id)
	if took := time.Since(start); a.Status != http.StatusBadRequest || took < 4*time.Second || took > 9*time.Second {
		t.Errorf("%d after %v", a.Status, took)
	}
	if !strings.Contains(s.Log.String(), "took too long") {
		t.Error(s.Log.String())
	}
}

// FETCH-16: a name whose addresses change once they were checked gains nothing.
func TestTheCheckedAddressIsTheDialedOne(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
		s.Foreign.Resolve("127.0.0.1")
		says(sound(nil))(w, r)
	})
	browser := viewer(s)
	if a := ask(s, browser, id); a.Location().Path != "/consent" {
		t.Fatal(a.Status, a.Body)
	}
	s.Clock.Advance(25 * time.Hour)
	if a := ask(s, viewer(s), id); a.Status != http.StatusBadRequest {
		t.Errorf("the name leads to this machine by now: %d %s", a.Status, a.Location())
	}
	if got := s.Foreign.Dialed(); !slices.Equal(got, []string{"93.184.216.34:443"}) {
		t.Errorf("dialed %q", got)
	}
}

// OAUTH-36
func TestOnlyListedRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(says(sound(nil)))
	browser := viewer(s)
	for redirect, ok := range map[string]bool{
		"http://localhost/callback":       true,
		"http://localhost:53710/callback": true,
		"https://agents.example/cb":       true,
		"com.example.agent:/cb":           true,
		"http://localhost:53710/other":    false,
		"http://127.0.0.1:53710/callback": false,
		"http://agents.example/callback":  false,
		"https://agents.example/cb/":      false,
		"https://agents.example:444/cb":   false,
		"https://evil.example/cb":         false,
		"com.example.agent:/other":        false,
	} {
		a := ask(s, browser, id, func(v url.Values) { v.Set("redirect_uri", redirect) })
		if wentOn := a.Location().Path == "/consent"; wentOn != ok || !ok && (a.Status != http.StatusBadRequest || a.Header.Get("Location") != "") {
			t.Errorf("%s: %d %s", redirect, a.Status, a.Location())
		}
	}
}

// OAUTH-31: such a client has the connector alone, as a registered one.
func TestADocumentsClientHasTheConnectorAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(says(sound(map[string]any{"scope": "mcp api everything"})))
	browser := viewer(s)
	for want, change := range map[string]func(url.Values){
		"invalid_target": func(v url.Values) { v.Set("resource", s.Site.URL("/api/v1")) },
		"invalid_scope":  func(v url.Values) { v.Set("scope", "api") },
	} {
		if got := ask(s, browser, id, change).Location().Query().Get("error"); got != want {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// OAUTH-38
func TestADocumentIsReadAgainAfterADay(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	var fetched atomic.Int32
	serve := func(changes map[string]any) {
		s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
			fetched.Add(1)
			says(sound(changes))(w, r)
		})
	}
	serve(nil)
	ask(s, viewer(s), id)
	serve(map[string]any{"client_name": "Agent 2", "redirect_uris": []string{"http://localhost/new"}})

	s.Clock.Advance(23 * time.Hour)
	if a := ask(s, viewer(s), id); a.Location().Path != "/consent" || fetched.Load() != 1 {
		t.Errorf("after 23 hours: %d, fetched %d times", a.Status, fetched.Load())
	}
	s.Clock.Advance(2 * time.Hour)
	if a := ask(s, viewer(s), id); a.Status != http.StatusBadRequest || fetched.Load() != 2 {
		t.Errorf("after 25 hours the old redirect answers %d, fetched %d times", a.Status, fetched.Load())
	}
	if a := ask(s, viewer(s), id, func(v url.Values) { v.Set("redirect_uri", "http://localhost/new") }); a.Location().Path != "/consent" || fetched.Load() != 2 {
		t.Errorf("after 25 hours the new redirect answers %d, fetched %d times", a.Status, fetched.Load())
	}
	var name string
	var sameSince bool
	s.DB.QueryRow("select name, changed_at > created_at + interval '24 hours' from oauth_client where id = $1", []any{id}, &name, &sameSince)
	if name != "Agent 2" || !sameSince {
		t.Errorf("kept as %q, known since the beginning: %v", name, sameSince)
	}
	// A copy that has had its day does not stand in for a document that is gone.
	s.Clock.Advance(25 * time.Hour)
	s.Foreign.Serve(http.NotFound)
	if a := ask(s, viewer(s), id); a.Status != http.StatusBadRequest {
		t.Errorf("the document is gone: %d", a.Status)
	}
}

// OAUTH-34: where documents are off nothing says that they are taken, and none is.
func TestDocumentsCanBeOff(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{NoDocuments: true})
	s.Foreign.Serve(says(sound(nil)))
	s.DB.Exec(`insert into oauth_client (id, kind, name, redirect_uris, grant_types, scopes, resource)
		values ($1, 'metadata_document', 'Agent', $2, '{authorization_code}', '{mcp}', '/api/mcp')`, id, []string{oauthtest.Redirect})
	if a := s.Browser().Get("/.well-known/oauth-authorization-server"); strings.Contains(a.Body, "client_id_metadata_document_supported") {
		t.Error(a.Body)
	}
	if a := ask(s, viewer(s), id); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "not known here") || len(s.Foreign.Dialed()) > 0 {
		t.Errorf("%d %s, dialed %q", a.Status, a.Body, s.Foreign.Dialed())
	}
	if a := ask(s, viewer(s), s.Register()); a.Location().Path != "/consent" {
		t.Errorf("a registered client: %d", a.Status)
	}
}

// OAUTH-34: whoever is not signed in makes us fetch nothing.
func TestNothingIsFetchedForAStranger(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	s.Foreign.Serve(says(sound(nil)))
	a := ask(s, s.Browser(), id)
	if a.Status != http.StatusSeeOther || a.Location().Path != "/sign-in" || len(s.Foreign.Dialed()) != 0 {
		t.Fatalf("%d %s, dialed %q", a.Status, a.Location(), s.Foreign.Dialed())
	}
	if a := viewer(s).Get(a.Location().Query().Get("next")); a.Location().Path != "/consent" {
		t.Errorf("after the sign-in: %d %s", a.Status, a.Body)
	}
}

// OAUTH-34: one person makes us read a few in a minute, whatever becomes of them.
func TestAPersonHasAFewDocumentsReadInAMinute(t *testing.T) {
	t.Parallel()
	counts := &counts{}
	s := oauthtest.New(t, oauthtest.Options{Limits: counts})
	var fetched atomic.Int32
	s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		http.NotFound(w, r)
	})
	browser := viewer(s)
	for range 11 {
		ask(s, browser, id)
	}
	if fetched.Load() != 10 || !strings.Contains(s.Log.String(), "10 documents") {
		t.Errorf("fetched %d times", fetched.Load())
	}
	if other := s.SignIn("other@sample.example", oauthtest.OtherID); ask(s, other, id).Status != http.StatusBadRequest || fetched.Load() != 11 {
		t.Errorf("for another person: fetched %d times", fetched.Load())
	}
}

// counts are those of one minute that does not end.
type counts struct{ of sync.Map }

func (c *counts) Allow(_ context.Context, rule, subject string, perMinute int) (bool, time.Duration, error) {
	n, _ := c.of.LoadOrStore(rule+" "+subject, new(atomic.Int32))
	return int(n.(*atomic.Int32).Add(1)) <= perMinute, time.Minute, nil
}

// OAUTH-34: many who ask at once make one request.
func TestManyWhoAskFetchOnce(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	var fetched atomic.Int32
	arrived := make(chan struct{})
	s.Foreign.Serve(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		<-arrived
		says(sound(nil))(w, r)
	})
	browser := viewer(s)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if a := ask(s, browser, id); a.Location().Path != "/consent" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	time.AfterFunc(200*time.Millisecond, func() { close(arrived) })
	all.Wait()
	if n := fetched.Load(); n > 2 { // one who came late may have found the first done but not kept
		t.Errorf("fetched %d times", n)
	}
}
