package passkey_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/passkey"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/signin"
	"github.com/pbmb/pbmb/oauth/store"
)

// FETCH-02
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	postgrestest.Main(m)
}

const (
	signInPath  = "/api/auth/sign-in/passkey"
	passkeyPath = "/api/auth/passkeys"
	ada         = "ada@sample.example"
	bob         = "bob@sample.example"
)

// add adds a passkey in a browser that is signed in.
func add(t *testing.T, s *oauthtest.Server, b *oauthtest.Browser, changes ...func(*answer)) (*key, oauthtest.Answer) {
	t.Helper()
	k, sent := create(t, s.URL, b.PostJSON(passkeyPath+"/options", nil).Body, changes...)
	return k, b.PostJSON(passkeyPath, map[string]any{"name": "Laptop", "credential": sent})
}

// newPasskey adds a passkey that is in order.
func newPasskey(t *testing.T, s *oauthtest.Server, b *oauthtest.Browser, changes ...func(*answer)) *key {
	t.Helper()
	k, a := add(t, s, b, changes...)
	if a.Status != http.StatusCreated {
		t.Fatalf("adding a passkey: %d %s", a.Status, a.Body)
	}
	return k
}

// signIn signs in by a passkey, in a browser that is not signed in.
func signIn(t *testing.T, s *oauthtest.Server, b *oauthtest.Browser, k *key, changes ...func(*answer)) oauthtest.Answer {
	t.Helper()
	return b.PostJSON(signInPath, k.sign(t, s.URL, b.PostJSON(signInPath+"/options", nil).Body, changes...))
}

func count(s *oauthtest.Server, table string) (n int) {
	s.DB.QueryRow("select count(*) from "+table, nil, &n)
	return n
}

// refused checks that an answer is a refusal with a code and let nobody in.
func refused(t *testing.T, what string, a oauthtest.Answer, status int, code passkey.ErrorCode) {
	t.Helper()
	if a.Status != status || a.Field("code") != string(code) {
		t.Errorf("%s: %d %s, want %d with %s", what, a.Status, a.Body, status, code)
	}
	if slices.ContainsFunc(a.Header.Values("Set-Cookie"), func(c string) bool { return strings.HasPrefix(c, session.Cookie+"=") }) {
		t.Errorf("%s: sets a session", what)
	}
}

// SIGNIN-01, SIGNIN-22, SIGNIN-24, SIGNIN-25
func TestAPasskeySignsItsPersonIn(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner := s.SignIn(ada, oauthtest.ViewerID)
	k := newPasskey(t, s, owner)
	var before, after string
	vouched := "select coalesce(string_agg(i::text || s::text, ','), '') from person_identity i join person_sign_in s using (person_id)"
	s.DB.QueryRow(vouched, nil, &before)

	b := s.Browser()
	asked := b.PostJSON(signInPath+"/options", nil)
	for _, told := range []string{ada, "allowCredentials", encode(k.id), encode(k.handle)} {
		if strings.Contains(asked.Body, told) {
			t.Errorf("whoever asks is told %s: %s", told, asked.Body)
		}
	}
	a := b.PostJSON(signInPath, k.sign(t, s.URL, asked.Body))
	if a.Status != http.StatusNoContent || a.Body != "" {
		t.Fatal(a.Status, a.Body)
	}
	for _, c := range append(asked.Header.Values("Set-Cookie"), a.Header.Values("Set-Cookie")...) { // NET-12
		for _, attribute := range []string{"__Host-", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"} {
			if !strings.Contains(c, attribute) {
				t.Errorf("the cookie lacks %s: %s", attribute, c)
			}
		}
	}
	mine, who := owner.Get("/api/v1/whoami"), b.Get("/api/v1/whoami")
	if who.Field("ID") != mine.Field("ID") || who.Field("ID") == "" || who.Field("Roles") != "[viewer]" {
		t.Errorf("signed in as %s, want %s", who.Body, mine.Body)
	}
	own := b.Get("/api/auth/session")
	expires, err := time.Parse(time.RFC3339, own.Field("expires_at"))
	if err != nil || own.Field("provider") != "passkey" || time.Until(expires) > session.Life || time.Until(expires) < session.Life-time.Minute {
		t.Errorf("the session is %s", own.Body)
	}
	// What a provider vouched for, and when, is as old as it was.
	if s.DB.QueryRow(vouched, nil, &after); before != after || before == "" {
		t.Errorf("vouched for is\n%s\nand was\n%s", after, before)
	}
	var sessions, secrets, audited int
	s.DB.QueryRow("select count(*) from session", nil, &sessions)
	site, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(site) {
		s.DB.QueryRow("select count(*) from session x, passkey_ceremony y where x::text || y::text like '%' || $1 || '%'", []any{c.Value}, &secrets)
		if secrets != 0 || strings.Contains(own.Body+who.Body, c.Value) {
			t.Errorf("the value of %s is kept or told", c.Name)
		}
	}
	s.DB.QueryRow("select count(*) from audit_event where action = 'sign_in' and element = 'passkey' and outcome = 'allow' and principal_id = $1", []any{who.Field("ID")}, &audited)
	if sessions != 2 || audited != 1 {
		t.Errorf("%d sessions, %d audited", sessions, audited)
	}
	list := owner.Get(passkeyPath)
	if !strings.Contains(list.Body, `"name":"Laptop"`) || !strings.Contains(list.Body, `"last_used_at":"`) {
		t.Errorf("the list: %s", list.Body)
	}
}

// SIGNIN-28: the passkey itself was added with user verification, so what is
// stored of it would let each of these pass.
func TestASignInDemandsUserVerification(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	k := newPasskey(t, s, s.SignIn(ada, oauthtest.ViewerID))
	if a := s.Browser().PostJSON(signInPath+"/options", nil); !strings.Contains(a.Body, `"userVerification":"required"`) {
		t.Errorf("it is not asked for: %s", a.Body)
	}
	flags := func(f byte) func(*answer) { return func(a *answer) { a.flags = f } }
	for name, change := range map[string]func(*answer){
		"present only":  flags(present),
		"verified only": flags(verified),
		"nothing":       flags(0),
		// SIGNIN-30
		"the flag set after signing": func(a *answer) {
			a.flags = present
			a.afterwards = func(authData []byte) { authData[32] |= verified }
		},
		"the flag beside the data": func(a *answer) {
			a.flags = present
			a.beside = claimVerified
		},
	} {
		refused(t, name, signIn(t, s, s.Browser(), k, change), http.StatusForbidden, passkey.CodeRefused)
	}
	if n := count(s, "session"); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if a := signIn(t, s, s.Browser(), k, flags(unlocked)); a.Status != http.StatusNoContent {
		t.Errorf("unlocked: %d %s", a.Status, a.Body)
	}
}

// claimVerified adds what no signature covers.
func claimVerified(body map[string]any) {
	body["uv"], body["userVerified"] = true, true
	response := body["response"].(map[string]any)
	response["uv"], response["userVerification"], response["flags"] = true, "required", unlocked
	body["clientExtensionResults"] = map[string]any{"uvm": [][]int{{2, 4, 2}}}
}

// SIGNIN-29
func TestARegistrationDemandsUserVerification(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	b := s.SignIn(ada, oauthtest.ViewerID)
	asked := b.PostJSON(passkeyPath+"/options", nil).Body
	for _, want := range []string{`"userVerification":"required"`, `"residentKey":"required"`, `"requireResidentKey":true`, `"id":"localhost"`} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s is not asked for: %s", want, asked)
		}
	}
	for name, change := range map[string]func(*answer){
		"present only":  func(a *answer) { a.flags = present | attested },
		"verified only": func(a *answer) { a.flags = verified | attested },
		"the flag beside the data": func(a *answer) { // SIGNIN-30
			a.flags = present | attested
			a.beside = claimVerified
		},
	} {
		_, a := add(t, s, b, change)
		refused(t, name, a, http.StatusForbidden, passkey.CodeRefused)
	}
	if n := count(s, "passkey"); n != 0 {
		t.Errorf("%d passkeys", n)
	}
	newPasskey(t, s, b)
	if n := count(s, "passkey"); n != 1 {
		t.Errorf("unlocked: %d passkeys", n)
	}
}

// SIGNIN-47
func TestWhatIsSignedMustBeForThisSite(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner, other := s.SignIn(ada, oauthtest.ViewerID), s.SignIn(bob, oauthtest.OtherID)
	k, others := newPasskey(t, s, owner), newPasskey(t, s, other)
	synced := newPasskey(t, s, owner, func(a *answer) { a.flags |= eligible })
	site := func(name string) func(*answer) {
		return func(a *answer) { a.origin, a.site = "https://"+name, name }
	}
	for name, c := range map[string]struct {
		key    *key
		change func(*answer)
		code   passkey.ErrorCode
	}{
		"another site":                     {k, site("evil.example"), passkey.CodeRefused},
		"another origin":                   {k, func(a *answer) { a.origin = "https://localhost" }, passkey.CodeRefused},
		"another port":                     {k, func(a *answer) { a.origin = "http://localhost:1" }, passkey.CodeRefused},
		"an app's origin":                  {k, func(a *answer) { a.origin = "android:apk-key-hash:AAAA" }, passkey.CodeRefused},
		"no origin":                        {k, func(a *answer) { a.origin = "" }, passkey.CodeRefused},
		"a frame of another origin":        {k, func(a *answer) { a.crossOrigin = true }, passkey.CodeRefused},
		"another site in what is signed":   {k, func(a *answer) { a.site = "evil.example" }, passkey.CodeRefused},
		"a registration":                   {k, func(a *answer) { a.kind = "webauthn.create" }, passkey.CodeRefused},
		"another key":                      {k, func(a *answer) { a.signer = others.private }, passkey.CodeRefused},
		"another count than was signed":    {k, func(a *answer) { a.afterwards = func(d []byte) { d[36] = 9 } }, passkey.CodeRefused},
		"another person's handle":          {k, func(a *answer) { a.handle = others.handle }, passkey.CodeRefused},
		"another person's passkey":         {k, func(a *answer) { a.id = others.id }, passkey.CodeRefused},
		"their passkey and handle":         {k, func(a *answer) { a.id, a.handle = others.id, others.handle }, passkey.CodeRefused},
		"no handle":                        {k, func(a *answer) { a.handle = nil }, passkey.CodeRefused},
		"a passkey that nobody has":        {k, func(a *answer) { a.id = []byte("nobody has this") }, passkey.CodeRefused},
		"a passkey that became synced":     {k, func(a *answer) { a.flags |= eligible | backedUp }, passkey.CodeRefused},
		"one that cannot be and is synced": {k, func(a *answer) { a.flags |= backedUp }, passkey.CodeRefused},
		"one that can be no more":          {synced, func(a *answer) { a.flags = unlocked }, passkey.CodeRefused},
		"a challenge that nobody gave":     {k, func(a *answer) { a.challenge = encode(make([]byte, 32)) }, passkey.CodeExpired},
		"no challenge":                     {k, func(a *answer) { a.challenge = "" }, passkey.CodeExpired},
		"another spelling of the challenge": {k, func(a *answer) {
			a.challenge += "="
		}, passkey.CodeExpired},
	} {
		status := http.StatusForbidden
		if c.code == passkey.CodeExpired {
			status = http.StatusBadRequest
		}
		refused(t, name, signIn(t, s, s.Browser(), c.key, c.change), status, c.code)
	}
	if n := count(s, "session"); n != 2 {
		t.Errorf("%d sessions", n)
	}
	// A passkey that may be synced may also come to be so.
	if a := signIn(t, s, s.Browser(), synced, func(a *answer) { a.flags |= backedUp }); a.Status != http.StatusNoContent {
		t.Errorf("synced: %d %s", a.Status, a.Body)
	}

	for name, change := range map[string]func(*answer){
		"another site":                   site("evil.example"),
		"another port":                   func(a *answer) { a.origin = "http://localhost:1" },
		"another site in what is signed": func(a *answer) { a.site = "evil.example" },
		"a frame of another origin":      func(a *answer) { a.crossOrigin = true },
		"a sign-in":                      func(a *answer) { a.kind = "webauthn.get" },
		"synced and cannot be":           func(a *answer) { a.flags |= backedUp },
	} {
		_, a := add(t, s, owner, change)
		refused(t, "adding with "+name, a, http.StatusForbidden, passkey.CodeRefused)
	}
	for name, sent := range map[string]string{
		"nothing": ``, "no JSON": `{`, "an empty object": `{}`, "two answers": `{}{}`, "a list": `[]`,
		"an answer without its parts": `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{}}`,
		"too much":                    `{"id":"` + strings.Repeat("A", 65<<10) + `"}`,
	} {
		refused(t, name, s.Browser().Do("POST", signInPath, sent, "Content-Type: application/json"), http.StatusBadRequest, passkey.CodeRefused)
		refused(t, "adding "+name, owner.Do("POST", passkeyPath, sent, "Content-Type: application/json"), http.StatusBadRequest,
			map[bool]passkey.ErrorCode{true: passkey.CodeName, false: passkey.CodeRefused}[sent == "{}"])
	}
	refused(t, "a form", s.Browser().PostForm(signInPath, "id", "x"), http.StatusBadRequest, passkey.CodeRefused)
	if n := count(s, "passkey"); n != 3 {
		t.Errorf("%d passkeys", n)
	}
}

// SIGNIN-46
func TestACeremonyIsGoodOnceInItsBrowser(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner := s.SignIn(ada, oauthtest.ViewerID)
	k := newPasskey(t, s, owner)
	asked := func(b *oauthtest.Browser) string { return b.PostJSON(signInPath+"/options", nil).Body }

	b := s.Browser()
	sent := k.sign(t, s.URL, asked(b))
	if a := b.PostJSON(signInPath, sent); a.Status != http.StatusNoContent {
		t.Fatal(a.Status, a.Body)
	}
	refused(t, "a second time", b.PostJSON(signInPath, sent), http.StatusBadRequest, passkey.CodeExpired)

	sent = k.sign(t, s.URL, asked(b))
	refused(t, "in another browser", s.Browser().PostJSON(signInPath, sent), http.StatusBadRequest, passkey.CodeExpired)
	stranger := s.Browser()
	asked(stranger) // has a binding of its own
	refused(t, "in another that also began", stranger.PostJSON(signInPath, sent), http.StatusBadRequest, passkey.CodeExpired)
	first, second := asked(b), asked(b)
	for tab, body := range map[string]string{"the second tab": second, "the first tab": first} {
		if a := b.PostJSON(signInPath, k.sign(t, s.URL, body)); a.Status != http.StatusNoContent {
			t.Errorf("%s: %d %s", tab, a.Status, a.Body)
		}
	}

	body := asked(b)
	refused(t, "a bad answer", b.PostJSON(signInPath, k.sign(t, s.URL, body, func(a *answer) { a.flags = present })), http.StatusForbidden, passkey.CodeRefused)
	refused(t, "a good one after it", b.PostJSON(signInPath, k.sign(t, s.URL, body)), http.StatusBadRequest, passkey.CodeExpired)

	body = owner.PostJSON(passkeyPath+"/options", nil).Body
	refused(t, "signing in by a registration's challenge", owner.PostJSON(signInPath, k.sign(t, s.URL, body)), http.StatusBadRequest, passkey.CodeExpired)
	_, made := create(t, s.URL, asked(owner))
	refused(t, "adding by a sign-in's challenge", owner.PostJSON(passkeyPath, map[string]any{"name": "x", "credential": made}), http.StatusBadRequest, passkey.CodeExpired)
	_, made = create(t, s.URL, body)
	again := s.SignIn(ada, oauthtest.ViewerID)
	other := s.SignIn(bob, oauthtest.OtherID)
	for name, browser := range map[string]*oauthtest.Browser{"another session": again, "another person": other} {
		refused(t, "adding in "+name, browser.PostJSON(passkeyPath, map[string]any{"name": "x", "credential": made}), http.StatusBadRequest, passkey.CodeExpired)
	}
	if n := count(s, "passkey"); n != 1 {
		t.Errorf("%d passkeys", n)
	}

	digest, now := store.Digest("a challenge of both"), s.Clock.Now()
	if err := s.Store.SavePasskeyCeremony(t.Context(), digest, store.PasskeyCeremony{Purpose: store.PurposeRegister, State: []byte("{}"), ExpiresAt: now.Add(time.Minute)}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.TakePasskeyCeremony(t.Context(), digest, store.PurposeSignIn, now); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a registration taken for a sign-in: %v", err)
	}

	body, registration := asked(b), owner.PostJSON(passkeyPath+"/options", nil).Body
	s.Clock.Advance(5*time.Minute + time.Second)
	refused(t, "after five minutes", b.PostJSON(signInPath, k.sign(t, s.URL, body)), http.StatusBadRequest, passkey.CodeExpired)
	_, made = create(t, s.URL, registration)
	refused(t, "adding after five minutes", owner.PostJSON(passkeyPath, map[string]any{"name": "x", "credential": made}), http.StatusBadRequest, passkey.CodeExpired)
	asked(b)
	if n := count(s, "passkey_ceremony"); n != 1 {
		t.Errorf("%d ceremonies are kept", n)
	}
}

// SIGNIN-46
func TestNobodyProfitsFromARaceOfOneChallenge(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner := s.SignIn(ada, oauthtest.ViewerID)
	k := newPasskey(t, s, owner)
	b := s.Browser()
	sent := k.sign(t, s.URL, b.PostJSON(signInPath+"/options", nil).Body)
	_, made := create(t, s.URL, owner.PostJSON(passkeyPath+"/options", nil).Body)
	statuses := make([]int, 16)
	var racing sync.WaitGroup
	for i := range statuses {
		racing.Go(func() {
			if i%2 == 0 {
				statuses[i] = b.PostJSON(signInPath, sent).Status
			} else {
				statuses[i] = owner.PostJSON(passkeyPath, map[string]any{"name": "Raced", "credential": made}).Status
			}
		})
	}
	racing.Wait()
	won := map[int]int{}
	for _, status := range statuses {
		won[status]++
	}
	if won[http.StatusNoContent] != 1 || won[http.StatusCreated] != 1 || won[http.StatusBadRequest] != 14 {
		t.Errorf("answers by status: %v", won)
	}
	if sessions, passkeys := count(s, "session"), count(s, "passkey"); sessions != 2 || passkeys != 2 {
		t.Errorf("%d sessions, %d passkeys", sessions, passkeys)
	}
}

// SIGNIN-48
func TestAPasskeyThatMayBeACopyIsRefused(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner := s.SignIn(ada, oauthtest.ViewerID)
	k := newPasskey(t, s, owner, func(a *answer) { a.count = 5 })
	with := func(n uint32) func(*answer) { return func(a *answer) { a.count = n } }
	for _, c := range []struct {
		count uint32
		good  bool
	}{{6, true}, {6, false}, {5, false}, {0, false}, {1, false}, {7, true}, {4294967295, true}, {4294967295, false}, {8, false}} {
		a := signIn(t, s, s.Browser(), k, with(c.count))
		if c.good && a.Status != http.StatusNoContent {
			t.Errorf("%d: %d %s", c.count, a.Status, a.Body)
		} else if !c.good {
			refused(t, "a count that did not rise", a, http.StatusForbidden, passkey.CodeCount)
		}
	}
	var audited int
	s.DB.QueryRow("select count(*) from audit_event where action = 'sign_in' and outcome = 'deny' and reason = 'passkey_count' and principal_id <> ''", nil, &audited)
	if n := count(s, "session"); n != 4 || audited != 6 {
		t.Errorf("%d sessions, %d refusals audited", n, audited)
	}

	uncounted := newPasskey(t, s, owner)
	for range 2 {
		if a := signIn(t, s, s.Browser(), uncounted); a.Status != http.StatusNoContent {
			t.Errorf("a passkey that does not count: %d %s", a.Status, a.Body)
		}
	}
	if a := signIn(t, s, s.Browser(), uncounted, with(1)); a.Status != http.StatusNoContent {
		t.Errorf("one that begins to count: %d %s", a.Status, a.Body)
	}
	refused(t, "one that stops", signIn(t, s, s.Browser(), uncounted, with(0)), http.StatusForbidden, passkey.CodeCount)

	// Two copies that come at once, each with a challenge of its own.
	raced := newPasskey(t, s, owner, with(1))
	answers := make([]oauthtest.Answer, 2)
	sent := make([]func(), len(answers))
	for i := range answers {
		b := s.Browser()
		signed := raced.sign(t, s.URL, b.PostJSON(signInPath+"/options", nil).Body, with(2))
		sent[i] = func() { answers[i] = b.PostJSON(signInPath, signed) }
	}
	held, err := s.Store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(t.Context())
	if _, err := held.Exec(t.Context(), "select from passkey where credential_id = $1 for update", raced.id); err != nil {
		t.Fatal(err)
	}
	var racing sync.WaitGroup
	for _, send := range sent {
		racing.Go(send)
	}
	for waiting := 0; waiting < len(sent); { // until both stand before the passkey
		s.DB.QueryRow("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'", nil, &waiting)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	racing.Wait()
	won := 0
	for _, a := range answers {
		if a.Status == http.StatusNoContent {
			won++
			continue
		}
		refused(t, "the other copy", a, http.StatusForbidden, passkey.CodeCount)
	}
	if won != 1 {
		t.Errorf("%d copies were let in", won)
	}
}

// SIGNIN-27
func TestAPasskeyNeedsASignInThroughAProvider(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	k := newPasskey(t, s, s.SignIn(ada, oauthtest.ViewerID))
	if _, err := s.Store.AssignRole(t.Context(), store.Assignment{Role: "viewer", Kind: store.ToPerson, Subject: ada}, time.Now()); err != nil {
		t.Fatal(err) // what it was given for its sign-in ends with that
	}
	age := func(than string) {
		s.DB.Exec("update person_sign_in set signed_in_at = now() - interval '7 days' + $1::interval", than)
	}
	age("1 minute")
	for range 2 {
		if a := signIn(t, s, s.Browser(), k); a.Status != http.StatusNoContent {
			t.Errorf("just under: %d %s", a.Status, a.Body)
		}
	}
	var since int
	s.DB.QueryRow("select count(*) from person_sign_in where signed_in_at > now() - interval '6 days'", nil, &since)
	if since != 0 {
		t.Error("a sign-in by passkey counts as one through a provider")
	}
	before := count(s, "session")
	age("-1 minute")
	refused(t, "just over", signIn(t, s, s.Browser(), k), http.StatusForbidden, passkey.CodeSignInDue)
	s.DB.Exec("delete from person_sign_in")
	refused(t, "never", signIn(t, s, s.Browser(), k), http.StatusForbidden, passkey.CodeSignInDue)
	if n := count(s, "session"); n != before {
		t.Errorf("%d sessions, before %d", n, before)
	}
	s.SignIn(ada, oauthtest.ViewerID)
	if a := signIn(t, s, s.Browser(), k); a.Status != http.StatusNoContent {
		t.Errorf("after signing in again: %d %s", a.Status, a.Body)
	}
}

// SIGNIN-03, SIGNIN-26
func TestWithoutARoleNobodySignsInAndKeepsTheirPasskeys(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	b := s.SignIn(ada, oauthtest.ViewerID)
	k := newPasskey(t, s, b)
	s.SetDefaultRole("none")
	refused(t, "signing in", signIn(t, s, s.Browser(), k), http.StatusForbidden, passkey.CodeNoRole)
	if n := count(s, "session"); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if a := b.Get("/api/v1/whoami"); a.Status != http.StatusForbidden {
		t.Errorf("the API: %d", a.Status)
	}
	second, a := add(t, s, b)
	if a.Status != http.StatusCreated {
		t.Errorf("adding: %d %s", a.Status, a.Body)
	}
	if a := b.Get("/api/auth/session"); a.Status != http.StatusOK || a.Field("email") != ada {
		t.Errorf("the session: %d %s", a.Status, a.Body)
	}
	if a := b.Do("DELETE", passkeyPath+"?id="+a.Field("id"), ""); a.Status != http.StatusNoContent {
		t.Errorf("removing: %d %s", a.Status, a.Body)
	}
	if a := b.Get(passkeyPath); a.Status != http.StatusOK || strings.Count(a.Body, `"id"`) != 1 {
		t.Errorf("the list: %d %s", a.Status, a.Body)
	}
	if a := b.PostJSON("/api/auth/sign-out", nil); a.Status != http.StatusNoContent {
		t.Errorf("signing out: %d", a.Status)
	}
	if _, err := s.Store.AssignRole(t.Context(), store.Assignment{Role: "viewer", Kind: store.ToPerson, Subject: ada}, time.Now()); err != nil {
		t.Fatal(err)
	}
	refused(t, "by a passkey that was removed", signIn(t, s, s.Browser(), second), http.StatusForbidden, passkey.CodeRefused)
	if a := signIn(t, s, s.Browser(), k); a.Status != http.StatusNoContent {
		t.Errorf("with a role again: %d %s", a.Status, a.Body)
	}
}

// SIGNIN-26, SIGNIN-32, SIGNIN-49
func TestPasskeysAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	owner, other := s.SignIn(ada, oauthtest.ViewerID), s.SignIn(bob, oauthtest.OtherID)
	k, added := add(t, s, owner)
	id := added.Field("id")
	if a := other.Get(passkeyPath); a.Status != http.StatusOK || strings.TrimSpace(a.Body) != `{"items":[]}` {
		t.Errorf("somebody else lists %d %s", a.Status, a.Body)
	}
	theirs := other.Do("DELETE", passkeyPath+"?id="+id, "")
	for name, query := range map[string]string{"an unknown one": "?id=" + uuid.NewString(), "no id": "", "an id that is none": "?id=x"} {
		if a := other.Do("DELETE", passkeyPath+query, ""); a.Status != http.StatusNotFound || a.Body != theirs.Body {
			t.Errorf("removing %s: %d %s, and another's: %s", name, a.Status, a.Body, theirs.Body)
		}
	}
	if a := owner.Do("DELETE", passkeyPath+"?id="+id+"&id="+id, ""); a.Status != http.StatusBadRequest {
		t.Errorf("two ids: %d", a.Status)
	}
	if n := count(s, "passkey"); n != 1 {
		t.Fatalf("%d passkeys", n)
	}

	// A credential is one person's, whoever adds it again.
	_, a := add(t, s, other, func(a *answer) { a.id = k.id })
	refused(t, "adding another's", a, http.StatusConflict, passkey.CodeExists)
	_, a = add(t, s, owner, func(a *answer) { a.id = k.id })
	refused(t, "adding it again", a, http.StatusConflict, passkey.CodeExists)
	if a := owner.PostJSON(passkeyPath+"/options", nil); !strings.Contains(a.Body, encode(k.id)) {
		t.Errorf("the authenticator is not told to make no second one: %s", a.Body)
	}

	// Without a session there is nothing, and a token is none.
	access, _ := owner.Tokens(s.Register())
	for _, r := range []struct{ method, path string }{
		{"GET", passkeyPath}, {"POST", passkeyPath}, {"POST", passkeyPath + "/options"}, {"DELETE", passkeyPath + "?id=" + id},
	} {
		for name, a := range map[string]oauthtest.Answer{
			"nobody":         s.Browser().Do(r.method, r.path, ""),
			"a token":        s.Browser().Do(r.method, r.path, "", "Authorization: Bearer "+access),
			"a token beside": owner.Do(r.method, r.path, "", "Authorization: Bearer "+access),
		} {
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s %s by %s: %d %s", r.method, r.path, name, a.Status, a.Body)
			}
		}
	}

	for name, bad := range map[string]string{"no name": "  ", "a long name": strings.Repeat("é", 61), "a name of two lines": "a\nb"} {
		_, sent := create(t, s.URL, owner.PostJSON(passkeyPath+"/options", nil).Body)
		refused(t, name, owner.PostJSON(passkeyPath, map[string]any{"name": bad, "credential": sent}), http.StatusBadRequest, passkey.CodeName)
	}
	_, sent := create(t, s.URL, owner.PostJSON(passkeyPath+"/options", nil).Body)
	refused(t, "an unknown field", owner.PostJSON(passkeyPath, map[string]any{"name": "x", "credential": sent, "person": "x"}), http.StatusBadRequest, passkey.CodeRefused)
	if a := owner.PostJSON(passkeyPath, map[string]any{"name": " " + strings.Repeat("é", 60), "credential": sent}); a.Status != http.StatusCreated {
		t.Errorf("a name as long as may be: %d %s", a.Status, a.Body)
	}
	if a := owner.Do("DELETE", passkeyPath+"?id="+id, ""); a.Status != http.StatusNoContent {
		t.Errorf("removing one's own: %d %s", a.Status, a.Body)
	}
	refused(t, "by it afterwards", signIn(t, s, s.Browser(), k), http.StatusForbidden, passkey.CodeRefused)
	var audited string
	s.DB.QueryRow("select string_agg(action || ' ' || (element = $1)::text || ' ' || (credential <> '')::text, ',' order by id) from audit_event where action like '%_passkey'", []any{id}, &audited)
	if audited != "add_passkey true true,add_passkey false true,remove_passkey true true" {
		t.Errorf("audited: %s", audited)
	}
}

// SIGNIN-49
func TestAPersonHasSoManyPasskeysAndNoMore(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	b := s.SignIn(ada, oauthtest.ViewerID)
	var begun []map[string]any
	for range store.MaxPasskeys + 2 {
		_, sent := create(t, s.URL, b.PostJSON(passkeyPath+"/options", nil).Body)
		begun = append(begun, sent)
	}
	for i, sent := range begun {
		a := b.PostJSON(passkeyPath, map[string]any{"name": "x", "credential": sent})
		if i < store.MaxPasskeys && a.Status != http.StatusCreated {
			t.Fatalf("the %dth: %d %s", i+1, a.Status, a.Body)
		} else if i >= store.MaxPasskeys {
			refused(t, "one too many", a, http.StatusConflict, passkey.CodeMany)
		}
	}
	refused(t, "beginning one more", b.PostJSON(passkeyPath+"/options", nil), http.StatusConflict, passkey.CodeMany)
}

// SIGNIN-43, SIGNIN-44: what the dev sign-in left behind opens nothing once it is
// shut, and what it vouched for counts only while it is open.
func TestPasskeysOfDevAccountsAreRefusedWhileItIsShut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dev    *signin.Dev
		change string
		code   passkey.ErrorCode
	}{
		"open":                      {&signin.Dev{}, "update person_sign_in set provider = 'dev'", ""},
		"shut, with its account":    {nil, "update account set scope = 'dev-sign-in'", passkey.CodeDevAccount},
		"shut, with what it said":   {nil, "update person_sign_in set provider = 'dev'", passkey.CodeSignInDue},
		"shut, a provider said all": {nil, "select 1", ""},
	} {
		s := oauthtest.New(t, oauthtest.Options{Dev: c.dev})
		k := newPasskey(t, s, s.SignIn(ada, oauthtest.ViewerID))
		s.DB.Exec(c.change)
		a := signIn(t, s, s.Browser(), k)
		if c.code != "" {
			refused(t, name, a, http.StatusForbidden, c.code)
		} else if a.Status != http.StatusNoContent {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// SIGNIN-31, SIGNIN-32, NET-25, NET-26
func TestPathsOfPasskeys(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	var open, ofASession []string
	for _, r := range s.Routes {
		if !strings.HasPrefix(r.Path, "/api/auth/") {
			continue
		}
		route := r.Method + " " + r.Path
		if r.Limit.Max == 0 || r.Limit.Max > 100 || r.Limit.Per != time.Minute {
			t.Errorf("%s is limited to %d in %s", route, r.Limit.Max, r.Limit.Per)
		}
		if r.Path == signInPath+"/options" && (r.Limit.Rule != "sign_in_start" || r.Limit.Max != 60) {
			t.Errorf("beginning a sign-in is limited as %+v", r.Limit)
		}
		if strings.Contains(r.Path, "passkey") && r.AnyOrigin {
			t.Errorf("%s is open to other sites", route)
		}
		switch {
		case r.Access == protocol.WithSession:
			ofASession = append(ofASession, route)
		case strings.Contains(r.Path, "passkey"):
			open = append(open, route)
		}
	}
	slices.Sort(ofASession)
	if want := []string{"POST " + signInPath + "/options", "POST " + signInPath}; !slices.Equal(open, want) {
		t.Errorf("open to everybody: %q, want %q", open, want)
	}
	want := []string{
		"DELETE /api/auth/passkeys", "GET /api/auth/passkeys", "GET /api/auth/session",
		"POST /api/auth/passkeys", "POST /api/auth/passkeys/options", "POST /api/auth/sign-out",
	}
	if !slices.Equal(ofASession, want) {
		t.Errorf("open to a session: %q, want %q", ofASession, want)
	}
}

func TestASiteWithoutANameHasNoPasskeys(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://book.example": true, "http://localhost:8080": true, "https://10.0.0.5": false, "http://127.0.0.1:8080": false, "https://[2001:db8::1]:8443": false,
	} {
		site, err := protocol.NewSite(address)
		if err != nil {
			t.Fatal(err)
		}
		h, err := passkey.New(passkey.Config{Site: site, Deployment: "Test", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if h.Usable() != want || (len(h.Routes()) > 0) != want {
			t.Errorf("%s: usable %v, %d routes", address, h.Usable(), len(h.Routes()))
		}
	}
}

// The options that a browser is given are JSON that it can read.
func TestOptionsAreForBrowsers(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t, oauthtest.Options{})
	var o struct {
		PublicKey struct {
			RP   struct{ ID, Name string }
			User struct{ ID, Name, DisplayName string }
		}
	}
	if err := json.Unmarshal([]byte(s.SignIn(ada, oauthtest.ViewerID).PostJSON(passkeyPath+"/options", nil).Body), &o); err != nil {
		t.Fatal(err)
	}
	if rp := o.PublicKey.RP; rp.ID != "localhost" || rp.Name != "Test" {
		t.Errorf("the site is %+v", rp)
	}
	u := o.PublicKey.User
	if u.Name != ada || u.DisplayName != "Ada" || len(decode(t, u.ID)) != 16 {
		t.Errorf("the person is %+v", u)
	}
}
