package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/pbmb/pbmb/internal/fetch"
)

// discoveryLife is how long a discovery document is taken for what it was.
const discoveryLife = time.Hour

// errEndpoint is returned, wrapped, for a provider one of whose endpoints lies
// elsewhere than the provider itself (FETCH-19).
var errEndpoint = errors.New("an endpoint is not at the provider's own origin")

// An issuer is what a provider's discovery document says.
type issuer struct {
	endpoint oauth2.Endpoint
	keys     string // where its keys are
	names    bool   // whether its answers name it (RFC 9207)
	until    time.Time
}

// issuers keeps what was discovered. One that does not answer holds up nobody
// who signs in elsewhere.
type issuers struct {
	asking singleflight.Group

	mu    sync.Mutex // guards found
	found map[string]issuer
}

// discover reads a provider's discovery document, which must name the issuer that
// was configured.
func (h *Handler) discover(ctx context.Context, p Provider, client *http.Client) (issuer, error) {
	key := string(p.Kind) + " " + p.Issuer
	h.issuers.mu.Lock()
	known, ok := h.issuers.found[key]
	h.issuers.mu.Unlock()
	if ok && h.Now().Before(known.until) {
		return known, nil
	}
	found, err, _ := h.issuers.asking.Do(key, func() (any, error) {
		// Whoever asks at the same time waits for the answer too, and must not lose
		// it because this request ends.
		i, err := readDiscovery(context.WithoutCancel(ctx), p, client)
		if err != nil {
			return issuer{}, err
		}
		now := h.Now()
		i.until = now.Add(discoveryLife)
		h.issuers.mu.Lock()
		defer h.issuers.mu.Unlock()
		for key, old := range h.issuers.found {
			if !now.Before(old.until) {
				delete(h.issuers.found, key)
			}
		}
		if h.issuers.found == nil {
			h.issuers.found = map[string]issuer{}
		}
		h.issuers.found[key] = i
		return i, nil
	})
	return found.(issuer), err
}

func readDiscovery(ctx context.Context, p Provider, client *http.Client) (issuer, error) {
	if p.Kind == Microsoft {
		if _, err := uuid.Parse(p.TenantID); err != nil {
			return issuer{}, errors.New("the tenant's id is not a uuid, and no other name stands for one tenant only")
		}
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), p.Issuer)
	if err != nil {
		return issuer{}, fmt.Errorf("reading the discovery document of %s: %w", p.ID, err)
	}
	var document struct {
		Keys        string   `json:"jwks_uri"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&document); err != nil {
		return issuer{}, fmt.Errorf("reading the discovery document of %s: %w", p.ID, err)
	}
	endpoint := provider.Endpoint()
	for _, address := range []string{endpoint.AuthURL, endpoint.TokenURL, document.Keys} {
		if !slices.ContainsFunc(p.Addresses(), func(own string) bool { return fetch.SameOrigin(own, address) }) {
			return issuer{}, fmt.Errorf("the discovery document of %s: %w", p.ID, errEndpoint)
		}
	}
	// A guess that is wrong would spend the code: the document decides.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if slices.Contains(document.AuthMethods, "client_secret_post") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return issuer{endpoint: endpoint, keys: document.Keys, names: document.NamesItself}, nil
}
