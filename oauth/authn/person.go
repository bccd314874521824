package authn

import (
	"errors"
	"net/http"

	"github.com/pbmb/pbmb/policies"
)

// A Refusal is why nobody is let near a screen on which a person lets a program
// in, as it is answered.
type Refusal struct {
	Status int
	Detail string
	Cause  error // of a failure on our side, for the log
}

// Person returns the person whose browser sent r. Such a screen is answered from
// the browser that is signed in and from nowhere else: with a token a program
// could let in another (OAUTH-47).
func Person(r *http.Request, sessions interface {
	Session(r *http.Request) (*policies.Principal, error)
}) (*policies.Principal, *Refusal) {
	if r.Header.Get("Authorization") != "" {
		return nil, &Refusal{Status: http.StatusUnauthorized, Detail: "This is answered from the browser that is signed in, not with a token."}
	}
	p, err := sessions.Session(r)
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return nil, &Refusal{Status: http.StatusUnauthorized, Detail: "Sign in first."}
	case errors.Is(err, ErrNoRole):
		return nil, &Refusal{Status: http.StatusForbidden, Detail: "No role reaches you. Ask an admin for one."}
	case err != nil:
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Detail: "The server cannot answer at the moment. Try again.", Cause: err}
	}
	if known, ok := policies.FromContext(r.Context()); ok {
		p.Address = known.Address // the gate knows it
	}
	return p, nil
}
