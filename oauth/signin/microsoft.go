package signin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

const (
	microsoftCallback = "/api/auth/callback/microsoft"

	// bindingCookie ties a sign-in under way to the browser that started it. It
	// rides Entra's redirect, hence Lax.
	bindingCookie = "__Host-pbmb-sign-in"

	stateLife = 10 * time.Minute
)

// A MicrosoftApp is the app registration in the one tenant that may sign in.
type MicrosoftApp struct {
	Authority    string // such as https://login.microsoftonline.com
	TenantID     string
	ClientID     string
	ClientSecret string
}

func (a MicrosoftApp) issuer() string {
	return strings.TrimSuffix(a.Authority, "/") + "/" + strings.ToLower(a.TenantID) + "/v2.0"
}

// entraCache keeps what discovery found for the issuer that was asked last.
type entraCache struct {
	mu       sync.Mutex
	issuer   string
	provider *oidc.Provider
}

// discover reads the tenant's discovery document, which must name the issuer
// that was configured.
func (h *Handler) discover(ctx context.Context, app MicrosoftApp) (*oidc.Provider, error) {
	if _, err := uuid.Parse(app.TenantID); err != nil {
		return nil, errors.New("the tenant's id is not a uuid, and no other name stands for one tenant only")
	}
	h.entra.mu.Lock()
	defer h.entra.mu.Unlock()
	if h.entra.issuer == app.issuer() {
		return h.entra.provider, nil
	}
	// The provider goes on using the context's client to read keys, but must
	// not end with this request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), h.HTTP), app.issuer())
	if err != nil {
		return nil, fmt.Errorf("reading Entra's discovery document: %w", err)
	}
	h.entra.issuer, h.entra.provider = app.issuer(), provider
	return provider, nil
}

func (h *Handler) client(app MicrosoftApp, provider *oidc.Provider) *oauth2.Config {
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	if h.Groups != nil {
		scopes = append(scopes, "User.Read")
	}
	return &oauth2.Config{
		ClientID: app.ClientID, ClientSecret: app.ClientSecret, Endpoint: endpoint,
		RedirectURL: h.Site.URL(microsoftCallback), Scopes: scopes,
	}
}

func (h *Handler) startMicrosoft(w http.ResponseWriter, r *http.Request) {
	next := SafeNext(r.URL.Query().Get("next"))
	app, configured, err := h.Microsoft(r.Context())
	if err == nil && !configured {
		protocol.WriteProblem(w, http.StatusNotFound, "Signing in with Microsoft is not set up.")
		return
	}
	var provider *oidc.Provider
	if err == nil {
		provider, err = h.discover(r.Context(), app)
	}
	if err != nil {
		h.back(w, r, CodeUnavailable, next, err)
		return
	}

	now := h.Now()
	state, verifier := rand.Text()+rand.Text(), oauth2.GenerateVerifier()
	nonce := rand.Text()
	err = h.Store.SaveSignInState(r.Context(), store.Digest(state+"."+h.binding(w, r)), store.SignInState{
		Purpose: store.PurposeSignIn, Provider: store.Microsoft,
		Nonce: nonce, Verifier: verifier, Next: next, ExpiresAt: now.Add(stateLife),
	}, now)
	if err != nil {
		h.back(w, r, CodeUnavailable, next, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, h.client(app, provider).AuthCodeURL(state,
		oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("prompt", "select_account"),
		oauth2.SetAuthURLParam("response_mode", "query"),
	), http.StatusSeeOther)
}

// binding gives the browser's part of the state's key, the same for all tabs.
func (h *Handler) binding(w http.ResponseWriter, r *http.Request) string {
	value := rand.Text() + rand.Text()
	if c, err := r.Cookie(bindingCookie); err == nil && len(c.Value) == len(value) {
		value = c.Value
	}
	http.SetCookie(w, &http.Cookie{
		Name: bindingCookie, Value: value, Path: "/", MaxAge: int(stateLife.Seconds()),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	return value
}

func (h *Handler) finishMicrosoft(w http.ResponseWriter, r *http.Request) {
	query, err := protocol.SingleQuery(r.URL.RawQuery, "state", "code", "error")
	if err != nil {
		h.back(w, r, CodeRefused, "/", err)
		return
	}
	var binding string
	if c, err := r.Cookie(bindingCookie); err == nil {
		binding = c.Value
	}
	state, err := h.Store.TakeSignInState(r.Context(), store.Digest(query.Get("state")+"."+binding), h.Now())
	if err == nil && (state.Purpose != store.PurposeSignIn || state.Provider != store.Microsoft) {
		err = postgres.ErrNotFound
	}
	if errors.Is(err, postgres.ErrNotFound) {
		h.back(w, r, CodeExpired, "/", err)
		return
	} else if err != nil {
		h.back(w, r, CodeUnavailable, "/", err)
		return
	}
	if !query.Has("code") {
		h.back(w, r, CodeDenied, state.Next, errors.New("entra answered without a code"))
		return
	}
	identity, err := h.redeem(r.Context(), query.Get("code"), state)
	if err == nil {
		_, err = h.startSession(w, r, identity)
	}
	if err != nil {
		h.back(w, r, codeOf(err), state.Next, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, state.Next, http.StatusSeeOther)
}

var (
	// errUntrusted is returned for an answer of the provider that proves nothing.
	errUntrusted = errors.New("the provider's answer is not to be trusted")

	// errWrongTenant is returned for a genuine account of another tenant.
	errWrongTenant = errors.New("the account is of another tenant")
)

// redeem exchanges the code and gives what the ID token says.
func (h *Handler) redeem(ctx context.Context, code string, state *store.SignInState) (store.SignIn, error) {
	app, configured, err := h.Microsoft(ctx)
	if err != nil {
		return store.SignIn{}, err
	}
	if !configured {
		return store.SignIn{}, fmt.Errorf("%w: it is not set up any more", errUntrusted)
	}
	provider, err := h.discover(ctx, app)
	if err != nil {
		return store.SignIn{}, err
	}
	tokens, err := h.client(app, provider).Exchange(
		context.WithValue(ctx, oauth2.HTTPClient, h.HTTP), code, oauth2.VerifierOption(state.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < 500 {
		// Its text repeats the answer, which may hold tokens.
		return store.SignIn{}, fmt.Errorf("%w: the code was refused (%s)", errUntrusted, refused.ErrorCode)
	} else if err != nil {
		return store.SignIn{}, fmt.Errorf("redeeming Entra's code: %w", withoutAnswer(err))
	}
	raw, _ := tokens.Extra("id_token").(string)
	identity, err := h.identify(ctx, app, provider, raw, state.Nonce)
	if err != nil {
		return store.SignIn{}, err
	}
	if !identity.GroupsRead && h.Groups != nil {
		if ids, err := h.Groups.GroupIDs(ctx, tokens.AccessToken); err != nil {
			h.Log.WarnContext(ctx, "reading groups at a sign-in", "error", err) // those read before go on counting for their time
		} else {
			identity.GroupIDs, identity.GroupsRead = lowerAll(ids), true
		}
	}
	return identity, nil
}

func withoutAnswer(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New(refused.Response.Status)
	}
	return err
}

// claims are those of Entra's ID token that count.
type claims struct {
	TenantID          string          `json:"tid"`
	ObjectID          string          `json:"oid"`
	Name              string          `json:"name"`
	Email             string          `json:"email"`
	EmailOwner        json.RawMessage `json:"xms_edov"`
	PreferredUsername string          `json:"preferred_username"`
	Groups            []string        `json:"groups"`
}

// identify verifies an ID token, signature included although it came over TLS
// from the token endpoint (SIGNIN-08), and reads who it is about.
func (h *Handler) identify(ctx context.Context, app MicrosoftApp, provider *oidc.Provider, raw, nonce string) (store.SignIn, error) {
	verifier := provider.Verifier(&oidc.Config{
		ClientID: app.ClientID, SupportedSigningAlgs: []string{oidc.RS256, oidc.PS256, oidc.ES256}, Now: h.Now,
	})
	token, err := verifier.Verify(oidc.ClientContext(ctx, h.HTTP), raw)
	if err != nil {
		return store.SignIn{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if nonce == "" || token.Nonce != nonce {
		return store.SignIn{}, fmt.Errorf("%w: the nonce is another", errUntrusted)
	}
	if len(token.Audience) != 1 {
		return store.SignIn{}, fmt.Errorf("%w: the audience is not ours alone", errUntrusted)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return store.SignIn{}, fmt.Errorf("%w: %w", errUntrusted, err)
	}
	if !strings.EqualFold(c.TenantID, app.TenantID) {
		return store.SignIn{}, errWrongTenant
	}
	objectID, err := uuid.Parse(c.ObjectID)
	if err != nil {
		return store.SignIn{}, fmt.Errorf("%w: the object id is missing", errUntrusted)
	}
	email, ok := c.email()
	if !ok {
		return store.SignIn{}, errNoEmail
	}
	return store.SignIn{
		Provider: store.Microsoft, AccountID: objectID.String(), ObjectID: objectID.String(),
		Email: email, EmailVerified: true, VouchedDomain: domainOf(email), Name: c.Name,
		// Where there are too many groups the claim is absent, and Graph is asked.
		GroupIDs: lowerAll(c.Groups), GroupsRead: c.Groups != nil,
	}, nil
}

// email gives the email that counts (SIGNIN-11): Entra fills the claim from the
// directory's mail attribute, which anybody's admin may set to anything, unless
// it says that the domain's owner was verified.
func (c *claims) email() (string, bool) {
	if string(c.EmailOwner) == "true" {
		if email, ok := emailOf(c.Email); ok {
			return email, true
		}
	}
	if strings.Contains(strings.ToUpper(c.PreferredUsername), "#EXT#") {
		return "", false // the directory's own name for a guest, not their address
	}
	return emailOf(c.PreferredUsername)
}

func lowerAll(ids []string) []string {
	lower := make([]string, 0, len(ids))
	for _, id := range ids {
		if parsed, err := uuid.Parse(id); err == nil {
			lower = append(lower, parsed.String())
		}
	}
	return lower
}

func codeOf(err error) ErrorCode {
	switch {
	case errors.Is(err, store.ErrNoRole):
		return CodeNoRole
	case errors.Is(err, store.ErrDevAccount):
		return CodeDevAccount
	case errors.Is(err, errNoEmail):
		return CodeNoEmail
	case errors.Is(err, errWrongTenant):
		return CodeWrongTenant
	case errors.Is(err, errUntrusted):
		return CodeRefused
	}
	return CodeUnavailable
}

// back sends the browser to the sign-in page with what went wrong.
func (h *Handler) back(w http.ResponseWriter, r *http.Request, code ErrorCode, next string, cause error) {
	h.Log.WarnContext(r.Context(), "a sign-in was refused", "code", code, "error", cause)
	query := url.Values{"error": {string(code)}}
	if next != "/" {
		query.Set("next", next)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/sign-in?"+query.Encode(), http.StatusSeeOther)
}
