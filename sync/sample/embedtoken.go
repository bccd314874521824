package sample

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/knowledge/dax/eval"
)

// embedTokensKept is how long an expired token is still known to have been one.
const embedTokensKept = 24 * time.Hour

// An embedToken opens reports: exactly these, over exactly these datasets, each
// under the identity that was fixed when the token was made.
type embedToken struct {
	id       string
	expires  time.Time
	reports  map[string]bool           // by id
	datasets map[string]*eval.Identity // by id; nil where the dataset had no roles
}

// embedTokens are the tokens that are out. Only digests of them are kept.
type embedTokens struct {
	now func() time.Time

	mu   sync.Mutex // guards list
	list map[[sha256.Size]byte]*embedToken
}

// issue makes a token, which says nothing by itself.
func (e *embedTokens) issue(of embedToken) (token string, made embedToken) {
	random := make([]byte, 48)
	rand.Read(random) // never fails
	token = "H4sI" + base64.URLEncoding.EncodeToString(random)
	of.id = uuid.NewString()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list == nil {
		e.list = map[[sha256.Size]byte]*embedToken{}
	}
	for key, old := range e.list {
		if e.now().After(old.expires.Add(embedTokensKept)) {
			delete(e.list, key)
		}
	}
	e.list[sha256.Sum256([]byte(token))] = &of
	return token, of
}

// find returns what a token is good for. An expired one is found too: whoever
// asks looks at expires.
func (e *embedTokens) find(token string) (embedToken, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, ok := e.list[sha256.Sum256([]byte(token))]
	if !ok {
		return embedToken{}, false
	}
	return *found, true
}

// revoke ends the token with an id, or all where it is empty, and says how many
// there were.
func (e *embedTokens) revoke(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for key, of := range e.list {
		if id == "" || of.id == id {
			delete(e.list, key)
			n++
		}
	}
	return n
}
