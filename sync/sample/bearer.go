package sample

import (
	"net/http"
	"strings"
	"time"
)

// A caller is whoever an access token speaks for: a person through an app, or an
// app on its own behalf.
type caller struct {
	person *person // nil for an app
	app    string
	scopes []string
	key    string // the object id, by which limits are counted too

	expires time.Time // of the token
}

// may reports whether the token has one of some permissions.
func (c caller) may(scopes ...string) bool {
	for _, want := range scopes {
		for _, have := range c.scopes {
			if have == want {
				return true
			}
		}
	}
	return false
}

// A tokenState says what is wrong with a request's token.
type tokenState int

const (
	tokenGood tokenState = iota
	tokenMissing
	tokenInvalid // not ours, or for another audience
	tokenExpired
)

// bearer reads the caller from a request's access token for an audience.
func (t *Tenant) bearer(r *http.Request, audience string) (caller, tokenState) {
	raw, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || raw == "" {
		return caller{}, tokenMissing
	}
	var claims struct {
		Audience string `json:"aud"`
		Issuer   string `json:"iss"`
		Tenant   string `json:"tid"`
		Object   string `json:"oid"`
		App      string `json:"appid"`
		Scopes   string `json:"scp"`
		Kind     string `json:"idtyp"`
		Version  string `json:"ver"`
		Expires  int64  `json:"exp"`
		From     int64  `json:"nbf"`
	}
	if err := t.keys.verify(raw, &claims); err != nil {
		return caller{}, tokenInvalid
	}
	now := t.now()
	switch {
	case claims.Audience != audience, claims.Tenant != TenantID, claims.Version != "1.0",
		claims.Issuer != "https://sts.windows.net/"+TenantID+"/", now.Before(time.Unix(claims.From, 0).Add(-5 * time.Minute)):
		return caller{}, tokenInvalid
	case now.After(time.Unix(claims.Expires, 0)):
		return caller{}, tokenExpired
	}
	c := caller{
		app: claims.App, scopes: strings.Fields(claims.Scopes), key: claims.Object, expires: time.Unix(claims.Expires, 0),
	}
	if claims.Kind == "app" {
		return c, tokenGood
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	c.person = t.personByID(claims.Object)
	if c.person == nil || c.person.disabled.Load() {
		return caller{}, tokenInvalid
	}
	return c, tokenGood
}
