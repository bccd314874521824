// Package consent is where a person sees who wants to be let in, and says yes
// or no. The request was checked and signed when the browser was sent to the
// screen (package authorize); it is checked again here, since the client may
// have changed or gone meanwhile.
package consent

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// Path is the address of both endpoints.
const Path = "/api/v1/oauth/consent"

// Grants checks, allows and denies authorization requests; see [provider.Provider].
type Grants interface {
	Authorization(ctx context.Context, rawQuery, personID string) (*provider.Authorization, error)
	Allow(ctx context.Context, a *provider.Authorization, by *policies.Principal) (redirectTo string, err error)
	Deny(a *provider.Authorization) (redirectTo string)
}

// Sessions resolves a request by its browser session alone; see [authn.Authn].
type Sessions interface {
	Session(r *http.Request) (*policies.Principal, error)
}

// Handler serves the consent screen.
type Handler struct {
	grants   Grants
	sessions Sessions
	signer   *Signer
	log      *slog.Logger
}

// New returns the endpoints.
func New(grants Grants, sessions Sessions, signer *Signer, log *slog.Logger) *Handler {
	return &Handler{grants: grants, sessions: sessions, signer: signer, log: log}
}

// Routes lists them.
func (h *Handler) Routes() []protocol.Route {
	return []protocol.Route{
		{Method: http.MethodGet, Path: Path, Access: protocol.WithRole, Limit: protocol.AuthLimit, Handler: h.show},
		{Method: http.MethodPost, Path: Path, Access: protocol.WithRole, Limit: protocol.AuthLimit, Handler: h.answer},
	}
}

// What a client will be able to do, and what it will not. The lists are fixed:
// a request for any scope beyond these two is refused before.
var (
	can = []string{
		"Search and read what you can see here: datasets, measures, columns and the book about them.",
		"Run queries on datasets as you, with your own rights in Power BI.",
		"Stay connected for up to 30 days after its last use, until you end it.",
	}
	cannot = []string{
		"See personal data that you may not see yourself.",
		"Change the book, the rules on personal data or anybody's settings.",
		"See your Microsoft password or your tokens.",
		"Approve anything as a person, or change who may do what.",
		"Let other programs in.",
	}
)

type screen struct {
	Person      person     `json:"person"`
	ClientID    string     `json:"client_id"`
	ClaimedName string     `json:"claimed_name"`
	Registered  registered `json:"registered"`
	VouchedHost string     `json:"vouched_host,omitempty"`
	Redirect    redirect   `json:"redirect"`
	Can         []string   `json:"can"`
	Cannot      []string   `json:"cannot"`
}

type person struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

type registered struct {
	Kind store.ClientKind `json:"kind"`
	At   time.Time        `json:"at"`
}

type redirect struct {
	Scheme   string `json:"scheme"`
	Host     string `json:"host"` // empty for a scheme of an app's own
	Loopback bool   `json:"loopback"`
}

func (h *Handler) show(w http.ResponseWriter, r *http.Request) {
	p, a, ok := h.request(w, r, r.URL.RawQuery)
	if !ok {
		return
	}
	protocol.WriteJSON(w, http.StatusOK, screen{
		Person:      person{Email: p.Email, Name: p.Name},
		ClientID:    a.Client.ID,
		ClaimedName: a.Client.Name,
		Registered:  registered{Kind: a.Client.Kind, At: a.Client.CreatedAt},
		VouchedHost: vouchedHost(a.Client),
		Redirect:    describeRedirect(a.RedirectURI),
		Can:         can,
		Cannot:      cannot,
	})
}

// vouchedHost is the host that serves a client's metadata document: the one
// fact about a client that was checked.
func vouchedHost(c *store.Client) string {
	if c.Kind != store.MetadataDocument {
		return ""
	}
	u, err := url.Parse(c.ID)
	if err != nil {
		return ""
	}
	return u.Host
}

func describeRedirect(uri string) redirect {
	u, err := url.Parse(uri)
	if err != nil {
		return redirect{}
	}
	d := redirect{Scheme: u.Scheme, Loopback: protocol.IsLoopbackRedirect(uri)}
	if u.Scheme == "https" || u.Scheme == "http" {
		d.Host = u.Host
	}
	return d
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	var answer struct {
		Query string `json:"query"`
		Allow *bool  `json:"allow"`
	}
	if err := protocol.ReadJSON(w, r, &answer); err != nil || answer.Allow == nil {
		protocol.WriteProblem(w, http.StatusBadRequest, `The body must be JSON with the fields "query" and "allow".`)
		return
	}
	p, a, ok := h.request(w, r, answer.Query)
	if !ok {
		return
	}
	redirectTo := h.grants.Deny(a)
	if *answer.Allow {
		var err error
		if redirectTo, err = h.grants.Allow(r.Context(), a, p); err != nil {
			h.unavailable(w, r, err)
			return
		}
	}
	h.log.InfoContext(r.Context(), "consent answered", "person", p.ID, "client", a.Client.ID, "allow", *answer.Allow)
	protocol.WriteJSON(w, http.StatusOK, map[string]string{"redirect_to": redirectTo})
}

// request resolves who asks about which authorization, or answers for it.
func (h *Handler) request(w http.ResponseWriter, r *http.Request, query string) (*policies.Principal, *provider.Authorization, bool) {
	p, refusal := authn.Person(r, h.sessions)
	if refusal != nil {
		if refusal.Cause != nil {
			unexpected.Log(r.Context(), h.log, "consent", refusal.Cause)
		}
		protocol.WriteProblem(w, refusal.Status, refusal.Detail)
		return nil, nil, false
	}
	rawQuery, err := h.signer.Verify(query, p.ID)
	if err != nil {
		protocol.WriteProblem(w, http.StatusBadRequest, "The request is not signed, was changed or has expired. Start again from the program.")
		return nil, nil, false
	}
	a, err := h.grants.Authorization(r.Context(), rawQuery, p.ID)
	if errors.Is(err, protocol.ErrUnavailable) {
		h.unavailable(w, r, err)
		return nil, nil, false
	} else if err != nil {
		protocol.WriteProblem(w, http.StatusBadRequest, "The program or its request is no longer valid. Start again from the program.")
		return nil, nil, false
	}
	return p, a, true
}

func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, protocol.ErrUnavailable) && !errors.Is(err, protocol.ErrServer) { // which are logged already
		unexpected.Log(r.Context(), h.log, "consent", err)
	}
	protocol.WriteProblem(w, http.StatusServiceUnavailable, "The server cannot answer at the moment. Try again.")
}
