package provider

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pbmb/pbmb/oauth/store"
)

// A Vault seals for the api's own identity, which is not AUTH_SECRET (OAUTH-12).
type Vault interface {
	Seal(plaintext []byte) ([]byte, error)
	Open(ciphertext []byte) ([]byte, error)
}

// reloadInterval is how often a token that names an unknown key may make us
// read the table.
const reloadInterval = 10 * time.Second

// Keys signs access tokens and knows the keys of those that others signed.
type Keys struct {
	store   *store.Store
	now     func() time.Time
	id      string
	private ed25519.PrivateKey

	mu       sync.RWMutex
	publics  map[string]ed25519.PublicKey
	loadedAt time.Time
}

// LoadKeys reads the signing keys, and makes the first where there is none.
func LoadKeys(ctx context.Context, st *store.Store, vault Vault, now func() time.Time) (*Keys, error) {
	all, err := st.KeysOrFirst(ctx, func() (store.Key, error) { return newKey(vault, now()) })
	if err != nil {
		return nil, err
	}
	newest := all[0]
	seed, err := vault.Open(newest.Sealed)
	if err != nil {
		return nil, fmt.Errorf("opening the signing key %s: %w", newest.ID, err)
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("the signing key %s is damaged", newest.ID)
	}
	k := &Keys{store: st, now: now, id: newest.ID, private: ed25519.NewKeyFromSeed(seed)}
	k.keep(all)
	if !k.private.Public().(ed25519.PublicKey).Equal(k.publics[k.id]) {
		return nil, fmt.Errorf("the halves of the signing key %s do not belong together", newest.ID)
	}
	return k, nil
}

func newKey(vault Vault, at time.Time) (store.Key, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return store.Key{}, fmt.Errorf("making a signing key: %w", err)
	}
	sealed, err := vault.Seal(private.Seed())
	if err != nil {
		return store.Key{}, fmt.Errorf("sealing the signing key: %w", err)
	}
	return store.Key{ID: rand.Text(), Public: public, Sealed: sealed, CreatedAt: at}, nil
}

func (k *Keys) keep(all []store.Key) {
	publics := make(map[string]ed25519.PublicKey, len(all))
	for _, key := range all {
		if len(key.Public) == ed25519.PublicKeySize {
			publics[key.ID] = key.Public
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.publics, k.loadedAt = publics, k.now()
}

func (k *Keys) sign(claims jwt.Claims) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["typ"], token.Header["kid"] = tokenType, k.id
	return token.SignedString(k.private)
}

// public finds a key, also one that another instance made since we started.
func (k *Keys) public(ctx context.Context, id string) (ed25519.PublicKey, error) {
	k.mu.RLock()
	key, known := k.publics[id]
	fresh := k.now().Sub(k.loadedAt) < reloadInterval
	k.mu.RUnlock()
	if !known && !fresh {
		all, err := k.store.Keys(ctx)
		if err != nil {
			return nil, err
		}
		k.keep(all)
		k.mu.RLock()
		key, known = k.publics[id]
		k.mu.RUnlock()
	}
	if !known {
		return nil, errors.New("the key is not known")
	}
	return key, nil
}
