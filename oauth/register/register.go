// Package register is dynamic client registration (RFC 7591). Anybody may
// register, so a registration gives nothing but an id: a client gets in when a
// person allows it, and no earlier. It reads no cookie, keeps only what the
// product needs, and no client has a secret.
package register

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/store"
)

// Path is the endpoint's address on the site.
const Path = "/api/auth/oauth2/register"

const (
	maxBody         = 16 << 10
	maxRedirectURIs = 10
)

// Fields that would make the server send requests to addresses of the client's
// choice (OAUTH-40).
var refusedFields = []string{
	"jwks_uri", "post_logout_redirect_uris", "backchannel_logout_uri", "backchannel_logout_session_required",
}

// What every client may do that came by itself, whether it registered or has a
// metadata document.
var (
	GrantTypes    = []string{"authorization_code", "refresh_token"}
	ResponseTypes = []string{"code"}
	Scopes        = []string{protocol.ScopeMCP, protocol.OfflineAccess}
)

// Clients keeps clients.
type Clients interface {
	CreateClient(ctx context.Context, c *store.Client) error
}

// Handler serves registration.
type Handler struct {
	clients Clients
	now     func() time.Time
	log     *slog.Logger
}

// New returns the endpoint.
func New(clients Clients, now func() time.Time, log *slog.Logger) *Handler {
	return &Handler{clients: clients, now: now, log: log}
}

// Routes lists it.
func (h *Handler) Routes() []protocol.Route {
	return []protocol.Route{{
		Method: http.MethodPost, Path: Path, Access: protocol.Anyone, AnyOrigin: true,
		Limit: protocol.PerMinute("register", 10), Handler: h.register,
	}}
}

// request is the part of a registration that means something here. Other fields
// are left out of the answer, which tells the client so (RFC 7591 section 2).
type request struct {
	Name          string   `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

type response struct {
	ClientID        string   `json:"client_id"`
	IssuedAt        int64    `json:"client_id_issued_at"`
	Name            string   `json:"client_name,omitempty"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Scope           string   `json:"scope"`
	TokenAuthMethod string   `json:"token_endpoint_auth_method"`
}

func (h *Handler) register(w http.ResponseWriter, r *http.Request) {
	in, err := read(w, r)
	if err == nil {
		err = check(in)
	}
	if err != nil {
		protocol.WriteError(w, err)
		return
	}
	client := &store.Client{
		ID: "client_" + rand.Text(), Kind: store.Registered, Name: in.Name, RedirectURIs: in.RedirectURIs,
		GrantTypes: GrantTypes, Scopes: Scopes, Resource: protocol.ResourceMCP, CreatedAt: h.now(),
	}
	if err := h.clients.CreateClient(r.Context(), client); err != nil {
		unexpected.Log(r.Context(), h.log, "registering a client", err)
		protocol.WriteError(w, protocol.ErrUnavailable)
		return
	}
	protocol.WriteJSON(w, http.StatusCreated, response{
		ClientID: client.ID, IssuedAt: client.CreatedAt.Unix(), Name: client.Name, RedirectURIs: client.RedirectURIs,
		GrantTypes: GrantTypes, ResponseTypes: ResponseTypes, Scope: strings.Join(Scopes, " "),
		TokenAuthMethod: "none",
	})
}

// invalid is invalid_client_metadata (RFC 7591 section 3.2.2).
func invalid(description string) error {
	return &protocol.Error{Code: "invalid_client_metadata", Description: description, Status: http.StatusBadRequest}
}

func read(w http.ResponseWriter, r *http.Request) (*request, error) {
	// JSON only: neither a form nor, without a preflight that is never granted,
	// a foreign page can send it (OAUTH-42).
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return nil, invalid("The body must be application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, invalid("The body is too large or could not be read.")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, invalid("The body must be a JSON object.")
	}
	for _, name := range refusedFields {
		if _, given := fields[name]; given {
			return nil, invalid("The field " + name + " is not taken.")
		}
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, invalid("A field has the wrong type.")
	}
	return &in, nil
}

func check(in *request) error {
	if err := protocol.CheckName(in.Name); err != nil {
		return invalid("The name is not taken: " + err.Error() + ".")
	}
	if n := len(in.RedirectURIs); n == 0 || n > maxRedirectURIs {
		return invalidRedirect("There must be 1 to 10 redirect URIs.")
	}
	for _, uri := range in.RedirectURIs {
		if err := protocol.CheckRedirectURI(uri); err != nil {
			return invalidRedirect("A redirect URI is not taken: " + err.Error() + ".")
		}
	}
	if len(in.GrantTypes) > 0 && !slices.Contains(in.GrantTypes, "authorization_code") {
		return invalid("The grant type authorization_code must be among those asked for.")
	}
	if len(in.ResponseTypes) > 0 && !slices.Contains(in.ResponseTypes, "code") {
		return invalid("The response type code must be among those asked for.")
	}
	return nil
}

func invalidRedirect(description string) error {
	return &protocol.Error{Code: "invalid_redirect_uri", Description: description, Status: http.StatusBadRequest}
}
