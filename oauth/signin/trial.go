package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

const (
	// trialPrefix marks the states of trials, which are bound to the admin's session
	// and not to a cookie of their own.
	trialPrefix = "trial-"

	// trialLife is how long an admin may take from the test sign-in to adding the
	// provider.
	trialLife = time.Hour

	// TrialPage is the screen that a trial ends at: with ?trial=ID after a success,
	// and ?error=CODE, an [ErrorCode], otherwise.
	TrialPage = "/admin/sign-in"
)

// Trials says how a provider is tried that is not added yet.
type Trials struct {
	Vault        Vault
	GoogleIssuer string // [GoogleIssuer], unless the sample tenant plays Google
	Relaxed      bool   // an issuer may be plain http
}

// A Vault seals for the api alone.
type Vault interface {
	Seal(plaintext []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// A TrialStore keeps providers that are tried; [store.Store] is one.
type TrialStore interface {
	StartTrial(ctx context.Context, personID string, p store.Provider, sealedSecret []byte, at, expires time.Time) (id string, err error)
	// Trial and SucceedTrial return [postgres.ErrNotFound] for a trial that is
	// unknown, taken or too old.
	Trial(ctx context.Context, id string, at time.Time) (*store.Trial, error)
	SucceedTrial(ctx context.Context, id, email string, at time.Time) error
}

// An InvalidError says what is wrong with a provider, in words for the admin.
type InvalidError struct{ Problem error }

func (e *InvalidError) Error() string { return e.Problem.Error() }

// ErrUnreachable is returned for a provider whose discovery document could not be
// had or does not fit. Why is in the log alone (FETCH-24).
var ErrUnreachable = errors.New("the provider could not be reached, or its discovery document does not fit")

// Try keeps a provider that an admin wants to add and returns the address at which
// they sign in through it once. by is in a browser session, to which the way back
// is bound.
func (h *Handler) Try(ctx context.Context, by *policies.Principal, p Provider, secret string) (trialID, address string, err error) {
	if p.Kind == Google {
		p.ID, p.Issuer = string(Google), h.Trials.GoogleIssuer
	}
	if err := p.CheckNew(h.Trials.GoogleIssuer, h.Trials.Relaxed); err != nil {
		return "", "", &InvalidError{err}
	}
	client, err := h.Client(p)
	if err == nil {
		_, err = h.discover(ctx, p, client)
	}
	if err != nil {
		h.note(ctx, "a sign-in provider cannot be tried", CodeUnavailable, err)
		return "", "", ErrUnreachable
	}
	sealed, err := h.Trials.Vault.Seal([]byte(secret))
	if err != nil {
		return "", "", fmt.Errorf("sealing a client secret: %w", err)
	}
	now := h.Now()
	trialID, err = h.Store.StartTrial(ctx, by.ID, store.Provider{
		ID: p.ID, Kind: string(p.Kind), Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID,
	}, sealed, now, now.Add(trialLife))
	if err != nil {
		return "", "", err
	}
	address, err = h.leave(ctx, p, func(state string) (string, string, store.SignInState) {
		state = trialPrefix + state
		return state, state + "." + by.Credential, store.SignInState{
			Purpose: store.PurposeTrial, Provider: trialID, SessionID: by.Credential, Next: TrialPage,
		}
	})
	return trialID, address, err
}

// finishTrial takes an admin who comes back from a provider that they try. Nobody
// is signed in by it.
func (h *Handler) finishTrial(w http.ResponseWriter, r *http.Request, kind Kind, a answer) {
	id, err := h.tryRedeem(r, kind, a)
	query := url.Values{"trial": {id}}
	if err != nil {
		code := codeOf(err)
		switch {
		case errors.Is(err, postgres.ErrNotFound):
			code = CodeExpired
		case errors.Is(err, errDenied):
			code = CodeDenied
		}
		h.note(r.Context(), "a trial of a sign-in provider failed", code, err)
		query = url.Values{"error": {string(code)}}
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, TrialPage+"?"+query.Encode(), http.StatusSeeOther)
}

// errDenied is returned for a way back without a code.
var errDenied = errors.New("the provider answered without a code")

func (h *Handler) tryRedeem(r *http.Request, kind Kind, a answer) (trialID string, err error) {
	ctx := r.Context()
	own, err := h.Store.Session(ctx, store.Digest(session.Secret(r)), h.Now())
	if err != nil {
		return "", err
	}
	state, err := h.Store.TakeSignInState(ctx, store.Digest(a.state+"."+own.ID), h.Now())
	if err != nil {
		return "", err
	}
	if state.Purpose != store.PurposeTrial || state.SessionID != own.ID {
		return "", postgres.ErrNotFound
	}
	trial, err := h.Store.Trial(ctx, state.Provider, h.Now())
	if err != nil {
		return "", err
	}
	p := Provider{
		ID: trial.Provider.ID, Kind: Kind(trial.Provider.Kind), Name: trial.Provider.Name,
		Issuer: trial.Provider.Issuer, ClientID: trial.Provider.ClientID,
		Secret: func(context.Context) (string, error) {
			secret, err := h.Trials.Vault.Open(trial.ClientSecret)
			return string(secret), err
		},
	}
	switch {
	case p.Kind != kind:
		return "", postgres.ErrNotFound
	case a.code == "":
		return "", errDenied
	}
	identity, err := h.redeem(ctx, p, a, state)
	if err != nil {
		return "", err
	}
	return trial.ID, h.Store.SucceedTrial(ctx, trial.ID, strings.ToLower(identity.Email), h.Now())
}
