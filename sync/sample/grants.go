package sample

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	codeLife    = 10 * time.Minute
	refreshLife = 90 * 24 * time.Hour
)

// A grant is what a person allowed a client: behind a code, and behind the
// refresh tokens that come of it.
type grant struct {
	person      *person
	client      string
	redirectURI string
	scope       string
	nonce       string
	challenge   string
	method      string
	expires     time.Time
	used        bool
}

// grants keeps the codes, refresh tokens and sign-in sessions that are out.
type grants struct {
	now func() time.Time

	mu       sync.Mutex // guards the rest
	codes    map[string]*grant
	refresh  map[string]*grant
	sessions map[string]string // session id to a person's object id
}

func secret() string { return rand.Text() + rand.Text() }

func (g *grants) newCode(of grant) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for code, old := range g.codes {
		if g.now().After(old.expires.Add(codeLife)) {
			delete(g.codes, code)
		}
	}
	of.expires = g.now().Add(codeLife)
	code := "1." + secret()
	g.codes[code] = &of
	return code
}

// takeCode uses a code up. A code that was used before comes back with used set.
func (g *grants) takeCode(code string) (grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found, ok := g.codes[code]
	if !ok || g.now().After(found.expires) {
		return grant{}, false
	}
	before := *found
	found.used = true
	return before, true
}

func (g *grants) newRefresh(of grant) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	of.expires = g.now().Add(refreshLife)
	token := "1.A" + secret()
	g.refresh[token] = &of
	return token
}

// useRefresh returns the grant of a refresh token. As at Entra a token stays
// good after use, beside the new one that the answer carries.
func (g *grants) useRefresh(token string) (grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found, ok := g.refresh[token]
	if !ok || g.now().After(found.expires) {
		return grant{}, false
	}
	return *found, true
}

// revoke ends the refresh tokens and sessions of a person.
func (g *grants) revoke(p *person) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for token, of := range g.refresh {
		if of.person.id == p.id {
			delete(g.refresh, token)
		}
	}
	for session, who := range g.sessions {
		if who == p.id {
			delete(g.sessions, session)
		}
	}
}

func (g *grants) newSession(p *person) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	session := secret()
	g.sessions[session] = p.id
	return session
}

func (g *grants) session(session string) (objectID string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	objectID, ok = g.sessions[session]
	return objectID, ok
}

func (g *grants) endSession(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, session)
}
