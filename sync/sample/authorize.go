package sample

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// sessionCookie keeps a browser signed in at the login pages.
const sessionCookie = "ESTSAUTH"

// authorize is the authorization endpoint. GET shows whom one may be, or sends a
// browser that is signed in straight back; POST is the choice: the same address
// with the form value person, which is a sign-in name.
func (t *Tenant) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "the form cannot be read", http.StatusBadRequest)
			return
		}
	}
	if problem := t.checkClient(q); problem != nil {
		t.showError(w, problem)
		return
	}
	back := reply{to: q.Get("redirect_uri"), mode: q.Get("response_mode"), state: q.Get("state")}
	if problem := t.checkRequest(q); problem != nil {
		t.sendBack(w, r, back, problem)
		return
	}
	if r.Method == http.MethodPost {
		t.choose(w, r, q, back)
		return
	}
	signedIn := t.signedIn(r)
	hint := q.Get("login_hint")
	fits := signedIn != nil && (hint == "" || strings.EqualFold(hint, signedIn.upn) || strings.EqualFold(hint, signedIn.mail))
	switch prompt := q.Get("prompt"); {
	case prompt == "none" && signedIn == nil:
		t.sendBack(w, r, back, entraErrorf(400, "login_required", 50058,
			"A silent sign-in request was sent but no user is signed in."))
	case prompt == "none" && !fits:
		t.sendBack(w, r, back, entraErrorf(400, "interaction_required", 50058,
			"Session information is not sufficient for single-sign-on."))
	case fits && (prompt == "" || prompt == "none" || prompt == "consent"):
		t.sendCode(w, r, q, back, signedIn)
	default:
		t.showPeople(w, hint)
	}
}

// checkClient finds what must be told on the page itself, since an address that
// is not registered is never redirected to.
func (t *Tenant) checkClient(q url.Values) *entraError {
	if client := q.Get("client_id"); client != AppID {
		return errUnknownClient(client)
	}
	if uri := q.Get("redirect_uri"); !t.registered(uri) {
		return entraErrorf(400, "invalid_request", 50011,
			"The redirect URI '%s' specified in the request does not match the redirect URIs configured for the application '%s'.", uri, AppID)
	}
	return nil
}

func (t *Tenant) registered(uri string) bool {
	if len(t.cfg.RedirectURIs) > 0 {
		return slices.Contains(t.cfg.RedirectURIs, uri)
	}
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "http" && u.Fragment == "" &&
		slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

// checkRequest finds what is told to the client.
func (t *Tenant) checkRequest(q url.Values) *entraError {
	if q.Get("response_type") != "code" {
		return entraErrorf(400, "unsupported_response_type", 700054,
			"response_type '%s' is not enabled for the application.", q.Get("response_type"))
	}
	if q.Get("scope") == "" {
		return entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'scope'.")
	}
	if _, problem := t.parseScope(q.Get("scope")); problem != nil {
		return problem
	}
	if m := q.Get("code_challenge_method"); q.Get("code_challenge") != "" && m != "S256" && m != "plain" && m != "" {
		return entraErrorf(400, "invalid_request", 501491, "Invalid code_challenge_method '%s'.", m)
	}
	return nil
}

// choose takes the answer of the page.
func (t *Tenant) choose(w http.ResponseWriter, r *http.Request, q url.Values, back reply) {
	if r.PostForm.Has("cancel") {
		t.sendBack(w, r, back, entraErrorf(400, "access_denied", 65004, "User declined to consent to access the app."))
		return
	}
	t.mu.RLock()
	p := t.personByName(r.PostForm.Get("person"))
	t.mu.RUnlock()
	switch {
	case p == nil:
		t.showError(w, entraErrorf(400, "invalid_grant", 50034, "The user account does not exist in the Tarnwick Outfitters directory."))
		return
	case p.disabled.Load():
		t.showError(w, errDisabled())
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: t.grants.newSession(p), Path: LoginPath, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	t.sendCode(w, r, q, back, p)
}

// signedIn returns the person of the browser's session, or nil.
func (t *Tenant) signedIn(r *http.Request) *person {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	objectID, ok := t.grants.session(c.Value)
	if !ok {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if p := t.personByID(objectID); p != nil && !p.disabled.Load() {
		return p
	}
	return nil
}

func (t *Tenant) sendCode(w http.ResponseWriter, r *http.Request, q url.Values, back reply, p *person) {
	code := t.grants.newCode(grant{
		person: p, client: q.Get("client_id"), redirectURI: back.to, scope: q.Get("scope"),
		nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), method: q.Get("code_challenge_method"),
	})
	back.send(w, r, url.Values{"code": {code}, "session_state": {uuid.NewString()}})
}

func (t *Tenant) sendBack(w http.ResponseWriter, r *http.Request, back reply, problem *entraError) {
	back.send(w, r, url.Values{
		"error":             {problem.code},
		"error_description": {problem.text(uuid.NewString(), uuid.NewString(), t.now())},
	})
}

// A reply is the way back to the client.
type reply struct {
	to, mode, state string
}

func (b reply) send(w http.ResponseWriter, r *http.Request, values url.Values) {
	if b.state != "" {
		values.Set("state", b.state)
	}
	noStore(w)
	switch b.mode {
	case "form_post":
		page(w, http.StatusOK, "back", struct {
			To     string
			Values url.Values
		}{b.to, values})
	case "fragment":
		http.Redirect(w, r, b.to+"#"+values.Encode(), http.StatusFound)
	default:
		joint := "?"
		if strings.Contains(b.to, "?") {
			joint = "&"
		}
		http.Redirect(w, r, b.to+joint+values.Encode(), http.StatusFound)
	}
}

// showPeople shows whom one may be; the one that the client hinted at is first.
func (t *Tenant) showPeople(w http.ResponseWriter, hint string) {
	people := t.People()
	slices.SortStableFunc(people, func(a, b Person) int {
		return rankOf(hint, a) - rankOf(hint, b)
	})
	noStore(w)
	page(w, http.StatusOK, "people", people)
}

func rankOf(hint string, p Person) int {
	if hint != "" && (strings.EqualFold(hint, p.UPN) || strings.EqualFold(hint, p.Email)) {
		return 0
	}
	return 1
}

func (t *Tenant) showError(w http.ResponseWriter, problem *entraError) {
	noStore(w)
	page(w, problem.status, "error", problem.text(uuid.NewString(), uuid.NewString(), t.now()))
}

// page writes one of the login pages, which work without script.
func page(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.WriteHeader(status)
	// An error here is a connection that is gone: nobody is left to be told.
	_ = pages.ExecuteTemplate(w, name, data)
}

var pages = template.Must(template.New("").Parse(`
{{- define "head" -}}
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sample tenant</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 3rem auto; padding: 0 1rem; color: #222; background: #fff }
button { font: inherit; text-align: left; width: 100%; padding: .6rem .9rem; margin: 0 0 .5rem; border: 1px solid #999; border-radius: .4rem; background: #fff; color: inherit; cursor: pointer }
button:hover, button:focus-visible { border-color: #0b57d0; outline: 2px solid #0b57d0 }
small { color: #595959; display: block; overflow-wrap: anywhere }
</style>
{{- end -}}

{{- define "people" -}}
{{template "head"}}
<main>
<h1>Pick a sample person</h1>
<p>This page stands in for Microsoft's sign-in. Nobody here is real, and there are no passwords.</p>
<form method="post">
{{range .}}<button name="person" value="{{.UPN}}">{{.Name}}<small>{{.UPN}} · {{.Title}}{{if .Disabled}} · disabled{{end}}{{if .Guest}} · guest{{end}}</small></button>
{{end}}<button name="cancel" value="1">Cancel</button>
</form>
</main>
{{- end -}}

{{- define "device" -}}
{{template "head"}}
<main>
<h1>Sign in a device</h1>
<p>This page stands in for Microsoft's. Enter the code that the device shows, and pick a sample person.</p>
<form method="post">
<p><label>Code <input name="code" value="{{.Code}}" autocomplete="off" required></label></p>
{{range .People}}<button name="person" value="{{.UPN}}">{{.Name}}<small>{{.UPN}} · {{.Title}}{{if .Disabled}} · disabled{{end}}{{if .Guest}} · guest{{end}}</small></button>
{{end}}<button name="cancel" value="1">Decline</button>
</form>
</main>
{{- end -}}

{{- define "done" -}}
{{template "head"}}
<main>
<h1>Done</h1>
<p>You may close this page and go back to the device.</p>
</main>
{{- end -}}

{{- define "accounts" -}}
{{template "head"}}
<main>
<h1>Pick a sample account</h1>
<p>This page stands in for the sign-in of {{.Name}}. Nobody here is real, and there are no passwords.</p>
<form method="post">
{{range .Accounts}}<button name="person" value="{{.Email}}">{{.Name}}<small>{{.Email}} · {{.Title}}{{if .Unverified}} · email not verified{{end}}</small></button>
{{end}}<button name="cancel" value="1">Cancel</button>
</form>
</main>
{{- end -}}

{{- define "front" -}}
{{template "head"}}
<main>
<h1>The sample tenant</h1>
<p>This address takes the place of Microsoft's services for an invented company. Nobody here is real, and there are no passwords.</p>
<p><a href="` + HomePath + `">Look at the company's reports</a>, as any of its people.</p>
<p>For programs:</p>
<ul>
<li>Microsoft Entra: <code>{{"` + LoginPath + `"}}</code></li>
<li>Microsoft Graph: <code>{{"` + GraphPath + `/v1.0"}}</code></li>
<li>Power BI: <code>{{"` + PowerBIPath + `/v1.0/myorg"}}</code></li>
<li>embeddings as OpenAI's: <code>{{"` + OpenAIPath + `/v1"}}</code></li>
<li>two more sign-in providers, Google and OpenID Connect: <code>{{"` + GooglePath + `"}}</code>, <code>{{"` + OpenIDPath + `"}}</code></li>
</ul>
<p>Who can sign in, there and in the programs that use it:</p>
<ul>
{{range .}}<li>{{.Name}}, {{.Title}}<small>{{.Email}}{{if .Disabled}} · disabled{{end}}{{if .Guest}} · guest{{end}}</small></li>
{{end}}</ul>
</main>
{{- end -}}

{{- define "back" -}}
{{template "head"}}
<main>
<h1>Signed in</h1>
<form method="post" action="{{.To}}">
{{range $name, $values := .Values}}{{range $values}}<input type="hidden" name="{{$name}}" value="{{.}}">
{{end}}{{end}}<button>Continue</button>
</form>
</main>
{{- end -}}

{{- define "out" -}}
{{template "head"}}
<main>
<h1>You signed out of your sample account</h1>
</main>
{{- end -}}

{{- define "error" -}}
{{template "head"}}
<main>
<h1>Sorry, signing in did not work</h1>
<p>{{.}}</p>
</main>
{{- end -}}
`))
