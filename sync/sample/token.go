package sample

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// groupsInToken is how many groups an id token carries at most; with more it
// says where to ask instead.
const groupsInToken = 200

// token is the token endpoint.
func (t *Tenant) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		entraErrorf(400, "invalid_request", 9002313, "Invalid request. Request is malformed or invalid.").write(w, t.now())
		return
	}
	kind := r.PostForm.Get("grant_type")
	var client string
	var problem *entraError
	if kind != deviceGrant { // which is that of public clients
		client, problem = clientOf(r)
	}
	if problem != nil {
		problem.write(w, t.now())
		return
	}
	var answer object
	switch kind {
	case "authorization_code":
		answer, problem = t.redeemCode(r, client)
	case "refresh_token":
		answer, problem = t.redeemRefresh(r, client)
	case "client_credentials":
		answer, problem = t.appToken(r, client)
	case deviceGrant:
		answer, problem = t.redeemDevice(r)
	case behalfGrant:
		answer, problem = t.onBehalf(r, client)
	case "":
		problem = entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'grant_type'.")
	default:
		problem = entraErrorf(400, "unsupported_grant_type", 70003, "The app requested an unsupported grant type '%s'.", kind)
	}
	if problem != nil {
		problem.write(w, t.now())
		return
	}
	noStore(w)
	writeJSON(w, http.StatusOK, answer)
}

// clientOf authenticates the client by its secret, in the body or by Basic.
func clientOf(r *http.Request) (string, *entraError) {
	client, given := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		// The parts of Basic are form-encoded (RFC 6749, 2.3.1).
		client, _ = url.QueryUnescape(user)
		given, _ = url.QueryUnescape(password)
	}
	want, ok := map[string]string{AppID: AppSecret, ScannerID: ScannerSecret}[client]
	switch {
	case client == "":
		return "", entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'client_id'.")
	case !ok:
		return "", errUnknownClient(client)
	case given == "":
		return "", entraErrorf(401, "invalid_client", 7000218,
			"The request body must contain the following parameter: 'client_assertion' or 'client_secret'.")
	case subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1:
		return "", entraErrorf(401, "invalid_client", 7000215,
			"Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '%s'.", client)
	}
	return client, nil
}

func (t *Tenant) redeemCode(r *http.Request, client string) (object, *entraError) {
	g, ok := t.grants.takeCode(r.PostForm.Get("code"))
	switch {
	case !ok || g.client != client:
		return nil, entraErrorf(400, "invalid_grant", 70008, "The provided authorization code or refresh token has expired due to inactivity.")
	case g.used:
		return nil, entraErrorf(400, "invalid_grant", 54005, "OAuth2 Authorization code was already redeemed, please retry with a new valid code or use an existing refresh token.")
	case g.redirectURI != r.PostForm.Get("redirect_uri"):
		return nil, entraErrorf(400, "invalid_grant", 500112, "The reply address '%s' does not match the reply address provided when requesting Authorization code.", r.PostForm.Get("redirect_uri"))
	case !fitsChallenge(g, r.PostForm.Get("code_verifier")):
		return nil, entraErrorf(400, "invalid_grant", 501481, "The Code_Verifier does not match the code_challenge supplied in the authorization request.")
	}
	return t.personTokens(r, g)
}

// fitsChallenge checks the proof key of a code (RFC 7636).
func fitsChallenge(g grant, verifier string) bool {
	switch {
	case g.challenge == "":
		return verifier == ""
	case g.method == "S256":
		sum := sha256.Sum256([]byte(verifier))
		return base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
	}
	return verifier == g.challenge
}

func (t *Tenant) redeemRefresh(r *http.Request, client string) (object, *entraError) {
	g, ok := t.grants.useRefresh(r.PostForm.Get("refresh_token"))
	if !ok || g.client != client {
		return nil, entraErrorf(400, "invalid_grant", 50173,
			"The provided grant has expired due to it being revoked, a fresh auth token is needed.")
	}
	g.nonce = ""
	return t.personTokens(r, g)
}

// personTokens makes the tokens of a grant for one resource: that of the scope
// that the request names, or else the first that the person was asked for.
func (t *Tenant) personTokens(r *http.Request, g grant) (object, *entraError) {
	if g.person.disabled.Load() {
		return nil, errDisabled()
	}
	asked, problem := t.parseScope(g.scope)
	if problem != nil {
		return nil, problem
	}
	wanted := asked
	if text := r.PostForm.Get("scope"); text != "" {
		if wanted, problem = t.parseScope(text); problem != nil {
			return nil, problem
		}
		if len(wanted.resources) > 1 {
			return nil, entraErrorf(400, "invalid_scope", 28000,
				"Provided value for the input parameter scope is not valid because it contains more than one resource.")
		}
	}
	resource := GraphAudience
	if len(wanted.resources) > 0 {
		resource = wanted.resources[0]
	}
	names := slices.Clone(wanted.names[resource])
	if resource == GraphAudience {
		for _, s := range asked.openID {
			if s != "offline_access" {
				names = append(names, s)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	access, life, err := t.accessToken(g, resource, names)
	if err != nil {
		return nil, entraErrorf(500, "server_error", 90033, "A transient error has occurred.")
	}
	answer := object{
		"token_type": "Bearer", "scope": strings.Join(qualified(resource, names), " "),
		"expires_in": life, "ext_expires_in": life, "access_token": access,
	}
	if asked.has("offline_access") {
		answer["refresh_token"] = t.grants.newRefresh(g)
	}
	if asked.has("openid") {
		if answer["id_token"], err = t.idToken(r, g, asked); err != nil {
			return nil, entraErrorf(500, "server_error", 90033, "A transient error has occurred.")
		}
	}
	return answer, nil
}

// qualified writes permissions as the answer of the token endpoint does: with
// their resource, Graph's without.
func qualified(resource string, names []string) []string {
	if resource == GraphAudience {
		return names
	}
	var out []string
	for _, n := range names {
		out = append(out, resource+"/"+n)
	}
	return out
}

// accessToken makes a version 1 token, which is what Graph and Power BI take.
func (t *Tenant) accessToken(g grant, resource string, names []string) (token string, seconds int, err error) {
	p, unique := g.person, uuid.New()
	life := tokenLife(unique[0])
	given, family := p.names()
	now := t.now()
	token, err = t.keys.sign(object{
		"aud": resource, "iss": "https://sts.windows.net/" + TenantID + "/",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(life).Unix(),
		"acr": "1", "amr": []string{"pwd"}, "appid": g.client, "appidacr": "1",
		"given_name": given, "family_name": family, "name": p.name, "ipaddr": "203.0.113.7",
		"oid": p.id, "sub": pairwise(p, resource), "tid": TenantID, "scp": strings.Join(names, " "),
		"unique_name": p.upn, "upn": p.upn, "uti": unique.String(), "ver": "1.0",
	})
	return token, int(life.Seconds()), err
}

// idToken makes a version 2 id token for the client.
func (t *Tenant) idToken(r *http.Request, g grant, asked scope) (string, error) {
	p, now := g.person, t.now()
	claims := object{
		"aud": g.client, "iss": t.issuer(r), "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(tokenLife(0)).Unix(),
		"oid": p.id, "sub": pairwise(p, g.client), "tid": TenantID, "uti": uuid.NewString(), "ver": "2.0",
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	if asked.has("profile") {
		claims["name"], claims["preferred_username"] = p.name, p.upn
		if p.guest.Load() {
			claims["preferred_username"] = p.mail // Entra shows guests the name that they know
		}
	}
	if asked.has("email") {
		claims["email"] = p.mail
		if !p.guest.Load() { // only the tenant's own domain has been shown to be the owner's
			claims["xms_edov"] = true
		}
	}
	t.mu.RLock()
	groups := t.groupsOf(p)
	t.mu.RUnlock()
	if len(groups) > groupsInToken {
		claims["_claim_names"] = object{"groups": "src1"}
		claims["_claim_sources"] = object{"src1": object{
			"endpoint": "https://graph.windows.net/" + TenantID + "/users/" + p.id + "/getMemberObjects",
		}}
	} else if len(groups) > 0 {
		ids := make([]string, len(groups))
		for i, grp := range groups {
			ids[i] = grp.id
		}
		claims["groups"] = ids
	}
	return t.keys.sign(claims)
}

// pairwise is the subject: other for each app, the same at every sign-in.
func pairwise(p *person, audience string) string {
	sum := sha256.Sum256([]byte(TenantID + p.id + audience))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// appToken makes a token for an app on its own behalf.
func (t *Tenant) appToken(r *http.Request, client string) (object, *entraError) {
	asked := r.PostForm.Get("scope")
	resource, ok := strings.CutSuffix(asked, "/.default")
	if !ok {
		return nil, entraErrorf(400, "invalid_scope", 1002012,
			"The provided value for scope %s is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).", asked)
	}
	if _, ok := consented[resource]; !ok {
		return nil, entraErrorf(400, "invalid_resource", 500011,
			"The resource principal named %s was not found in the tenant named Tarnwick Outfitters.", resource)
	}
	return t.tokenOfApp(client, resource)
}

func (t *Tenant) tokenOfApp(client, resource string) (object, *entraError) {
	now, unique := t.now(), uuid.New()
	life := tokenLife(unique[0])
	claims := object{
		"aud": resource, "iss": "https://sts.windows.net/" + TenantID + "/",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(life).Unix(),
		"appid": client, "appidacr": "1", "idp": "https://sts.windows.net/" + TenantID + "/", "idtyp": "app",
		"oid": id("service principal", client), "sub": id("service principal", client), "tid": TenantID,
		"uti": unique.String(), "ver": "1.0",
	}
	// Neither registration has an application permission to begin with.
	t.mu.RLock()
	if roles := t.permissions[client]; len(roles) > 0 {
		claims["roles"] = slices.Clone(roles)
	}
	t.mu.RUnlock()
	token, err := t.keys.sign(claims)
	if err != nil {
		return nil, entraErrorf(500, "server_error", 90033, "A transient error has occurred.")
	}
	return object{"token_type": "Bearer", "expires_in": int(life.Seconds()), "ext_expires_in": int(life.Seconds()), "access_token": token}, nil
}
