package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

const (
	// bindingCookie ties a sign-in under way to the browser that started it. It
	// rides the provider's redirect, hence Lax.
	bindingCookie = "__Host-pbmb-sign-in"

	stateLife = 10 * time.Minute
)

var (
	// errUntrusted is returned for an answer of the provider that proves nothing.
	errUntrusted = errors.New("the provider's answer is not to be trusted")

	// errNoProvider is returned for a provider that is not configured.
	errNoProvider = errors.New("no such provider is configured")
)

// provider finds a provider by its kind and id, as it is configured now.
func (h *Handler) provider(ctx context.Context, kind Kind, id string) (Provider, error) {
	all, err := h.Providers(ctx)
	if err != nil {
		return Provider{}, fmt.Errorf("reading the sign-in providers: %w", err)
	}
	i := slices.IndexFunc(all, func(p Provider) bool { return p.Kind == kind && p.ID == id })
	if i < 0 {
		return Provider{}, errNoProvider
	}
	return all[i], nil
}

// start sends a browser to a provider of a kind. Of OpenID Connect there may be
// several, and the query says which.
func (h *Handler) start(kind Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		next, id := SafeNext(r.URL.Query().Get("next")), string(kind)
		if kind == OpenIDConnect {
			id = r.URL.Query().Get("provider")
		}
		p, err := h.provider(r.Context(), kind, id)
		if errors.Is(err, errNoProvider) {
			protocol.WriteProblem(w, http.StatusNotFound, "This way to sign in is not set up.")
			return
		}
		var address string
		if err == nil {
			address, err = h.leave(r.Context(), p, func(state string) (string, string, store.SignInState) {
				return state, state + "." + h.binding(w, r), store.SignInState{Purpose: store.PurposeSignIn, Provider: p.ID, Next: next}
			})
		}
		if err != nil {
			h.back(w, r, CodeUnavailable, next, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, address, http.StatusSeeOther)
	}
}

// leave keeps the state of a sign-in that begins and returns the provider's
// address to go to. keep is given something random, and gives the state that
// goes with the browser, what it is known by when it comes back, and what it is for.
func (h *Handler) leave(ctx context.Context, p Provider, keep func(random string) (state, key string, s store.SignInState)) (string, error) {
	client, err := h.Client(p)
	if err != nil {
		return "", err
	}
	i, err := h.discover(ctx, p, client)
	if err != nil {
		return "", err
	}
	now := h.Now()
	state, key, s := keep(rand.Text() + rand.Text())
	s.Nonce, s.Verifier, s.ExpiresAt = rand.Text(), oauth2.GenerateVerifier(), now.Add(stateLife)
	if err := h.Store.SaveSignInState(ctx, store.Digest(key), s, now); err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)}
	if p.Kind != OpenIDConnect { // not every provider knows it
		options = append(options, oauth2.SetAuthURLParam("prompt", "select_account"))
	}
	if p.Kind == Microsoft {
		options = append(options, oauth2.SetAuthURLParam("response_mode", "query"))
	}
	return h.client(p, i, "").AuthCodeURL(state, options...), nil
}

func (h *Handler) client(p Provider, i issuer, secret string) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	if p.Kind == Microsoft && h.Groups != nil {
		scopes = append(scopes, "User.Read")
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: secret, Endpoint: i.endpoint, RedirectURL: h.Site.URL(p.Callback()), Scopes: scopes,
	}
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

// An answer is what a provider sends a browser back with.
type answer struct{ state, code, issuer string }

// finish takes a browser that comes back from a provider of a kind.
func (h *Handler) finish(kind Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := protocol.SingleQuery(r.URL.RawQuery, "state", "code", "error", "iss")
		if err != nil {
			h.back(w, r, CodeRefused, "/", err)
			return
		}
		a := answer{state: query.Get("state"), code: query.Get("code"), issuer: query.Get("iss")}
		if h.Trials != nil && strings.HasPrefix(a.state, trialPrefix) {
			h.finishTrial(w, r, kind, a)
			return
		}
		state, err := h.takeState(r, kind, a.state)
		if errors.Is(err, postgres.ErrNotFound) {
			h.back(w, r, CodeExpired, "/", err)
			return
		} else if err != nil {
			h.back(w, r, CodeUnavailable, "/", err)
			return
		}
		if a.code == "" {
			h.back(w, r, CodeDenied, state.Next, errDenied)
			return
		}
		p, err := h.provider(r.Context(), kind, state.Provider)
		if errors.Is(err, errNoProvider) {
			err = fmt.Errorf("%w: %w", errUntrusted, err) // it was taken away meanwhile
		}
		var identity store.SignIn
		if err == nil {
			identity, err = h.redeem(r.Context(), p, a, state)
		}
		if err == nil {
			err = h.stands(r.Context(), p)
		}
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
}

// stands returns [errUntrusted] for a provider that is not what it was any more: it
// answers as slowly as it likes, and may be taken away while we wait for it.
func (h *Handler) stands(ctx context.Context, p Provider) error {
	now, err := h.provider(ctx, p.Kind, p.ID)
	if errors.Is(err, errNoProvider) || err == nil && (now.Issuer != p.Issuer || now.ClientID != p.ClientID) {
		return fmt.Errorf("%w: the provider was taken away meanwhile", errUntrusted)
	}
	return err
}

// takeState takes the state that this browser left with, if it did so for a
// sign-in through a provider of this kind.
func (h *Handler) takeState(r *http.Request, kind Kind, value string) (*store.SignInState, error) {
	var binding string
	if c, err := r.Cookie(bindingCookie); err == nil {
		binding = c.Value
	}
	state, err := h.Store.TakeSignInState(r.Context(), store.Digest(value+"."+binding), h.Now())
	switch {
	case err != nil:
		return nil, err
	case state.Purpose != store.PurposeSignIn, (kind == OpenIDConnect) == slices.Contains(reserved, state.Provider),
		kind != OpenIDConnect && state.Provider != string(kind):
		return nil, postgres.ErrNotFound
	}
	return state, nil
}

// redeem exchanges the code and gives what the ID token says.
func (h *Handler) redeem(ctx context.Context, p Provider, a answer, state *store.SignInState) (store.SignIn, error) {
	client, err := h.Client(p)
	if err != nil {
		return store.SignIn{}, err
	}
	i, err := h.discover(ctx, p, client)
	if err != nil {
		return store.SignIn{}, err
	}
	if a.issuer != "" && a.issuer != p.Issuer || a.issuer == "" && i.names {
		return store.SignIn{}, fmt.Errorf("%w: the answer is another issuer's", errUntrusted)
	}
	secret, err := p.Secret(ctx)
	if err != nil {
		return store.SignIn{}, fmt.Errorf("opening the client secret of %s: %w", p.ID, err)
	}
	tokens, err := h.client(p, i, secret).Exchange(
		context.WithValue(ctx, oauth2.HTTPClient, client), a.code, oauth2.VerifierOption(state.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < 500 {
		// Its text repeats the answer, which may hold tokens.
		return store.SignIn{}, fmt.Errorf("%w: the code was refused (%.40q)", errUntrusted, refused.ErrorCode)
	} else if err != nil {
		return store.SignIn{}, fmt.Errorf("redeeming a code of %s: %w", p.ID, withoutAnswer(err))
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := h.verify(ctx, p, i, client, raw, state.Nonce)
	if err != nil {
		return store.SignIn{}, err
	}
	identity, err := identify(p, token)
	if err != nil || p.Kind != Microsoft || identity.GroupsRead || h.Groups == nil {
		return identity, err
	}
	if ids, err := h.Groups.GroupIDs(ctx, tokens.AccessToken); err != nil {
		unexpected.Log(ctx, h.Log, "reading groups at a sign-in", err) // those read before go on counting for their time
	} else {
		identity.GroupIDs, identity.GroupsRead = lowerAll(ids), true
	}
	return identity, nil
}

// identify reads who a verified ID token is about.
func identify(p Provider, token *oidc.IDToken) (store.SignIn, error) {
	switch p.Kind {
	case Microsoft:
		return identifyMicrosoft(p, token)
	case Google:
		return identifyGoogle(p, token)
	}
	return identifyOpenID(p, token)
}

func withoutAnswer(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New(refused.Response.Status)
	}
	return err
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
	h.note(r.Context(), "a sign-in was refused", code, cause)
	query := url.Values{"error": {string(code)}}
	if next != "/" {
		query.Set("next", next)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/sign-in?"+query.Encode(), http.StatusSeeOther)
}

// note logs why a sign-in failed.
func (h *Handler) note(ctx context.Context, what string, code ErrorCode, cause error) {
	if code == CodeUnavailable {
		unexpected.Log(ctx, h.Log, what, brief{cause}, "code", code)
	} else {
		unexpected.Refused(ctx, h.Log, what, brief{cause}, "code", code)
	}
}

// A brief error is the start of one: a library's may repeat a whole page that
// somebody else wrote.
type brief struct{ error }

func (b brief) Error() string { return fmt.Sprintf("%.400s", b.error.Error()) }
func (b brief) Unwrap() error { return b.error }
