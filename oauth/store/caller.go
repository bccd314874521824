package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A Caller is a person as of this moment, with the credential that they came by.
type Caller struct {
	PersonID     string
	Email        string
	Name         string
	Credential   string   // the session's or the grant's id
	Roles        []string // sorted, as are all lists here
	ObjectIDs    []string
	WorkspaceIDs []string
	AppIDs       []string
	DatasetIDs   []string

	// Of a grant.
	ClientID    string
	Audience    string
	ConsentedAt time.Time
}

// nobody is the id of no person.
const nobody = "00000000-0000-0000-0000-000000000000"

// CallerBySession returns [postgres.ErrNotFound] for an unknown or expired session.
func (s *Store) CallerBySession(ctx context.Context, digest []byte, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{SessionDigest: digest, PersonID: nobody, At: at})
}

// CallerByGrant returns [postgres.ErrNotFound] unless the grant and the consent
// above it stand.
func (s *Store) CallerByGrant(ctx context.Context, grantID string, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{GrantID: grantID, SessionDigest: []byte{}, PersonID: nobody, At: at})
}

// CallerByPerson returns a person without a credential.
func (s *Store) CallerByPerson(ctx context.Context, personID string, at time.Time) (*Caller, error) {
	return s.caller(ctx, db.PrincipalParams{PersonID: personID, SessionDigest: []byte{}, At: at})
}

func (s *Store) caller(ctx context.Context, by db.PrincipalParams) (*Caller, error) {
	r, err := s.q.Principal(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("reading the caller: %w", postgres.Translate(err))
	}
	return &Caller{
		PersonID: r.PersonID, Email: r.Email, Name: r.Name, Credential: r.Credential,
		Roles:     held(r.GivenRoles, r.DefaultRoles, r.IsMember),
		ObjectIDs: sortedSet(r.ObjectIds), WorkspaceIDs: sortedSet(r.WorkspaceIds),
		AppIDs: sortedSet(r.AppIds), DatasetIDs: sortedSet(r.DatasetIds),
		ClientID: r.ClientID, Audience: r.Audience, ConsentedAt: r.ConsentedAt,
	}, nil
}

// held gives a person's roles. The tenant's default is for its members, and
// only for those whom no shipped role was given otherwise: a role that a
// deployment made up does not displace it (ROLES-31 to ROLES-33).
func held(given, byDefault []string, isMember bool) []string {
	if isMember && !slices.ContainsFunc(given, isShipped) {
		given = append(given, byDefault...)
	}
	return sortedSet(given)
}

func isShipped(role string) bool {
	switch role {
	case policies.RoleViewer, policies.RoleCurator, policies.RoleAdmin, policies.RolePIIReader:
		return true
	}
	return false
}

// sortedSet sorts in place; the result is never nil.
func sortedSet(values []string) []string {
	if values == nil {
		return []string{}
	}
	slices.Sort(values)
	return slices.Compact(values)
}
