package authn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// ErrInvalidKey is returned for an API key that is unknown or no longer counts, or
// that is used from where it may not be. It is an [ErrInvalidToken].
var ErrInvalidKey = fmt.Errorf("%w: the API key is not valid", ErrInvalidToken)

// A RateLimitError is returned for a good API key whose account has made too many
// requests in this minute.
type RateLimitError struct {
	PerMinute  int
	RetryAfter time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("the account has made its %d requests of this minute", e.PerMinute)
}

// KeyCallers reads a service account as of now, by the digest of a key. The error
// is [postgres.ErrNotFound] for a key that is unknown or no longer counts.
type KeyCallers interface {
	CallerByAPIKey(ctx context.Context, digest []byte) (*store.APIKeyCaller, error)
}

// A Limiter counts requests against a limit.
type Limiter interface {
	Count(ctx context.Context, rule, subject string, most int, per time.Duration) (ok bool, retry time.Duration, err error)
}

// Settings reads the settings as of now.
type Settings interface {
	Read(context.Context) (setting.Values, error)
}

// APIKeys resolves requests that bring an API key. All fields are needed.
type APIKeys struct {
	Callers  KeyCallers
	Limits   Limiter
	Settings Settings

	// AddressIsProven says that a client's address comes from the operator's own
	// proxy (TRUSTED_PROXY). Without it nothing can be limited by address, and a
	// key that is limited so opens nothing (SVC-11).
	AddressIsProven bool
}

// IsAPIKey reports whether a bearer token is to be taken for an API key, which its
// prefix alone decides.
func IsAPIKey(token string) bool { return strings.HasPrefix(token, store.APIKeyPrefix) }

// Resolve resolves an API key that came from an address. The errors are those of
// the package; the principal is returned with a [*RateLimitError] too.
func (k *APIKeys) Resolve(ctx context.Context, key, address string) (*policies.Principal, error) {
	if !IsAPIKey(key) {
		return nil, ErrInvalidKey
	}
	c, err := k.Callers.CallerByAPIKey(ctx, store.Digest(key))
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, ErrInvalidKey
	} else if err != nil {
		return nil, err
	}
	if err := k.from(c, address); err != nil {
		return nil, err
	}
	settings, err := k.Settings.Read(ctx)
	if err != nil {
		return nil, err
	}
	p := &policies.Principal{
		Kind: policies.ServiceAccount, ID: c.AccountID, Name: c.Name, Roles: c.Roles,
		WorkspaceIDs: c.WorkspaceIDs, AppIDs: c.AppIDs, DatasetIDs: []string{}, ObjectIDs: []string{},
		MetadataVisibility: settings.Access.MetadataVisibility,
		Via:                policies.ViaServiceAccount, Credential: c.KeyID,
	}
	perMinute := settings.ServiceAccounts.RatePerMinute
	ok, retry, err := k.Limits.Count(ctx, "service_account", c.AccountID, perMinute, time.Minute)
	if err != nil {
		return nil, err
	}
	if !ok {
		return p, &RateLimitError{PerMinute: perMinute, RetryAfter: retry}
	}
	return p, nil
}

// from refuses an account that may not call from an address.
func (k *APIKeys) from(c *store.APIKeyCaller, address string) error {
	if len(c.Sources) == 0 {
		return nil
	}
	if !k.AddressIsProven {
		return fmt.Errorf("%w: service account %s is limited by address, which nothing proves here", ErrInvalidKey, c.AccountID)
	}
	from, err := netip.ParseAddr(address)
	if err != nil || !slices.ContainsFunc(c.Sources, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return fmt.Errorf("%w: service account %s may not call from %s", ErrInvalidKey, c.AccountID, address)
	}
	return nil
}
