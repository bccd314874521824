// Package document reads Client ID Metadata Documents: a client whose id is an
// https address has its name and its redirect addresses in the document there.
// Whoever serves the document is the one thing about such a client that was
// checked. Clients that registered are package register's.
//
// The address is a stranger's choice, so a document is fetched by the untrusted
// profile of the guarded fetcher alone, only for a person who is signed in, for
// each of them a few times a minute, and once a day. Whatever is wrong, the answer is the same:
// why is for the log, since it would map our network for whoever chose the address.
package document

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/register"
	"github.com/pbmb/pbmb/oauth/store"
)

var (
	// ErrUnusable is returned for a client whose document could not be fetched or
	// is not in order.
	ErrUnusable = errors.New("the client's metadata document cannot be used")

	// ErrSignInFirst is returned where a document has to be fetched and nobody is
	// signed in who would be asked about it.
	ErrSignInFirst = errors.New("a metadata document is fetched for a person who is signed in")
)

const (
	maxAge          = 24 * time.Hour // of a copy (OAUTH-38)
	perMinute       = 10             // for one person
	maxID           = 500
	maxRedirectURIs = 50
)

// serverOnly are fields that say what only this server may say of a client
// (OAUTH-37). No client has a secret, so none may bring one either.
var serverOnly = []string{
	"client_secret", "client_secret_expires_at", "client_id_issued_at", "registration_access_token", "registration_client_uri",
	"id", "kind", "resource", "resources", "audience", "created_by", "created_at", "changed_at", "creator", "owner", "person_id", "user_id",
	"trusted", "first_party", "built_in", "skip_consent", "consent", "disabled", "roles", "vouched_host", "authorization_requested_at",
}

// Clients keeps clients.
type Clients interface {
	Client(ctx context.Context, id string) (*store.Client, error)
	SaveDocument(ctx context.Context, c *store.Client, document []byte) (*store.Client, error)
}

// A Limiter counts against a limit.
type Limiter interface {
	Allow(ctx context.Context, rule, subject string, perMinute int) (ok bool, retry time.Duration, err error)
}

// A Reader finds clients, and fetches documents for it.
type Reader struct {
	clients  Clients
	limits   Limiter
	http     *http.Client
	now      func() time.Time
	log      *slog.Logger
	fetching singleflight.Group
}

// New returns a Reader that fetches with a client of [fetch.NewUntrusted]. Where
// that is nil no client has a document, not even one that was read before.
func New(clients Clients, limits Limiter, untrusted *http.Client, now func() time.Time, log *slog.Logger) *Reader {
	return &Reader{clients: clients, limits: limits, http: untrusted, now: now, log: log}
}

// Client returns the client of an id, or [postgres.ErrNotFound]. A document that
// is not kept, or whose copy is a day old, is fetched for the person who is signed
// in; where personID is empty, it is [ErrSignInFirst]. One that cannot be used is
// [ErrUnusable], even if an older copy could be.
func (r *Reader) Client(ctx context.Context, id, personID string) (*store.Client, error) {
	if isAddress(id) && r.http == nil {
		return nil, fmt.Errorf("reading a client: %w", postgres.ErrNotFound)
	}
	kept, err := r.clients.Client(ctx, id)
	if !isAddress(id) || (err != nil && !errors.Is(err, postgres.ErrNotFound)) {
		return kept, err
	}
	if err == nil && r.now().Sub(kept.ChangedAt) < maxAge {
		return kept, nil
	}
	if personID == "" {
		return nil, ErrSignInFirst
	}
	found, err := r.once(ctx, id, personID)
	if errors.Is(err, ErrUnusable) {
		unexpected.Refused(ctx, r.log, "a client's metadata document was refused", err, "client", id)
		return nil, ErrUnusable
	}
	return found, err
}

// once reads a document, or waits for whoever reads it already.
func (r *Reader) once(ctx context.Context, id, personID string) (*store.Client, error) {
	ok, _, err := r.limits.Allow(ctx, "document", personID, perMinute)
	if err != nil {
		return nil, err
	} else if !ok {
		return nil, unusable(fmt.Errorf("one person has %d documents read in a minute", perMinute))
	}
	// Whoever else waits for it must not lose it with this request.
	found, err, _ := r.fetching.Do(id, func() (any, error) { return r.read(context.WithoutCancel(ctx), id) })
	if err != nil {
		return nil, err
	}
	return found.(*store.Client), nil
}

// isAddress tells an id that is an address from one that registration gave.
func isAddress(id string) bool { return strings.Contains(id, "://") }

// unusable is [ErrUnusable] with its reason, for the log.
func unusable(cause error) error {
	if u, ok := errors.AsType[*fetch.UntrustedError](cause); ok {
		cause = u.Cause // of which its own text says nothing
	}
	return fmt.Errorf("%w: %w", ErrUnusable, cause)
}

func (r *Reader) read(ctx context.Context, id string) (*store.Client, error) {
	if err := checkID(id); err != nil {
		return nil, unusable(err)
	}
	raw, err := r.fetch(ctx, id)
	if err != nil {
		return nil, unusable(err)
	}
	c, err := parse(id, raw)
	if err != nil {
		return nil, unusable(err)
	}
	c.CreatedAt = r.now()
	c.ChangedAt = c.CreatedAt
	return r.clients.SaveDocument(ctx, c, raw)
}

// checkID says whether an address may be a client's id: one that reads the same
// to a person, to the fetcher and to every other client.
func checkID(id string) error {
	if len(id) > maxID {
		return fmt.Errorf("the address has over %d characters", maxID)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '\\' {
			return errors.New("the address has characters that would have to be escaped")
		}
	}
	u, err := url.Parse(id)
	switch {
	case err != nil:
		return errors.New("the address does not parse")
	case u.Scheme != "https" || !strings.HasPrefix(id, "https://"):
		return errors.New("the address is not https")
	case u.Hostname() == "" || u.Host != strings.ToLower(u.Host) || strings.HasSuffix(u.Hostname(), "."):
		return errors.New("the address has no host in its usual form")
	case u.User != nil:
		return errors.New("the address has user information")
	case strings.Contains(id, "#"):
		return errors.New("the address has a fragment")
	case u.Path == "" || u.Path == "/":
		return errors.New("the address has no path")
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return errors.New("the address has dot segments")
		}
	}
	return nil
}

func (r *Reader) fetch(ctx context.Context, id string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "pbmb")
	response, err := r.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it was answered with %d", response.StatusCode)
	}
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || (mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json")) {
		return nil, errors.New("it is not JSON by its content type")
	}
	return io.ReadAll(response.Body)
}

// parse reads a document. Fields are found by their exact names: encoding/json
// would take any spelling of a struct's.
func parse(id string, raw []byte) (*store.Client, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, errors.New("it is not a JSON object")
	}
	for name := range fields {
		if slices.Contains(serverOnly, strings.ToLower(name)) {
			return nil, fmt.Errorf("it sets %s, which only the server may", strings.ToLower(name))
		}
	}
	var self, method string
	var grantTypes, responseTypes []string
	c := &store.Client{
		ID: id, Kind: store.MetadataDocument,
		GrantTypes: register.GrantTypes, Scopes: register.Scopes, Resource: protocol.ResourceMCP,
	}
	for name, into := range map[string]any{
		"client_id": &self, "client_name": &c.Name, "redirect_uris": &c.RedirectURIs, "token_endpoint_auth_method": &method,
		"grant_types": &grantTypes, "response_types": &responseTypes,
	} {
		if value, given := fields[name]; given {
			if err := json.Unmarshal(value, into); err != nil {
				return nil, fmt.Errorf("its %s has the wrong type", name)
			}
		}
	}
	switch n := len(c.RedirectURIs); {
	case self != id: // byte for byte (OAUTH-35)
		return nil, errors.New("it names another client_id, or none")
	case method != "" && method != "none":
		return nil, errors.New("its token_endpoint_auth_method is not none")
	case len(grantTypes) > 0 && !slices.Contains(grantTypes, "authorization_code"):
		return nil, errors.New("its grant_types leave out authorization_code")
	case len(responseTypes) > 0 && !slices.Contains(responseTypes, "code"):
		return nil, errors.New("its response_types leave out code")
	case n == 0 || n > maxRedirectURIs:
		return nil, fmt.Errorf("it has %d redirect_uris", n)
	}
	if err := protocol.CheckName(c.Name); err != nil {
		return nil, fmt.Errorf("its client_name is not taken: %w", err)
	}
	for _, uri := range c.RedirectURIs {
		if err := protocol.CheckRedirectURI(uri); err != nil {
			return nil, err
		}
	}
	return c, nil
}
