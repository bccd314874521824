package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/recent"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A Caller is a person as of this moment, with the credential that they came by.
// It is shared by requests, so nobody changes one.
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

	MetadataVisibility policies.MetadataVisibility // as the setting is now

	// Of a grant.
	ClientID    string
	Audience    string
	ConsentedAt time.Time

	// What all of this was read under.
	Revisions revision.Revisions
}

// A credential is that by which a caller is looked up.
type credential struct{ session, grant string }

// A kept caller holds while the revisions stay the same, and until a moment: of
// this process' clock for what ends 7 days after it was seen, of the caller's for
// a session.
type kept struct {
	*Caller
	until     time.Time
	expiresAt time.Time
}

const (
	// keptCallers is how much of callers is kept, in bytes.
	keptCallers = 64 << 20

	// keptFor is the longest that one is kept: nothing needs it, but then nothing
	// that is wrong stays for longer.
	keptFor = time.Minute
)

func newCallers() *recent.Map[credential, kept] {
	return recent.New(keptCallers, func(_ credential, k kept) int {
		return 1024 + 64*(len(k.Roles)+len(k.ObjectIDs)+len(k.WorkspaceIDs)+len(k.AppIDs)+len(k.DatasetIDs))
	})
}

// nobody is the id of no person.
const nobody = "00000000-0000-0000-0000-000000000000"

// CallerBySession returns [postgres.ErrNotFound] for an unknown or expired session.
func (s *Store) CallerBySession(ctx context.Context, digest []byte, at time.Time) (*Caller, error) {
	return s.caller(ctx, credential{session: string(digest)}, db.PrincipalParams{SessionDigest: digest, PersonID: nobody, At: at})
}

// CallerByGrant returns [postgres.ErrNotFound] unless the grant and the consent
// above it stand.
func (s *Store) CallerByGrant(ctx context.Context, grantID string, at time.Time) (*Caller, error) {
	return s.caller(ctx, credential{grant: grantID}, db.PrincipalParams{GrantID: grantID, SessionDigest: []byte{}, PersonID: nobody, At: at})
}

// CallerByPerson returns a person without a credential.
func (s *Store) CallerByPerson(ctx context.Context, personID string, at time.Time) (*Caller, error) {
	k, err := s.readCaller(ctx, db.PrincipalParams{PersonID: personID, SessionDigest: []byte{}, At: at})
	return k.Caller, err
}

// caller returns who is kept under a credential if nothing of them has changed, and
// reads them otherwise. Either way the database is asked.
func (s *Store) caller(ctx context.Context, by credential, params db.PrincipalParams) (*Caller, error) {
	if k, ok := s.callers.Get(by); ok && time.Now().Before(k.until) && params.At.Before(k.expiresAt) {
		now, err := revision.Read(ctx, s.pool, k.PersonID)
		if err != nil {
			return nil, fmt.Errorf("reading the caller: %w", err)
		}
		if now.Person == k.Revisions.Person && now.Roles == k.Revisions.Roles && now.Tenant == k.Revisions.Tenant {
			if now == k.Revisions {
				return k.Caller, nil
			}
			current := *k.Caller
			current.Revisions = now
			return &current, nil
		}
	}
	k, err := s.readCaller(ctx, params)
	if err != nil {
		return nil, err
	}
	s.callers.Put(by, k)
	return k.Caller, nil
}

func (s *Store) readCaller(ctx context.Context, by db.PrincipalParams) (kept, error) {
	start := time.Now()
	r, err := s.q.Principal(ctx, by)
	if err != nil {
		return kept{}, fmt.Errorf("reading the caller: %w", postgres.Translate(err))
	}
	saved := map[string]json.RawMessage{}
	if err := json.Unmarshal(r.Settings, &saved); err != nil {
		return kept{}, fmt.Errorf("reading the caller: %w", err)
	}
	settings, err := s.settings.With(saved)
	if err != nil {
		return kept{}, fmt.Errorf("reading the caller: %w", err)
	}
	holds := min(keptFor, time.Duration(r.HoldsForSeconds*float64(time.Second)))
	return kept{
		until: start.Add(holds), expiresAt: r.ExpiresAt,
		Caller: &Caller{
			PersonID: r.PersonID, Email: r.Email, Name: r.Name, Credential: r.Credential,
			Roles:              held(r.GivenRoles, settings.Access.DefaultRole, r.IsMember && r.IsBound),
			MetadataVisibility: settings.Access.MetadataVisibility,
			ObjectIDs:          sortedSet(r.ObjectIds), WorkspaceIDs: sortedSet(r.WorkspaceIds),
			AppIDs: sortedSet(r.AppIds), DatasetIDs: sortedSet(r.DatasetIds),
			ClientID: r.ClientID, Audience: r.Audience, ConsentedAt: r.ConsentedAt,
			Revisions: revision.Of(r.Revisions),
		},
	}, nil
}

// held gives a person's roles.
func held(given []string, byDefault setting.DefaultRole, isMember bool) []string {
	if role := defaultFor(given, byDefault, isMember); role != "" {
		given = append(given, string(role))
	}
	return sortedSet(given)
}

// defaultFor is the default role where it applies, and empty elsewhere. It is for
// members of the tenant that the database is bound to, and only for those whom no
// shipped role was given: a role that a deployment made up does not displace it
// (ROLES-29 to ROLES-33).
func defaultFor(given []string, byDefault setting.DefaultRole, isMember bool) setting.DefaultRole {
	if isMember && byDefault != setting.NoDefaultRole && !slices.ContainsFunc(given, isShipped) {
		return byDefault
	}
	return ""
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
