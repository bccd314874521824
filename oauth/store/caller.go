package store

import (
	"context"
	"fmt"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
)

// A Caller is a person as of this moment, with the credential that they came by.
type Caller struct {
	PersonID     string
	Email        string
	Name         string
	Credential   string // the session's or the grant's id
	Roles        []string
	ObjectIDs    []string
	WorkspaceIDs []string
	AppIDs       []string
	DatasetIDs   []string

	// Of a grant.
	ClientID    string
	Audience    string
	Scopes      []string
	ConsentedAt time.Time
}

// CallerBySession returns [postgres.ErrNotFound] for an unknown or expired session.
func (s *Store) CallerBySession(ctx context.Context, digest []byte, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{SessionDigest: digest, At: at})
}

// CallerByGrant returns [postgres.ErrNotFound] unless the grant and the consent
// above it stand.
func (s *Store) CallerByGrant(ctx context.Context, grantID string, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{GrantID: &grantID, At: at})
}

// CallerByPerson returns a person without a credential.
func (s *Store) CallerByPerson(ctx context.Context, personID string, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{PersonID: &personID, At: at})
}

func (s *Store) caller(ctx context.Context, by db.PrincipalParams) (*Caller, error) {
	r, err := s.q.Principal(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("reading the caller: %w", postgres.Translate(err))
	}
	return &Caller{
		PersonID: r.PersonID, Email: r.Email, Name: r.Name, Credential: r.Credential, Roles: r.Roles,
		ObjectIDs: r.ObjectIds, WorkspaceIDs: r.WorkspaceIds, AppIDs: r.AppIds, DatasetIDs: r.DatasetIds,
		ClientID: r.ClientID, Audience: r.Audience, Scopes: r.Scopes, ConsentedAt: r.ConsentedAt,
	}, nil
}
