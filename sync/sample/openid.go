package sample

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// An identityProvider is Google, or the OpenID Connect provider of the company:
// sign-in providers that have nothing to do with Microsoft.
type identityProvider struct {
	path, name       string
	clientID, secret string
	algorithm        jose.SignatureAlgorithm
	accounts         []account
	claims           func(account) object // beside those that every token has

	key func() (jose.JSONWebKey, error) // made when it is first needed

	tenant *Tenant

	mu    sync.Mutex // guards codes
	codes map[string]*openIDCode
}

// An account is one at an identity provider.
type account struct {
	Email, Name, Title string
	Unverified         bool // the email
	subject            string
	domain             string // the organisation that manages it, at Google
	groups             []string
}

// An openIDCode stands for what a person allowed a client.
type openIDCode struct {
	account                       account
	redirectURI, nonce, challenge string
	scopes                        []string
	expires                       time.Time
	used                          bool
}

// idTokenLife is how long an ID token of either is good.
const idTokenLife = time.Hour

func newKey(algorithm jose.SignatureAlgorithm) func() (jose.JSONWebKey, error) {
	return sync.OnceValues(func() (jose.JSONWebKey, error) {
		var key any
		var err error
		if algorithm == jose.ES256 {
			key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		} else {
			key, err = rsa.GenerateKey(rand.Reader, 2048)
		}
		return jose.JSONWebKey{Key: key, KeyID: strings.ToLower(rand.Text()), Algorithm: string(algorithm), Use: "sig"}, err
	})
}

// addIdentityProviders gives everybody of the company who is not gone an account
// at both, beside the accounts that the company's file has there.
func (t *Tenant) addIdentityProviders(c companyFile) {
	google := &identityProvider{
		path: GooglePath, name: "Google", clientID: GoogleClientID, secret: GoogleClientSecret, algorithm: jose.RS256,
		claims: func(a account) object {
			claims := object{"azp": GoogleClientID}
			if a.domain != "" {
				claims["hd"] = a.domain
			}
			return claims
		},
	}
	company := &identityProvider{
		path: OpenIDPath, name: c.Name, clientID: OpenIDClientID, secret: OpenIDClientSecret, algorithm: jose.ES256,
		claims: func(a account) object { return object{"groups": a.groups} },
	}
	for _, p := range t.people {
		if p.disabled.Load() {
			continue
		}
		own := account{Email: p.mail, Name: p.name, Title: p.title}
		own.subject, own.domain = googleSubject(p.mail), c.Domain
		if !p.guest.Load() {
			google.accounts = append(google.accounts, own)
		}
		own.subject, own.domain = "employee|"+p.id, ""
		for _, g := range t.groupsOf(p) {
			own.groups = append(own.groups, g.name)
		}
		own.groups = own.groups[:min(len(own.groups), groupsInToken)]
		company.accounts = append(company.accounts, own)
	}
	for _, f := range c.GoogleAccounts {
		google.accounts = append(google.accounts, account{subject: googleSubject(f.Email), Email: f.Email, Name: f.Name, Title: f.Title})
	}
	for _, f := range c.OpenIDAccounts {
		company.accounts = append(company.accounts, account{
			subject: "employee|" + id("openid account", f.Email), Email: f.Email, Name: f.Name, Title: f.Title, Unverified: f.Unverified,
		})
	}
	for _, p := range []*identityProvider{google, company} {
		p.tenant, p.key, p.codes = t, newKey(p.algorithm), map[string]*openIDCode{}
		t.identityProviders = append(t.identityProviders, p)
	}
}

// googleSubject is a number, as Google's are.
func googleSubject(email string) string {
	sum := sha256.Sum256([]byte("google/" + email))
	return fmt.Sprintf("1%020d", binary.BigEndian.Uint64(sum[:8]))
}

func (p *identityProvider) issuer(r *http.Request) string { return p.tenant.base(r) + p.path }

func (p *identityProvider) mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+p.path+"/.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET "+p.path+"/keys", p.keySet)
	mux.HandleFunc("GET "+p.path+"/authorize", p.authorize)
	mux.HandleFunc("POST "+p.path+"/authorize", p.authorize)
	mux.HandleFunc("POST "+p.path+"/token", p.token)
	mux.HandleFunc("GET "+p.path+"/userinfo", p.userInfo)
}

func (p *identityProvider) discovery(w http.ResponseWriter, r *http.Request) {
	issuer := p.issuer(r)
	writeJSON(w, http.StatusOK, object{
		"issuer":                                issuer,
		"authorization_endpoint":                issuer + "/authorize",
		"token_endpoint":                        issuer + "/token",
		"userinfo_endpoint":                     issuer + "/userinfo",
		"jwks_uri":                              issuer + "/keys",
		"response_types_supported":              []string{"code"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{string(p.algorithm)},
		"scopes_supported":                      []string{"openid", "email", "profile"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
		"code_challenge_methods_supported":      []string{"S256"},
		"claims_supported":                      []string{"aud", "email", "email_verified", "exp", "iat", "iss", "name", "sub"},
	})
}

func (p *identityProvider) keySet(w http.ResponseWriter, _ *http.Request) {
	key, err := p.key()
	if err != nil {
		http.Error(w, "no key", http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
}

// authorize is the page to pick an account on, and what is picked.
func (p *identityProvider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	scopes := strings.Fields(q.Get("scope"))
	back := reply{to: q.Get("redirect_uri"), state: q.Get("state")}
	switch {
	case q.Get("client_id") != p.clientID:
		p.showError(w, "No client has this id.")
		return
	case !p.tenant.registered(back.to):
		p.showError(w, "This redirect address is not registered for the client.")
		return
	case q.Get("response_type") != "code" || !slices.Contains(scopes, "openid"):
		back.send(w, r, url.Values{"error": {"invalid_request"}})
		return
	case q.Get("code_challenge") != "" && q.Get("code_challenge_method") != "S256":
		back.send(w, r, url.Values{"error": {"invalid_request"}})
		return
	case r.Method == http.MethodGet:
		noStore(w)
		page(w, http.StatusOK, "accounts", struct {
			Name     string
			Accounts []account
		}{p.name, p.accounts})
		return
	}
	if err := r.ParseForm(); err != nil {
		p.showError(w, "The form cannot be read.")
		return
	}
	if r.PostForm.Has("cancel") {
		back.send(w, r, url.Values{"error": {"access_denied"}})
		return
	}
	i := slices.IndexFunc(p.accounts, func(a account) bool { return strings.EqualFold(a.Email, r.PostForm.Get("person")) })
	if i < 0 {
		p.showError(w, "There is no such account.")
		return
	}
	code := secret()
	p.mu.Lock()
	p.codes[code] = &openIDCode{
		account: p.accounts[i], redirectURI: back.to, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"),
		scopes: scopes, expires: p.tenant.now().Add(codeLife),
	}
	p.mu.Unlock()
	back.send(w, r, url.Values{"code": {code}})
}

func (p *identityProvider) showError(w http.ResponseWriter, sentence string) {
	noStore(w)
	page(w, http.StatusBadRequest, "error", sentence)
}

// token redeems a code.
func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	refuse := func(status int, code string) {
		noStore(w)
		writeJSON(w, status, object{"error": code})
	}
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "invalid_request")
		return
	}
	client, given := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		client, _ = url.QueryUnescape(user)
		given, _ = url.QueryUnescape(password)
	}
	switch {
	case client != p.clientID, subtle.ConstantTimeCompare([]byte(given), []byte(p.secret)) != 1:
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	case r.PostForm.Get("grant_type") != "authorization_code":
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	p.mu.Lock()
	code := p.codes[r.PostForm.Get("code")]
	good := code != nil && !code.used && p.tenant.now().Before(code.expires) &&
		code.redirectURI == r.PostForm.Get("redirect_uri") &&
		fitsChallenge(grant{challenge: code.challenge, method: "S256"}, r.PostForm.Get("code_verifier"))
	if code != nil {
		code.used = true
	}
	p.mu.Unlock()
	if !good {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	idToken, err := p.sign(p.idClaims(r, code))
	if err != nil {
		refuse(http.StatusInternalServerError, "server_error")
		return
	}
	access, err := p.sign(p.accessClaims(r, code.account))
	if err != nil {
		refuse(http.StatusInternalServerError, "server_error")
		return
	}
	noStore(w)
	writeJSON(w, http.StatusOK, object{
		"token_type": "Bearer", "expires_in": int(idTokenLife.Seconds()), "scope": strings.Join(code.scopes, " "),
		"access_token": access, "id_token": idToken,
	})
}

func (p *identityProvider) idClaims(r *http.Request, code *openIDCode) object {
	now := p.tenant.now()
	claims := object{
		"iss": p.issuer(r), "aud": p.clientID, "sub": code.account.subject, "iat": now.Unix(), "exp": now.Add(idTokenLife).Unix(),
	}
	if code.nonce != "" {
		claims["nonce"] = code.nonce
	}
	for name, value := range p.profile(code.account, code.scopes) {
		claims[name] = value
	}
	return claims
}

// profile is what both the ID token and the userinfo endpoint say of an account.
func (p *identityProvider) profile(a account, scopes []string) object {
	claims := p.claims(a)
	if slices.Contains(scopes, "email") {
		claims["email"], claims["email_verified"] = a.Email, !a.Unverified
	}
	if slices.Contains(scopes, "profile") {
		claims["name"] = a.Name
	}
	return claims
}

// accessClaims are those of a token for the userinfo endpoint and nothing else.
func (p *identityProvider) accessClaims(r *http.Request, a account) object {
	now := p.tenant.now()
	return object{
		"iss": p.issuer(r), "aud": p.issuer(r) + "/userinfo", "sub": a.subject, "iat": now.Unix(), "exp": now.Add(idTokenLife).Unix(),
	}
}

func (p *identityProvider) userInfo(w http.ResponseWriter, r *http.Request) {
	a, ok := p.accountOf(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeJSON(w, http.StatusUnauthorized, object{"error": "invalid_token"})
		return
	}
	claims := p.profile(a, []string{"email", "profile"})
	claims["sub"] = a.subject
	writeJSON(w, http.StatusOK, claims)
}

func (p *identityProvider) accountOf(r *http.Request) (account, bool) {
	raw, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parsed, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{p.algorithm})
	if err != nil {
		return account{}, false
	}
	key, err := p.key()
	if err != nil {
		return account{}, false
	}
	var claims jwt.Claims
	if parsed.Claims(key.Public().Key, &claims) != nil || claims.Validate(jwt.Expected{
		Issuer: p.issuer(r), AnyAudience: jwt.Audience{p.issuer(r) + "/userinfo"}, Time: p.tenant.now(),
	}) != nil {
		return account{}, false
	}
	i := slices.IndexFunc(p.accounts, func(a account) bool { return a.subject == claims.Subject })
	if i < 0 {
		return account{}, false
	}
	return p.accounts[i], true
}

func (p *identityProvider) sign(claims object) (string, error) {
	key, err := p.key()
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: p.algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(map[string]any(claims)).Serialize()
}
