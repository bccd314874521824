package passkey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	webauthnprotocol "github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// An ErrorCode is why a passkey did not do. The screens have a sentence of their
// own for each (SIGNIN-36).
type ErrorCode string

const (
	CodeRefused     ErrorCode = "passkey_refused"     // unknown, or what came does not prove what it should; never which of them
	CodeCount       ErrorCode = "passkey_count"       // its count did not rise: there may be a copy
	CodeSignInDue   ErrorCode = "sign_in_due"         // no provider vouched for the person within 7 days
	CodeNoRole      ErrorCode = "no_role"             // no role reaches the person
	CodeDevAccount  ErrorCode = "dev_sign_in_account" // the account was made by the dev sign-in
	CodeExpired     ErrorCode = "expired"             // the ceremony took too long, was used before, or began elsewhere
	CodeExists      ErrorCode = "passkey_exists"      // somebody has this passkey
	CodeMany        ErrorCode = "passkey_many"        // the person has as many as they may
	CodeName        ErrorCode = "passkey_name"        // the name is empty or too long
	CodeUnavailable ErrorCode = "unavailable"         // the database could not be reached
)

// A Store keeps passkeys and ceremonies under way; see [store.Store].
type Store interface {
	SavePasskeyCeremony(ctx context.Context, digest []byte, c store.PasskeyCeremony, at time.Time) error
	TakePasskeyCeremony(ctx context.Context, digest []byte, purpose string, at time.Time) (*store.PasskeyCeremony, error)
	Passkeys(ctx context.Context, personID string) ([]store.Passkey, error)
	Passkey(ctx context.Context, credentialID []byte) (*store.Passkey, error)
	AddPasskey(ctx context.Context, by *policies.Principal, p store.Passkey) (id string, err error)
	RemovePasskey(ctx context.Context, by *policies.Principal, id string) error
	SignInByPasskey(ctx context.Context, use store.PasskeyUse, s store.NewSession, opt store.SignInOptions) (*store.Caller, error)
}

var _ Store = (*store.Store)(nil)

// A Sessions resolves a browser session; see [authn.Authn].
type Sessions interface {
	Session(r *http.Request) (*policies.Principal, error)
}

// Config is what passkeys need.
type Config struct {
	Site       protocol.Site
	Deployment string // what an authenticator shows beside the person's name
	Store      Store
	Sessions   Sessions

	DevSignIn bool // whether accounts of the dev sign-in may sign in

	Address func(*http.Request) string // the client's, for the audit; may be nil

	Now func() time.Time
	Log *slog.Logger
}

// Handlers serves passkeys.
type Handlers struct {
	Config
	relyingParty *webauthn.WebAuthn // nil where the site has no name
}

// New returns the endpoints. A passkey belongs to a name: on a site whose host is
// an address there are none.
func New(c Config) (*Handlers, error) {
	origin, err := url.Parse(c.Site.URL(""))
	if err != nil {
		return nil, fmt.Errorf("reading the site's address: %w", err)
	}
	h := &Handlers{Config: c}
	if webauthnprotocol.ValidateRPID(origin.Hostname()) != nil {
		return h, nil
	}
	timeout := webauthn.TimeoutConfig{Timeout: ceremonyLife}
	h.relyingParty, err = webauthn.New(&webauthn.Config{
		RPID: origin.Hostname(), RPDisplayName: c.Deployment, RPOrigins: []string{c.Site.URL("")},
		AuthenticatorSelection: webauthnprotocol.AuthenticatorSelection{
			ResidentKey: webauthnprotocol.ResidentKeyRequirementRequired, RequireResidentKey: webauthnprotocol.ResidentKeyRequired(),
			UserVerification: webauthnprotocol.VerificationRequired,
		},
		AttestationPreference: webauthnprotocol.PreferNoAttestation,
		Timeouts:              webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
		// Some password managers add outputs that nobody asked for. None is read.
		ExtensionsUnsolicitedOutputPolicy: webauthnprotocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up passkeys: %w", err)
	}
	return h, nil
}

// Usable reports whether this site can have passkeys at all.
func (h *Handlers) Usable() bool { return h.relyingParty != nil }

// Routes lists the endpoints, of which there are none where no passkey is usable.
func (h *Handlers) Routes() []protocol.Route {
	if !h.Usable() {
		return nil
	}
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: "/api/auth/sign-in/passkey/options", Access: protocol.Anyone,
			Limit: protocol.PerMinute("sign_in_start", 60), Handler: h.signInOptions,
		},
		{
			Method: http.MethodPost, Path: "/api/auth/sign-in/passkey", Access: protocol.Anyone,
			Limit: protocol.AuthLimit, Handler: h.signIn,
		},
		{
			Method: http.MethodGet, Path: "/api/auth/passkeys", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.own(h.list),
		},
		{
			Method: http.MethodPost, Path: "/api/auth/passkeys/options", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.own(h.registerOptions),
		},
		{
			Method: http.MethodPost, Path: "/api/auth/passkeys", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.own(h.register),
		},
		{
			Method: http.MethodDelete, Path: "/api/auth/passkeys", Access: protocol.WithSession,
			Limit: protocol.AuthLimit, Handler: h.own(h.remove),
		},
	}
}

// own gives a handler the person whose session it is, whether a role reaches
// them or not (SIGNIN-26).
func (h *Handlers) own(next func(http.ResponseWriter, *http.Request, *policies.Principal)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			protocol.WriteProblem(w, http.StatusUnauthorized, "Passkeys are kept from the browser that is signed in, not with a token.")
			return
		}
		p, err := h.Sessions.Session(r)
		switch {
		case errors.Is(err, authn.ErrUnauthenticated):
			protocol.WriteProblem(w, http.StatusUnauthorized, "Sign in first.")
			return
		case err != nil && !errors.Is(err, authn.ErrNoRole):
			h.refuse(w, r, err)
			return
		}
		p.Address = h.address(r)
		next(w, r, p)
	}
}

func (h *Handlers) address(r *http.Request) string {
	if h.Address == nil {
		return ""
	}
	return h.Address(r)
}

// refusals have, for each error that a caller can do something about, its code
// and its answer.
var refusals = []struct {
	err    error
	status int
	code   ErrorCode
	detail string
}{
	{errExpired, http.StatusBadRequest, CodeExpired, "This took too long or was used before. Start again."},
	{errMalformed, http.StatusBadRequest, CodeRefused, "The body must be JSON with what the browser's authenticator answered."},
	{errName, http.StatusBadRequest, CodeName, "A passkey needs a name of 1 to 60 characters, on one line."},
	{errUnproven, http.StatusForbidden, CodeRefused, "The passkey is not known here, or its answer does not prove that you unlocked it."},
	{store.ErrPasskeyCount, http.StatusForbidden, CodeCount, "The passkey may have been copied. Sign in through a provider, remove it and add a new one."},
	{store.ErrSignInDue, http.StatusForbidden, CodeSignInDue, "Sign in through a provider first: a passkey is good for 7 days after that."},
	{store.ErrNoRole, http.StatusForbidden, CodeNoRole, "No role reaches this person."},
	{store.ErrDevAccount, http.StatusForbidden, CodeDevAccount, "The account was made by the dev sign-in."},
	{postgres.ErrDuplicate, http.StatusConflict, CodeExists, "This passkey is kept already."},
	{store.ErrManyPasskeys, http.StatusConflict, CodeMany, fmt.Sprintf("You have %d passkeys, which is as many as there may be. Remove one first.", store.MaxPasskeys)},
}

// refuse answers for an error, of which the log has the cause.
func (h *Handlers) refuse(w http.ResponseWriter, r *http.Request, err error) {
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			unexpected.Refused(r.Context(), h.Log, "a passkey was refused", err, "code", string(known.code))
			protocol.WriteCodedProblem(w, known.status, string(known.code), known.detail)
			return
		}
	}
	unexpected.Log(r.Context(), h.Log, "passkey", err)
	protocol.WriteCodedProblem(w, http.StatusServiceUnavailable, string(CodeUnavailable), "The server cannot answer at the moment. Try again.")
}
