package consent

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/pbmb/pbmb/oauth/store"
)

// The two parameters that a signature adds to a request. A client's own
// parameters of these names never get this far.
const (
	expiryParameter    = "pbmb_expires"
	signatureParameter = "pbmb_signature"
)

// minSecret is the shortest AUTH_SECRET: 32 random bytes in any usual encoding.
const minSecret = 32

// errSignature is returned for a query that was not signed here, was changed,
// is too old, or is somebody else's.
var errSignature = errors.New("the authorization request is not signed, was changed or has expired")

// A Signer signs the request that travels by the browser to the consent screen
// and back. It is good for one person and for as long as the client is kept.
type Signer struct {
	key []byte
	now func() time.Time
}

// NewSigner derives a key of its own from AUTH_SECRET.
func NewSigner(authSecret []byte, now func() time.Time) (*Signer, error) {
	if len(authSecret) < minSecret {
		return nil, fmt.Errorf("AUTH_SECRET must have at least %d bytes", minSecret)
	}
	key, err := hkdf.Key(sha256.New, authSecret, nil, "pbmb consent request", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of consent requests: %w", err)
	}
	return &Signer{key: key, now: now}, nil
}

// Sign returns the query of the consent screen.
func (s *Signer) Sign(parameters url.Values, personID string) (query string) {
	signed := url.Values{}
	for name, values := range parameters {
		signed[name] = values
	}
	signed.Set(expiryParameter, strconv.FormatInt(s.now().Add(store.ConsentTime).Unix(), 10))
	signed.Set(signatureParameter, s.signature(signed, personID))
	return signed.Encode()
}

// Verify returns the client's own part of a query that Sign returned for this
// person.
func (s *Signer) Verify(query, personID string) (rawQuery string, err error) {
	values, err := url.ParseQuery(query)
	if err != nil || len(values[signatureParameter]) != 1 || len(values[expiryParameter]) != 1 {
		return "", errSignature
	}
	got := values.Get(signatureParameter)
	values.Del(signatureParameter)
	if !hmac.Equal([]byte(got), []byte(s.signature(values, personID))) {
		return "", errSignature
	}
	expires, err := strconv.ParseInt(values.Get(expiryParameter), 10, 64)
	if err != nil || !s.now().Before(time.Unix(expires, 0)) {
		return "", errSignature
	}
	values.Del(expiryParameter)
	return values.Encode(), nil
}

// signature covers the parameters in their one canonical form and the person.
func (s *Signer) signature(values url.Values, personID string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(personID + "\n" + values.Encode()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
