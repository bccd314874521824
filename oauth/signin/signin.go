package signin

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/store"
)

// An ErrorCode is what /sign-in?error=… may say. The page has a sentence of its
// own for each (SIGNIN-36).
type ErrorCode string

const (
	CodeNoRole      ErrorCode = "no_role"             // no role reaches the person
	CodeNoEmail     ErrorCode = "no_email"            // the provider vouches for no email
	CodeExpired     ErrorCode = "expired"             // the sign-in took too long, or came back twice or in another browser
	CodeDenied      ErrorCode = "access_denied"       // the person, or the provider, said no
	CodeWrongTenant ErrorCode = "wrong_tenant"        // the account is of another tenant
	CodeRefused     ErrorCode = "refused"             // the provider's answer is not to be trusted
	CodeUnavailable ErrorCode = "unavailable"         // the provider or the database could not be reached
	CodeDevAccount  ErrorCode = "dev_sign_in_account" // the account was made by the dev sign-in
)

// A Store keeps people, sessions and sign-ins under way.
type Store interface {
	// SignIn makes a session, or returns [store.ErrNoRole] or
	// [store.ErrDevAccount] and writes nothing.
	SignIn(ctx context.Context, in store.SignIn, s store.NewSession, opt store.SignInOptions) (*store.Caller, error)
	SaveSignInState(ctx context.Context, digest []byte, state store.SignInState, at time.Time) error
	// TakeSignInState returns [postgres.ErrNotFound] for a state that is
	// unknown, taken or expired.
	TakeSignInState(ctx context.Context, digest []byte, at time.Time) (*store.SignInState, error)
	// Account returns [postgres.ErrNotFound] where nobody is known by the account.
	Account(ctx context.Context, provider, accountID string) (*store.Account, error)
	MicrosoftAccountsOf(ctx context.Context, email string) ([]string, error)
	// Session returns [postgres.ErrNotFound] for an unknown or expired session.
	Session(ctx context.Context, digest []byte, at time.Time) (*store.Session, error)

	TrialStore
}

var _ Store = (*store.Store)(nil)

// Config is what the sign-in needs.
type Config struct {
	Site  protocol.Site
	Store Store

	// Providers gives those that are usable now, in the order in which people
	// choose.
	Providers func(ctx context.Context) ([]Provider, error)

	// Client gives the client for all requests to a provider, which sends them to
	// the provider's own addresses alone.
	Client func(Provider) (*http.Client, error)

	Groups GroupReader // optional: Microsoft's Graph
	Trials *Trials     // nil where no provider can be added

	Dev *Dev // nil where the dev sign-in is shut

	Passkeys bool // whether passkeys can be used on this site

	Address func(*http.Request) string // the client's, for the audit; may be nil

	Now func() time.Time
	Log *slog.Logger
}

// A GroupReader asks Graph for the groups of whoever an access token is of.
type GroupReader interface {
	GroupIDs(ctx context.Context, accessToken string) ([]string, error)
}

// Handler serves the sign-in.
type Handler struct {
	Config
	issuers issuers
}

// New returns the endpoints.
func New(c Config) *Handler { return &Handler{Config: c} }

// Routes lists them. The dev sign-in is among them only while it is open.
func (h *Handler) Routes() []protocol.Route {
	routes := []protocol.Route{{
		Method: http.MethodGet, Path: "/api/auth/config", Access: protocol.Anyone,
		Limit: protocol.AuthLimit, Handler: h.config,
	}}
	for _, kind := range []Kind{Microsoft, Google, OpenIDConnect} {
		routes = append(routes, protocol.Route{
			Method: http.MethodGet, Path: startPath(kind), Access: protocol.Anyone,
			Limit: protocol.PerMinute("sign_in_start", 60), Handler: h.start(kind),
		}, protocol.Route{
			Method: http.MethodGet, Path: callbackPath(kind), Access: protocol.Anyone,
			Limit: protocol.AuthLimit, Handler: h.finish(kind),
		})
	}
	if h.Dev != nil {
		routes = append(routes, protocol.Route{
			Method: http.MethodPost, Path: "/api/auth/dev-sign-in", Access: protocol.Anyone,
			Limit: protocol.AuthLimit, Handler: h.devSignIn,
		})
	}
	return routes
}

// A providerChoice is a way to sign in, as anybody may know it. It has no field
// for what only we may know (NET-11).
type providerChoice struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (h *Handler) config(w http.ResponseWriter, r *http.Request) {
	all, err := h.Providers(r.Context())
	if err != nil {
		unexpected.Log(r.Context(), h.Log, "reading the sign-in providers", err)
		protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
		return
	}
	providers, sample := []providerChoice{}, false
	for _, p := range all {
		providers = append(providers, providerChoice{ID: p.ID, Kind: string(p.Kind), Name: p.Name})
		sample = sample || p.Kind == Microsoft && IsMock(p.Issuer)
	}
	protocol.WriteJSON(w, http.StatusOK, struct {
		Providers  []providerChoice `json:"providers"`
		Passkeys   bool             `json:"passkeys"`
		DevSignIn  bool             `json:"dev_sign_in"`
		SampleData bool             `json:"sample_data"`
	}{providers, h.Passkeys, h.Dev != nil, sample})
}

// IsMock says whether an authority is the sample tenant's. The rule is closed:
// every host but the loopback interface's is a real authority (TENANT-17).
func IsMock(authority string) bool {
	u, err := url.Parse(authority)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "127.0.0.1" || host == "::1"
}

// startSession signs a person in and gives their browser the session.
func (h *Handler) startSession(w http.ResponseWriter, r *http.Request, in store.SignIn) (*store.Caller, error) {
	secret, now := rand.Text()+rand.Text(), h.Now()
	s := store.NewSession{Digest: store.Digest(secret), Provider: in.Provider, At: now, ExpiresAt: now.Add(session.Life)}
	if in.Vouching != "" {
		s.Provider = in.Vouching
	}
	opt := store.SignInOptions{RefuseDevAccounts: h.Dev == nil}
	if h.Address != nil {
		opt.Address = h.Address(r)
	}
	caller, err := h.Store.SignIn(r.Context(), in, s, opt)
	if err != nil {
		return nil, err
	}
	session.SetCookie(w, secret, s.ExpiresAt)
	return caller, nil
}

// SafeNext gives the page to go to after a sign-in: a path of this site, or "/"
// for anything else. Of the api only the authorization endpoint is a page.
func SafeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) ||
		strings.Contains(u.EscapedPath(), "%") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "/.") {
		return "/"
	}
	if strings.HasPrefix(u.Path, "/api/") && u.Path != authorize.Path {
		return "/"
	}
	return next
}

func domainOf(email string) string {
	return strings.ToLower(email[strings.LastIndexByte(email, '@')+1:])
}

var errNoEmail = errors.New("the provider vouches for no email")
