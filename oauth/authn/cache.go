package authn

import (
	"sync"

	"github.com/pbmb/pbmb/oauth/provider"
)

// maxVerified bounds the tokens whose signature is remembered, twice: see [cache].
const maxVerified = 4096

// A cache remembers the claims of tokens whose signature was verified, by the
// token's digest. A signature cannot go bad; everything that can (expiry, the
// grant, the consent, roles) is looked at each time. When the young half is
// full it becomes the old one, so that what is in use stays.
type cache struct {
	size int

	mu         sync.Mutex
	young, old map[[32]byte]*provider.Claims
}

func newCache(size int) *cache {
	return &cache{size: size, young: map[[32]byte]*provider.Claims{}}
}

func (c *cache) get(key [32]byte) (*provider.Claims, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claims, ok := c.young[key]; ok {
		return claims, true
	}
	claims, ok := c.old[key]
	if ok {
		c.add(key, claims)
	}
	return claims, ok
}

func (c *cache) put(key [32]byte, claims *provider.Claims) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, claims)
}

// add needs the lock.
func (c *cache) add(key [32]byte, claims *provider.Claims) {
	if len(c.young) >= c.size {
		c.young, c.old = make(map[[32]byte]*provider.Claims, c.size), c.young
	}
	c.young[key] = claims
}
