package sample

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// A signingKey is one key of the set, named by the thumbprint of its certificate
// as Entra's are.
type signingKey struct {
	id     string
	key    *rsa.PrivateKey
	cert   []byte
	signer jose.Signer
}

// A keyRing has two keys. The first signs; both are published, so that a token
// signed before a rotation still verifies after it.
type keyRing struct {
	mu   sync.RWMutex // guards keys
	keys []*signingKey
}

func newKeyRing(now time.Time) (*keyRing, error) {
	r := &keyRing{keys: make([]*signingKey, 2)}
	errs := make([]error, len(r.keys))
	var wg sync.WaitGroup
	for i := range r.keys {
		wg.Go(func() { r.keys[i], errs[i] = newSigningKey(now) })
	}
	wg.Wait()
	return r, errors.Join(errs...)
}

func newSigningKey(now time.Time) (*signingKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making a signing key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "accounts.accesscontrol.sample.example"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(5, 0, 0),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of a signing key: %w", err)
	}
	print := sha1.Sum(cert) // what x5t is by definition; nothing rests on its strength
	k := &signingKey{id: base64.RawURLEncoding.EncodeToString(print[:]), key: key, cert: cert}
	k.signer, err = jose.NewSigner(
		jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: k.id}},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader("x5t", k.id),
	)
	if err != nil {
		return nil, fmt.Errorf("making a signer: %w", err)
	}
	return k, nil
}

// rotate makes a new key, which signs from now on, and takes the oldest away.
func (r *keyRing) rotate(now time.Time) error {
	k, err := newSigningKey(now)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = []*signingKey{k, r.keys[0]}
	return nil
}

// sign makes a JWT of claims.
func (r *keyRing) sign(claims object) (string, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return jwt.Signed(r.keys[0].signer).Claims(map[string]any(claims)).Serialize()
}

var errToken = errors.New("the token does not verify")

// verify checks the signature of a JWT and decodes its claims into out. Audience
// and times are the caller's to check.
func (r *keyRing) verify(token string, out any) error {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil || len(parsed.Headers) != 1 {
		return errToken
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, k := range r.keys {
		if k.id == parsed.Headers[0].KeyID {
			if err := parsed.Claims(&k.key.PublicKey, out); err != nil {
				return errToken
			}
			return nil
		}
	}
	return errToken
}

// published is the key set as it is served.
func (r *keyRing) published(issuer string) object {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var keys []object
	for _, k := range r.keys {
		keys = append(keys, object{
			"kty": "RSA", "use": "sig", "kid": k.id, "x5t": k.id,
			"n":                   base64.RawURLEncoding.EncodeToString(k.key.N.Bytes()),
			"e":                   base64.RawURLEncoding.EncodeToString(big.NewInt(int64(k.key.E)).Bytes()),
			"x5c":                 []string{base64.StdEncoding.EncodeToString(k.cert)},
			"cloud_instance_name": "microsoftonline.com",
			"issuer":              issuer,
		})
	}
	return object{"keys": keys}
}
