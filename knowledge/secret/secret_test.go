package secret_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
)

// AUTHZ-31: no secret without its list of readers.
func TestEverySecretHasReaders(t *testing.T) {
	want := map[secret.Name][]vault.Container{
		secret.AppClient:              {vault.API},
		secret.ScannerClient:          {vault.Worker},
		secret.EmbeddingKey:           {vault.API, vault.Worker},
		secret.CSVLinkKey:             {vault.API},
		secret.OfProvider("google"):   {vault.API},
		secret.OfProvider("entra-us"): {vault.API},
	}
	for name, readers := range want {
		d, known := secret.Define(name)
		if !known || !slices.Equal(d.Readers, readers) || d.About == "" {
			t.Errorf("%s: %+v, %v, want the readers %q", name, d, known, readers)
		}
	}
	for _, d := range secret.Definitions() {
		if want[d.Name] == nil {
			t.Errorf("%s is not in this table: who reads it?", d.Name)
		}
	}
	for _, name := range []secret.Name{"", "unknown", "sign_in..client_secret", "sign_in.a b.client_secret", "sign_in.UP.client_secret", "sign_in.x", "sign_in.client_secret"} {
		if _, known := secret.Define(name); known {
			t.Errorf("%q is a secret", name)
		}
	}
}

// SECRET-26
func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for left, want := range map[time.Duration]secret.Expiry{
		31 * day:               secret.NoWarning,
		30*day + time.Second:   secret.NoWarning,
		30 * day:               secret.Warn,
		8 * day:                secret.Warn,
		7*day + time.Second:    secret.Warn,
		7 * day:                secret.Urgent,
		time.Second:            secret.Urgent,
		0:                      secret.Expired,
		-400 * day:             secret.Expired,
		20 * 365 * day:         secret.NoWarning,
		30*day - 1*time.Second: secret.Warn,
	} {
		if got := secret.ExpiryOf(now.Add(left), now); got != want {
			t.Errorf("%v before the end: %s, want %s", left, got, want)
		}
	}
	if got := secret.ExpiryOf(time.Time{}, now); got != secret.NoWarning {
		t.Errorf("without a known end: %s", got)
	}
}

// SEARCH-10: what a value may hold.
func TestValues(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	for name, tt := range map[string]struct {
		secret secret.Name
		value  string
		good   bool
	}{
		"an ordinary one":              {secret.AppClient, "Q~8Q.aB-c_d~e1234567890", true},
		"one of a single character":    {secret.AppClient, "x", true},
		"one with a space and accents": {secret.AppClient, "café au lait", true},
		"an empty one":                 {secret.AppClient, "", false},
		"one with a line break":        {secret.AppClient, "canary-line\n", false},
		"one with a NUL":               {secret.AppClient, "canary\x00nul", false},
		"one with DEL":                 {secret.AppClient, "canary\x7fdel", false},
		"a far too long one":           {secret.AppClient, strings.Repeat("canary", 1000), false},
		"a key of ASCII":               {secret.EmbeddingKey, "sk-canary!~", true},
		"a key with an accent":         {secret.EmbeddingKey, "sk-cänary", false},
		"a key with a space":           {secret.EmbeddingKey, "sk canary", false},
		"a key with DEL":               {secret.EmbeddingKey, "sk-canary\x7f", false},
	} {
		_, err := s.api.Set(t.Context(), admin, tt.secret, tt.value, time.Time{})
		if tt.good {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if _, invalid := errors.AsType[*secret.InvalidError](err); !invalid || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "sk") {
			t.Errorf("%s: %v, want an InvalidError that does not repeat it", name, err)
		}
	}
	if _, err := s.api.Set(t.Context(), admin, "unknown.secret", "a value", time.Time{}); !errors.Is(err, secret.ErrUnknown) {
		t.Errorf("an unknown name: %v", err)
	}
}

// SECRET-14
func TestLastFour(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	for value, want := range map[string]string{
		"fifteen-chars-x":  "",
		"sixteen-chars-xy": "s-xy",
		"short":            "",
		"ééééééééééééééé":  "", // 15 characters of 30 bytes
	} {
		info, err := s.api.Set(t.Context(), admin, secret.AppClient, value, time.Time{})
		if err != nil || info.LastFour != want {
			t.Errorf("%q shows %q, %v, want %q", value, info.LastFour, err, want)
		}
		list, err := s.api.List(t.Context())
		if err != nil || find(list, secret.AppClient).LastFour != want {
			t.Errorf("%q lists %q, %v, want %q", value, find(list, secret.AppClient).LastFour, err, want)
		}
	}
}
