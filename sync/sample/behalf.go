package sample

import (
	"net/http"
	"time"
)

// behalfGrant is the grant type by which an API goes on on behalf of its caller.
const behalfGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// AppAudience is the API that the app registration itself is.
const AppAudience = "api://" + AppID

// onBehalf gives tokens for another resource to whoever was called with a token
// for itself.
func (t *Tenant) onBehalf(r *http.Request, client string) (object, *entraError) {
	if r.PostForm.Get("requested_token_use") != "on_behalf_of" {
		return nil, entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'requested_token_use'.")
	}
	if r.PostForm.Get("scope") == "" {
		return nil, entraErrorf(400, "invalid_request", 900144, "The request body must contain the following parameter: 'scope'.")
	}
	var claims struct {
		Audience string `json:"aud"`
		Object   string `json:"oid"`
		Kind     string `json:"idtyp"`
		Expires  int64  `json:"exp"`
	}
	if err := t.keys.verify(r.PostForm.Get("assertion"), &claims); err != nil {
		return nil, entraErrorf(400, "invalid_grant", 50013, "Assertion failed signature validation.")
	}
	t.mu.RLock()
	p := t.personByID(claims.Object)
	t.mu.RUnlock()
	switch {
	case claims.Audience != AppAudience || client != AppID:
		return nil, entraErrorf(400, "invalid_grant", 500131, "Assertion audience does not match the Client app presenting the assertion.")
	case t.now().After(time.Unix(claims.Expires, 0)):
		return nil, entraErrorf(400, "invalid_grant", 500133, "Assertion is not within its valid time range.")
	case claims.Kind == "app" || p == nil:
		return nil, entraErrorf(400, "invalid_grant", 50034, "The user account does not exist in the Tarnwick Outfitters directory.")
	}
	return t.personTokens(r, grant{person: p, client: client, scope: r.PostForm.Get("scope")})
}
