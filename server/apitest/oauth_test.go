package apitest_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/oauth/oauthtest"
)

const callback = "http://localhost/callback"

// raw sends a body as it is, with headers in pairs.
func (c *caller) raw(method, path, kind, body string, headers ...string) answer {
	c.d.t.Helper()
	r, err := http.NewRequestWithContext(c.d.t.Context(), method, c.d.url+path, strings.NewReader(body))
	if err != nil {
		c.d.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("X-Forwarded-For", c.address)
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return c.do(r)
}

func (c *caller) register() (clientID string) {
	c.d.t.Helper()
	return c.send(http.MethodPost, "/api/auth/oauth2/register", map[string]any{"redirect_uris": []string{callback}}).field("client_id")
}

// ask is an authorization request that is in order, with changes in pairs; an
// empty value takes a parameter away.
func (d *deployment) ask(clientID, challenge string, changes ...string) string {
	v := url.Values{
		"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {callback}, "scope": {"mcp offline_access"}, "state": {"of-the-client"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "resource": {d.url + "/api/mcp"},
	}
	for pair := range slices.Chunk(changes, 2) {
		if v.Set(pair[0], pair[1]); pair[1] == "" {
			v.Del(pair[0])
		}
	}
	return "/api/auth/oauth2/authorize?" + v.Encode()
}

// code has a person let a client in.
func (c *caller) code(clientID string) (code, verifier string) {
	c.d.t.Helper()
	verifier, challenge := oauthtest.PKCE()
	screen, err := url.Parse(c.send(http.MethodGet, c.d.ask(clientID, challenge), nil).header.Get("Location"))
	if err != nil {
		c.d.t.Fatal(err)
	}
	allowed := c.send(http.MethodPost, "/api/v1/oauth/consent", map[string]any{"query": screen.RawQuery, "allow": true})
	back, err := url.Parse(allowed.field("redirect_to"))
	if err != nil || back.Query().Get("code") == "" {
		c.d.t.Fatalf("consent: %d %s", allowed.status, allowed.text)
	}
	return back.Query().Get("code"), verifier
}

// OAUTH-18, OAUTH-19, OAUTH-21, OAUTH-26, OAUTH-27, OAUTH-29, OAUTH-30, OAUTH-33,
// NET-16: what the token endpoint answers, behind the gate, to what is malformed,
// repeated, too large, of a foreign origin or replayed. Clients throw away their
// registration on invalid_client and their tokens on invalid_grant, so each code
// stands for its meaning and for nothing else.
func TestBadTokenRequests(t *testing.T) {
	d := newDeployment(t)
	person, client := d.as("viewer@sample.example"), d.from("203.0.113.7")
	one, two := client.register(), client.register()
	form := func(pairs ...string) string {
		var parts []string
		for pair := range slices.Chunk(pairs, 2) {
			parts = append(parts, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		}
		return strings.Join(parts, "&")
	}
	spent, spentVerifier := person.code(one)
	spentForm := form("grant_type", "authorization_code", "client_id", one, "code", spent, "redirect_uri", callback, "code_verifier", spentVerifier)
	first := client.raw(http.MethodPost, "/api/auth/oauth2/token", "application/x-www-form-urlencoded", spentForm)
	used := first.field("refresh_token")
	second := client.raw(http.MethodPost, "/api/auth/oauth2/token", "application/x-www-form-urlencoded", form("grant_type", "refresh_token", "client_id", one, "refresh_token", used))
	live := second.field("refresh_token")
	if live == "" {
		t.Fatalf("%d %s, %d %s", first.status, first.text, second.status, second.text)
	}
	code, verifier := person.code(one)
	good := []string{"grant_type", "authorization_code", "client_id", one, "code", code, "redirect_uri", callback, "code_verifier", verifier, "resource", d.url + "/api/mcp"}
	with := func(name, value string) string {
		changed := slices.Clone(good)
		for i := 0; i < len(changed); i += 2 {
			if changed[i] == name {
				changed[i+1] = value
				return form(changed...)
			}
		}
		return form(append(changed, name, value)...)
	}
	refresh := func(token string, more ...string) string {
		return form(append([]string{"grant_type", "refresh_token", "client_id", one, "refresh_token", token}, more...)...)
	}
	const urlencoded = "application/x-www-form-urlencoded"
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	type request struct {
		kind, query, body string
		headers           []string
		status            int // 400 where it is 0
		want              string
	}
	cases := map[string]request{
		"nothing":                        {urlencoded, "", "", nil, 0, "invalid_request"},
		"no content type":                {"", "", form(good...), nil, 0, "invalid_request"},
		"text":                           {"text/plain", "", form(good...), nil, 0, "invalid_request"},
		"JSON":                           {"application/json", "", `{"grant_type":"authorization_code"}`, nil, 0, "invalid_request"},
		"multipart":                      {"multipart/form-data; boundary=b", "", "--b\r\nContent-Disposition: form-data; name=\"grant_type\"\r\n\r\nrefresh_token\r\n--b--\r\n", nil, 0, "invalid_request"},
		"parameters in the address":      {urlencoded, "?" + form(good...), "", nil, 0, "invalid_request"},
		"one of them in the address":     {urlencoded, "?grant_type=authorization_code", form(good...), nil, 0, "invalid_request"},
		"a broken escape":                {urlencoded, "", form(good...) + "&x=%zz", nil, 0, "invalid_request"},
		"semicolons":                     {urlencoded, "", strings.ReplaceAll(form(good...), "&", ";"), nil, 0, "invalid_request"},
		"13 fields":                      {urlencoded, "", form(good...) + "&a=&b=&c=&d=&e=&f=&g=", nil, 0, "invalid_request"},
		"17 KiB":                         {urlencoded, "", with("x", strings.Repeat("x", 17<<10)), nil, 0, "invalid_request"},
		"over 1 MiB":                     {urlencoded, "", with("x", strings.Repeat("x", 1<<20)), nil, http.StatusRequestEntityTooLarge, ""},
		"no grant type":                  {urlencoded, "", with("grant_type", ""), nil, 0, "invalid_request"},
		"client_credentials":             {urlencoded, "", with("grant_type", "client_credentials"), nil, 0, "unsupported_grant_type"},
		"password":                       {urlencoded, "", with("grant_type", "password"), nil, 0, "unsupported_grant_type"},
		"a grant type in capitals":       {urlencoded, "", with("grant_type", "AUTHORIZATION_CODE"), nil, 0, "unsupported_grant_type"},
		"no client":                      {urlencoded, "", with("client_id", ""), nil, 0, "invalid_request"},
		"an unknown client":              {urlencoded, "", with("client_id", "nobody"), nil, http.StatusUnauthorized, "invalid_client"},
		"a client with NUL":              {urlencoded, "", with("client_id", "a\x00b"), nil, http.StatusUnauthorized, "invalid_client"},
		"a client not in UTF-8":          {urlencoded, "", with("client_id", "a\xffb"), nil, http.StatusUnauthorized, "invalid_client"},
		"a document that nobody read":    {urlencoded, "", with("client_id", "https://agents.example/agent.json"), nil, http.StatusUnauthorized, "invalid_client"},
		"a client with a secret":         {urlencoded, "", form(good...), []string{"Authorization", basic(one, "secret")}, http.StatusUnauthorized, "invalid_client"},
		"another client in the header":   {urlencoded, "", form(good...), []string{"Authorization", basic(two, "")}, http.StatusUnauthorized, "invalid_client"},
		"a bearer token in the header":   {urlencoded, "", form(good...), []string{"Authorization", "Bearer x"}, http.StatusUnauthorized, "invalid_client"},
		"an unknown code":                {urlencoded, "", with("code", "pbmb_code_x"), nil, 0, "invalid_grant"},
		"a code with NUL":                {urlencoded, "", with("code", "\x00"), nil, 0, "invalid_grant"},
		"another client's code":          {urlencoded, "", with("client_id", two), nil, 0, "invalid_grant"},
		"another redirect":               {urlencoded, "", with("redirect_uri", "http://localhost/other"), nil, 0, "invalid_grant"},
		"the redirect on another port":   {urlencoded, "", with("redirect_uri", "http://localhost:1/callback"), nil, 0, "invalid_grant"},
		"another verifier":               {urlencoded, "", with("code_verifier", strings.Repeat("x", 52)), nil, 0, "invalid_grant"},
		"no verifier":                    {urlencoded, "", with("code_verifier", ""), nil, 0, "invalid_grant"},
		"another resource":               {urlencoded, "", with("resource", d.url+"/api/v1"), nil, 0, "invalid_target"},
		"a resource elsewhere":           {urlencoded, "", with("resource", "https://evil.example/api/mcp"), nil, 0, "invalid_target"},
		"a foreign origin":               {urlencoded, "", with("code", "pbmb_code_x"), []string{"Origin", "https://evil.example"}, 0, "invalid_grant"},
		"an unknown refresh token":       {urlencoded, "", refresh("pbmb_rt_x"), nil, 0, "invalid_grant"},
		"a refresh token with NUL":       {urlencoded, "", refresh("\x00"), nil, 0, "invalid_grant"},
		"no refresh token":               {urlencoded, "", refresh(""), nil, 0, "invalid_grant"},
		"a refresh for another resource": {urlencoded, "", refresh(live, "resource", d.url+"/api/v1"), nil, 0, "invalid_target"},
		"a refresh with a wider scope":   {urlencoded, "", refresh(live, "scope", "mcp api"), nil, 0, "invalid_scope"},
		"three refresh tokens":           {urlencoded, "", refresh("a", "refresh_token", "b", "refresh_token", "c"), nil, 0, "invalid_request"},
	}
	for i := 0; i < len(good); i += 2 {
		name, want := good[i], "invalid_request"
		if name == "resource" {
			want = "invalid_target"
		}
		cases[name+" twice"] = request{urlencoded, "", form(append(slices.Clone(good), name, good[i+1])...), nil, 0, want}
		cases[name+" twice, with two values"] = request{urlencoded, "", form(append(slices.Clone(good), name, "other")...), nil, 0, want}
	}
	check := func(name string, c request) {
		t.Helper()
		a := client.raw(http.MethodPost, "/api/auth/oauth2/token"+c.query, c.kind, c.body, c.headers...)
		if c.status == 0 {
			c.status = http.StatusBadRequest
		}
		if a.status != c.status || a.field("error") != c.want || a.field("access_token") != "" || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.text, c.status, c.want)
		}
		if a.header.Get("Cache-Control") != "no-store" && c.want != "" || len(a.header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: headers %v", name, a.header)
		}
		if challenged := a.header.Get("WWW-Authenticate") != ""; challenged != (c.status == http.StatusUnauthorized) {
			t.Errorf("%s: challenged %v", name, challenged)
		}
	}
	for i, name := range sortedNames(cases) {
		client.address = addressOf(i) // none of this is about limits
		check(name, cases[name])
	}

	// None of it spent the code or the refresh token.
	client.address = "203.0.113.250"
	a := client.raw(http.MethodPost, "/api/auth/oauth2/token", urlencoded, form(good...))
	if a.status != http.StatusOK {
		t.Fatalf("the code after all that: %d %s", a.status, a.text)
	}
	check("the code again", request{urlencoded, "", form(good...), nil, 0, "invalid_grant"})
	check("the refresh token of a replayed code", request{urlencoded, "", refresh(a.field("refresh_token")), nil, 0, "invalid_grant"})
	next := client.raw(http.MethodPost, "/api/auth/oauth2/token", urlencoded, refresh(live))
	if next.status != http.StatusOK {
		t.Fatalf("the refresh token after all that: %d %s", next.status, next.text)
	}
	check("a refresh token again", request{urlencoded, "", refresh(used), nil, 0, "invalid_grant"})
	check("its successor", request{urlencoded, "", refresh(next.field("refresh_token")), nil, 0, "invalid_grant"})
}

// OAUTH-40, OAUTH-42, OAUTH-43, OAUTH-44, NET-17: registration.
func TestBadRegistrations(t *testing.T) {
	d := newDeployment(t)
	client := d.from("203.0.113.7")
	const json, good = "application/json", `{"redirect_uris":["http://localhost/callback"]}`
	cases := map[string]struct {
		kind, body string
		headers    []string
		status     int // 400 where it is 0
		want       string
	}{
		"nothing":                  {json, "", nil, 0, "invalid_client_metadata"},
		"no content type":          {"", good, nil, 0, "invalid_client_metadata"},
		"text":                     {"text/plain", good, nil, 0, "invalid_client_metadata"},
		"a form":                   {"application/x-www-form-urlencoded", "redirect_uris=" + url.QueryEscape(callback), nil, 0, "invalid_client_metadata"},
		"multipart":                {"multipart/form-data; boundary=b", good, nil, 0, "invalid_client_metadata"},
		"null":                     {json, "null", nil, 0, "invalid_client_metadata"},
		"a list":                   {json, "[]", nil, 0, "invalid_client_metadata"},
		"half an object":           {json, good[:20], nil, 0, "invalid_client_metadata"},
		"two objects":              {json, good + good, nil, 0, "invalid_client_metadata"},
		"17 KiB":                   {json, `{"x":"` + strings.Repeat("x", 17<<10) + `"}`, nil, 0, "invalid_client_metadata"},
		"over 1 MiB":               {json, `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, nil, http.StatusRequestEntityTooLarge, ""},
		"no redirects":             {json, "{}", nil, 0, "invalid_redirect_uri"},
		"null redirects":           {json, `{"redirect_uris":null}`, nil, 0, "invalid_redirect_uri"},
		"a number among them":      {json, `{"redirect_uris":[1]}`, nil, 0, "invalid_client_metadata"},
		"a script":                 {json, `{"redirect_uris":["javascript:alert(1)"]}`, nil, 0, "invalid_redirect_uri"},
		"data":                     {json, `{"redirect_uris":["data:text/html,x"]}`, nil, 0, "invalid_redirect_uri"},
		"http elsewhere":           {json, `{"redirect_uris":["http://app.example/cb"]}`, nil, 0, "invalid_redirect_uri"},
		"a name with NUL":          {json, `{"client_name":"a\u0000b","redirect_uris":["http://localhost/callback"]}`, nil, 0, "invalid_client_metadata"},
		"jwks_uri":                 {json, `{"jwks_uri":"https://evil.example","redirect_uris":["http://localhost/callback"]}`, nil, 0, "invalid_client_metadata"},
		"a foreign origin":         {json, good, []string{"Origin", "https://evil.example"}, http.StatusCreated, ""},
		"the same once more":       {json, good, nil, http.StatusCreated, ""},
		"redirects that are twice": {json, `{"redirect_uris":["javascript:alert(1)"],"redirect_uris":["http://localhost/callback"]}`, nil, http.StatusCreated, ""},
	}
	for i, name := range sortedNames(cases) {
		c := cases[name]
		if c.status == 0 {
			c.status = http.StatusBadRequest
		}
		client.address = addressOf(i)
		a := client.raw(http.MethodPost, "/api/auth/oauth2/register", c.kind, c.body, c.headers...)
		if a.status != c.status || a.field("error") != c.want || a.header.Get("Access-Control-Allow-Origin") != "" || len(a.header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.text, c.status, c.want)
		}
	}
	var clients int
	d.db.QueryRow("select count(*) from oauth_client where kind = 'registered'", nil, &clients)
	if clients != 3 {
		t.Errorf("%d clients", clients)
	}
}

// OAUTH-29, OAUTH-30, OAUTH-31, OAUTH-32, OAUTH-36, OAUTH-53: the authorization endpoint sends an
// error to a redirect address that is the client's, and to no other.
func TestBadAuthorizationRequests(t *testing.T) {
	d := newDeployment(t)
	person := d.as("viewer@sample.example")
	client := person.register()
	_, challenge := oauthtest.PKCE()
	request := func(changes ...string) string { return d.ask(client, challenge, changes...) }
	cases := map[string]struct {
		path string
		want string // the error that the client is told; a page where it is empty
	}{
		"nothing":                      {"/api/auth/oauth2/authorize", ""},
		"a broken escape":              {request() + "&x=%zz", ""},
		"semicolons":                   {strings.ReplaceAll(request(), "&", ";"), ""},
		"9 KiB":                        {request("x", strings.Repeat("x", 9<<10)), ""},
		"no client":                    {request("client_id", ""), ""},
		"an unknown client":            {request("client_id", "nobody"), ""},
		"a client with NUL":            {request("client_id", "a\x00b"), ""},
		"a client twice":               {request() + "&client_id=" + client, ""},
		"a document at this machine":   {request("client_id", "https://127.0.0.1/agent.json"), ""},
		"no redirect":                  {request("redirect_uri", ""), ""},
		"a redirect elsewhere":         {request("redirect_uri", "https://evil.example/callback"), ""},
		"a redirect twice":             {request() + "&redirect_uri=" + url.QueryEscape(callback), ""},
		"a state twice":                {request() + "&state=other", "invalid_request"},
		"a scope twice":                {request() + "&scope=mcp", "invalid_request"},
		"a challenge twice":            {request() + "&code_challenge=" + challenge, "invalid_request"},
		"anything twice":               {request() + "&nonce=a&nonce=b", "invalid_request"},
		"a resource twice":             {request() + "&resource=" + url.QueryEscape(d.url+"/api/mcp"), "invalid_target"},
		"no resource":                  {request("resource", ""), "invalid_target"},
		"the other resource":           {request("resource", d.url+"/api/v1"), "invalid_target"},
		"no challenge":                 {request("code_challenge", ""), "invalid_request"},
		"plain":                        {request("code_challenge_method", "plain"), "invalid_request"},
		"an unknown scope":             {request("scope", "mcp openid"), "invalid_scope"},
		"the implicit flow":            {request("response_type", "token"), "unsupported_response_type"},
		"no response type":             {request("response_type", ""), "unsupported_response_type"},
		"a request object":             {request("request", "eyJ"), "invalid_request"},
		"a request object's address":   {request("request_uri", "https://evil.example/r"), "invalid_request"},
		"a registration of the moment": {request("registration", "{}"), "invalid_request"},
	}
	for i, name := range sortedNames(cases) {
		c := cases[name]
		person.address = addressOf(i)
		a := person.send(http.MethodGet, c.path, nil)
		to, err := url.Parse(a.header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want == "":
			if a.status != http.StatusBadRequest || to.String() != "" || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s: %d to %s", name, a.status, to)
			}
		case a.status != http.StatusSeeOther || !strings.HasPrefix(to.String(), callback+"?") || to.Query().Get("error") != c.want ||
			to.Query().Get("iss") != d.url+"/api/auth" || to.Query().Has("code"):
			t.Errorf("%s: %d to %s, want %s", name, a.status, to, c.want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodHead} {
		if a := person.send(method, request(), nil); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", method, a.status)
		}
	}
}

// OAUTH-47, OAUTH-48, NET-19: the consent endpoints, which are the API's and answer
// with its problems.
func TestBadConsents(t *testing.T) {
	d := newDeployment(t)
	person, other := d.as("viewer@sample.example"), d.as("curator@sample.example")
	client := person.register()
	_, challenge := oauthtest.PKCE()
	screen, err := url.Parse(person.send(http.MethodGet, d.ask(client, challenge), nil).header.Get("Location"))
	if err != nil || screen.RawQuery == "" {
		t.Fatal(err, screen)
	}
	query := screen.RawQuery
	const path, json = "/api/v1/oauth/consent", "application/json"
	own := []string{"Origin", d.url}
	body := func(query string) string { return `{"query":"` + query + `","allow":true}` }
	for name, c := range map[string]struct {
		by         *caller
		kind, body string
		headers    []string
		status     int
	}{
		"nothing":             {person, json, "", own, 400},
		"no content type":     {person, "", body(query), own, 400},
		"a form":              {person, "application/x-www-form-urlencoded", "allow=true&query=" + url.QueryEscape(query), own, 400},
		"half an object":      {person, json, body(query)[:30], own, 400},
		"two objects":         {person, json, body(query) + body(query), own, 400},
		"an unknown field":    {person, json, `{"query":"` + query + `","allow":true,"person":"x"}`, own, 400},
		"no answer":           {person, json, `{"query":"` + query + `"}`, own, 400},
		"an answer that is 1": {person, json, `{"query":"` + query + `","allow":1}`, own, 400},
		"33 KiB":              {person, json, body(query + strings.Repeat("x", 33<<10)), own, 400},
		"over 1 MiB":          {person, json, body(strings.Repeat("x", 1<<20)), own, 413},
		"no query":            {person, json, body(""), own, 400},
		"an unsigned query":   {person, json, body(url.QueryEscape(client)), own, 400},
		"a changed query":     {person, json, body(strings.Replace(query, "mcp", "api", 1)), own, 400},
		"another person's":    {other, json, body(query), own, 400},
		"nobody's":            {d.from("203.0.113.9"), json, body(query), own, 401},
		"a foreign origin":    {person, json, body(query), []string{"Origin", "https://evil.example"}, 403},
		"no origin":           {person, json, body(query), nil, 403},
		"a token beside it":   {person, json, body(query), append([]string{"Authorization", "Bearer x"}, own...), 401},
	} {
		a := c.by.raw(http.MethodPost, path, c.kind, c.body, c.headers...)
		if a.status != c.status || a.field("redirect_to") != "" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.text, c.status)
		}
	}
	var granted int
	d.db.QueryRow("select count(*) from oauth_grant", nil, &granted)
	if granted != 0 {
		t.Errorf("%d grants", granted)
	}
	if a := person.raw(http.MethodPost, path, json, body(query), own...); a.status != http.StatusOK {
		t.Errorf("the request as it was signed: %d %s", a.status, a.text)
	}
}
