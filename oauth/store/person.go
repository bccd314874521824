package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// The providers that the product itself gives a name.
const (
	Microsoft = "microsoft"
	Google    = "google"
	Dev       = "dev" // the dev sign-in
)

// DevScope marks the account rows that the dev sign-in made.
const DevScope = "dev-sign-in"

// A SignIn is what a provider said of the person who signed in.
type SignIn struct {
	Provider      string // of the account
	AccountID     string // lower case
	Vouching      string // the provider that vouches for email and domain; Provider where it is empty
	Scope         string // DevScope where the dev sign-in would make the account
	Email         string
	EmailVerified bool
	VouchedDomain string // empty where the provider vouches for none
	Name          string

	ObjectID string // of a Microsoft account

	// GroupIDs are the groups that the provider named. Of a Microsoft account they
	// may be unread, and those read before go on counting: GroupsRead tells "in no
	// group" from "not read".
	GroupIDs   []string
	GroupsRead bool
}

// ErrNoRole is returned when no role reaches the person: nothing was written.
var ErrNoRole = errors.New("no role reaches this person")

// ErrDevAccount is returned when an account of the dev sign-in is met where
// only real ones may sign in.
var ErrDevAccount = errors.New("the account was made by the dev sign-in")

// A NewSession is the session to be made by a sign-in.
type NewSession struct {
	Digest    []byte
	Provider  string
	At        time.Time
	ExpiresAt time.Time
}

// SignInOptions are the conditions of [Store.SignIn].
type SignInOptions struct {
	RefuseDevAccounts bool
	Address           string // the browser's, for the audit
}

// SignIn makes a session for the person of this account, whom it adds where
// nobody is known by the account: an account is recognised by its provider and
// id alone, never by an email (SIGNIN-15).
//
// Admission is part of the same transaction: the caller is resolved as every
// later request resolves them, and unless a role reaches them nothing is
// written at all (SIGNIN-02, SIGNIN-03).
func (s *Store) SignIn(ctx context.Context, in SignIn, session NewSession, opt SignInOptions) (*Caller, error) {
	var caller *Caller
	attempt := func() error {
		return postgres.Tx(ctx, s.begin, func(tx pgx.Tx) (err error) {
			if caller, err = signIn(ctx, s.Within(tx), in, session, opt); err != nil {
				return err
			}
			return audit.Write(ctx, tx, browserOf(caller, opt), audit.Event{Action: "sign_in", Outcome: audit.Allow, Element: session.Provider})
		})
	}
	err := attempt()
	if errors.Is(err, postgres.ErrDuplicate) {
		err = attempt() // somebody else's first sign-in with the account won: it is there now
	}
	if err != nil {
		return nil, fmt.Errorf("signing in: %w", err)
	}
	return caller, nil
}

func signIn(ctx context.Context, s *Store, in SignIn, session NewSession, opt SignInOptions) (*Caller, error) {
	personID, err := personOf(ctx, s.q, in, session.At, opt)
	if err != nil {
		return nil, err
	}
	if in.ObjectID != "" {
		var groupsReadAt *time.Time
		if in.GroupsRead {
			groupsReadAt = &session.At
		}
		if err := s.q.TakeIdentity(ctx, db.TakeIdentityParams{PersonID: personID, ObjectID: in.ObjectID}); err != nil {
			return nil, err
		}
		if err := s.q.SaveIdentity(ctx, db.SaveIdentityParams{
			PersonID: personID, ObjectID: in.ObjectID, At: &session.At,
			GroupIds: append([]string{}, in.GroupIDs...), GroupsReadAt: groupsReadAt,
		}); err != nil {
			return nil, err
		}
	}
	groups := []string{} // those of a Microsoft account stand with its identity
	if in.ObjectID == "" {
		groups = append(groups, in.GroupIDs...)
	}
	vouching := in.Vouching
	if vouching == "" {
		vouching = in.Provider
	}
	var domain *string
	if in.VouchedDomain != "" {
		domain = &in.VouchedDomain
	}
	if err := s.q.SaveSignIn(ctx, db.SaveSignInParams{
		PersonID: personID, Provider: vouching, Email: in.Email, EmailVerified: in.EmailVerified,
		VouchedDomain: domain, GroupIds: groups, At: session.At,
	}); err != nil {
		return nil, err
	}
	if in.EmailVerified {
		if _, err := s.q.ClaimAssignments(ctx, db.ClaimAssignmentsParams{PersonID: &personID, Email: in.Email}); err != nil {
			return nil, err
		}
	}
	return admit(ctx, s, personID, session)
}

// admit makes the session of somebody whom a role reaches, or returns
// [ErrNoRole]: no session is made in any other way (SIGNIN-03).
func admit(ctx context.Context, s *Store, personID string, session NewSession) (*Caller, error) {
	caller, err := s.CallerByPerson(ctx, personID, session.At)
	if err != nil {
		return nil, err
	}
	if len(caller.Roles) == 0 {
		return nil, ErrNoRole
	}
	if _, err := s.q.DeleteExpiredSessions(ctx, session.At); err != nil {
		return nil, err
	}
	caller.Credential, err = s.q.InsertSession(ctx, db.InsertSessionParams{
		Digest: session.Digest, PersonID: personID, Provider: session.Provider,
		At: session.At, ExpiresAt: session.ExpiresAt,
	})
	return caller, err
}

// browserOf is somebody at their browser, for the audit.
func browserOf(caller *Caller, opt SignInOptions) *policies.Principal {
	return &policies.Principal{
		Kind: policies.Person, ID: caller.PersonID, Name: caller.Name, Via: policies.ViaBrowser,
		Credential: caller.Credential, Address: opt.Address,
	}
}

// personOf finds the person of an account, or adds both.
func personOf(ctx context.Context, q *db.Queries, in SignIn, at time.Time, opt SignInOptions) (string, error) {
	account, err := q.PersonByAccount(ctx, db.PersonByAccountParams{Provider: in.Provider, AccountID: in.AccountID})
	switch {
	case isNotFound(err):
		id, err := q.InsertPerson(ctx, db.InsertPersonParams{Email: in.Email, Name: in.Name, At: at})
		if err != nil {
			return "", err
		}
		return id, q.InsertAccount(ctx, db.InsertAccountParams{
			Provider: in.Provider, AccountID: in.AccountID, PersonID: id, Scope: in.Scope, At: at,
		})
	case err != nil:
		return "", err
	case account.Scope == DevScope && opt.RefuseDevAccounts:
		return "", ErrDevAccount
	}
	return account.ID, q.UpdatePerson(ctx, db.UpdatePersonParams{ID: account.ID, Email: in.Email, Name: in.Name})
}

// An Account is an account with the person whom it belongs to.
type Account struct {
	PersonID string
	Email    string // the person's
	Scope    string
}

// Account returns [postgres.ErrNotFound] where nobody is known by the account.
func (s *Store) Account(ctx context.Context, provider, accountID string) (*Account, error) {
	a, err := s.q.PersonByAccount(ctx, db.PersonByAccountParams{Provider: provider, AccountID: accountID})
	if err != nil {
		return nil, fmt.Errorf("reading an account: %w", postgres.Translate(err))
	}
	return &Account{PersonID: a.ID, Email: a.Email, Scope: a.Scope}, nil
}

// MicrosoftAccountsOf lists the Microsoft accounts of everybody with this email.
func (s *Store) MicrosoftAccountsOf(ctx context.Context, email string) ([]string, error) {
	ids, err := s.q.MicrosoftAccountsOfEmail(ctx, email)
	if err != nil {
		return nil, fmt.Errorf("reading accounts: %w", postgres.Translate(err))
	}
	return ids, nil
}

// A DevRow is a row that the dev sign-in left behind.
type DevRow struct {
	Table    string
	Provider string
	Subject  string // the account's id or the email
	PersonID string
}

// DevRows lists what the dev sign-in left behind (SIGNIN-43).
func (s *Store) DevRows(ctx context.Context) ([]DevRow, error) {
	rows, err := s.q.DevSignInRows(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for rows of the dev sign-in: %w", postgres.Translate(err))
	}
	found := make([]DevRow, len(rows))
	for i, r := range rows {
		found[i] = DevRow{Table: r.Relation, Provider: r.Provider, Subject: r.Subject, PersonID: r.PersonID}
	}
	return found, nil
}

func isNotFound(err error) bool {
	return err != nil && errors.Is(postgres.Translate(err), postgres.ErrNotFound)
}
