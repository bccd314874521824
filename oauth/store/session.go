package store

import (
	"context"
	"fmt"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// A Session is a browser that somebody signed in with.
type Session struct {
	ID        string
	PersonID  string
	Email     string
	Name      string
	Provider  string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Session returns [postgres.ErrNotFound] for an unknown or expired session.
func (s *Store) Session(ctx context.Context, digest []byte, at time.Time) (*Session, error) {
	r, err := s.q.Session(ctx, db.SessionParams{Digest: digest, At: at})
	if err != nil {
		return nil, fmt.Errorf("reading a session: %w", postgres.Translate(err))
	}
	return &Session{
		ID: r.ID, PersonID: r.PersonID, Email: r.Email, Name: r.Name, Provider: r.Provider,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
	}, nil
}

// EndSession ends a session; one that has ended is no error.
func (s *Store) EndSession(ctx context.Context, digest []byte) error {
	if _, err := s.q.DeleteSession(ctx, digest); err != nil {
		return fmt.Errorf("ending a session: %w", postgres.Translate(err))
	}
	return nil
}

// A SignInState is a sign-in, or a connect, that went to a provider and has
// not come back. The browser holds the state; its digest is the key.
type SignInState struct {
	Purpose   string // PurposeSignIn, PurposeConnect or PurposeTrial
	Provider  string // of a trial: the trial's id
	SessionID string // of a connect or a trial: the session that started it
	Nonce     string
	Verifier  string // PKCE
	Next      string // where the browser goes afterwards
	ExpiresAt time.Time
}

// What a [SignInState] is for.
const (
	PurposeSignIn  = "sign_in"
	PurposeConnect = "connect"
	PurposeTrial   = "trial"
)

// SaveSignInState keeps a state, and drops those that have expired.
func (s *Store) SaveSignInState(ctx context.Context, digest []byte, state SignInState, at time.Time) error {
	if _, err := s.q.DeleteExpiredSignInStates(ctx, at); err != nil {
		return fmt.Errorf("dropping expired states: %w", postgres.Translate(err))
	}
	var sessionID *string
	if state.SessionID != "" {
		sessionID = &state.SessionID
	}
	err := s.q.InsertSignInState(ctx, db.InsertSignInStateParams{
		Digest: digest, Purpose: state.Purpose, Provider: state.Provider, SessionID: sessionID,
		Nonce: state.Nonce, Verifier: state.Verifier, Next: state.Next, At: at, ExpiresAt: state.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("keeping a state: %w", postgres.Translate(err))
	}
	return nil
}

// TakeSignInState gives a state to whoever asks first; afterwards, and where it
// has expired, it is [postgres.ErrNotFound].
func (s *Store) TakeSignInState(ctx context.Context, digest []byte, at time.Time) (*SignInState, error) {
	r, err := s.q.TakeSignInState(ctx, digest)
	if err == nil && !r.ExpiresAt.After(at) {
		err = postgres.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("taking a state: %w", postgres.Translate(err))
	}
	state := &SignInState{
		Purpose: r.Purpose, Provider: r.Provider, Nonce: r.Nonce, Verifier: r.Verifier, Next: r.Next, ExpiresAt: r.ExpiresAt,
	}
	if r.SessionID != nil {
		state.SessionID = *r.SessionID
	}
	return state, nil
}
