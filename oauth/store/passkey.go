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

// ByPasskey is the provider of a session that a passkey opened.
const ByPasskey = "passkey"

// MaxPasskeys is how many passkeys a person may have.
const MaxPasskeys = 20

var (
	// ErrManyPasskeys is returned when a person has [MaxPasskeys] already.
	ErrManyPasskeys = errors.New("there are too many passkeys")

	// ErrPasskeyCount is returned when a passkey that counts its uses comes with
	// a count that it had before: there may be a copy of it.
	ErrPasskeyCount = errors.New("the passkey's count did not rise")

	// ErrSignInDue is returned when no provider vouched for the person within
	// 7 days (SIGNIN-27).
	ErrSignInDue = errors.New("the last sign-in through a provider is too long ago")
)

// A Passkey is the public half of a key that an authenticator holds for a person.
type Passkey struct {
	ID             string
	PersonID       string
	CredentialID   []byte
	PublicKey      []byte // COSE
	SignCount      uint32 // 0 where the authenticator does not count
	Transports     []string
	BackupEligible bool // whether it may be copied between devices, which never changes
	BackedUp       bool
	Name           string
	CreatedAt      time.Time
	LastUsedAt     *time.Time
}

// A PasskeyCeremony is a challenge that went to a browser and has not come back
// signed. The key is the digest of the challenge and of what binds it to the
// browser.
type PasskeyCeremony struct {
	Purpose   string // PurposeSignIn or PurposeRegister
	State     []byte // JSON of the WebAuthn library
	ExpiresAt time.Time
}

// PurposeRegister is the purpose of a ceremony that adds a passkey.
const PurposeRegister = "register"

// SavePasskeyCeremony keeps a ceremony, and drops those that have expired.
func (s *Store) SavePasskeyCeremony(ctx context.Context, digest []byte, c PasskeyCeremony, at time.Time) error {
	if _, err := s.q.DeleteExpiredPasskeyCeremonies(ctx, at); err != nil {
		return fmt.Errorf("dropping expired ceremonies: %w", postgres.Translate(err))
	}
	err := s.q.InsertPasskeyCeremony(ctx, db.InsertPasskeyCeremonyParams{
		Digest: digest, Purpose: c.Purpose, State: c.State, At: at, ExpiresAt: c.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("keeping a ceremony: %w", postgres.Translate(err))
	}
	return nil
}

// TakePasskeyCeremony gives a ceremony to whoever asks first; afterwards, and
// where it has expired or is for another purpose, it is [postgres.ErrNotFound].
func (s *Store) TakePasskeyCeremony(ctx context.Context, digest []byte, purpose string, at time.Time) (*PasskeyCeremony, error) {
	r, err := s.q.TakePasskeyCeremony(ctx, digest)
	if err == nil && (r.Purpose != purpose || !r.ExpiresAt.After(at)) {
		err = postgres.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("taking a ceremony: %w", postgres.Translate(err))
	}
	return &PasskeyCeremony{Purpose: r.Purpose, State: r.State, ExpiresAt: r.ExpiresAt}, nil
}

// Passkeys lists a person's passkeys, the oldest first.
func (s *Store) Passkeys(ctx context.Context, personID string) ([]Passkey, error) {
	rows, err := s.q.PasskeysOf(ctx, personID)
	if err != nil {
		return nil, fmt.Errorf("listing passkeys: %w", postgres.Translate(err))
	}
	passkeys := make([]Passkey, len(rows))
	for i, r := range rows {
		passkeys[i] = passkeyOf(r)
	}
	return passkeys, nil
}

// Passkey returns [postgres.ErrNotFound] for a credential that nobody has.
func (s *Store) Passkey(ctx context.Context, credentialID []byte) (*Passkey, error) {
	r, err := s.q.PasskeyByCredential(ctx, credentialID)
	if err != nil {
		return nil, fmt.Errorf("reading a passkey: %w", postgres.Translate(err))
	}
	p := passkeyOf(r)
	return &p, nil
}

func passkeyOf(r db.Passkey) Passkey {
	return Passkey{
		ID: r.ID, PersonID: r.PersonID, CredentialID: r.CredentialID, PublicKey: r.PublicKey, SignCount: uint32(r.SignCount),
		Transports: r.Transports, BackupEligible: r.BackupEligible, BackedUp: r.BackedUp,
		Name: r.Name, CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt,
	}
}

// AddPasskey keeps a passkey of the caller's own and returns its id. A
// credential that somebody has is [postgres.ErrDuplicate].
func (s *Store) AddPasskey(ctx context.Context, by *policies.Principal, p Passkey) (id string, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if err := q.LockPerson(ctx, by.ID); err != nil {
			return err
		}
		n, err := q.CountPasskeys(ctx, by.ID)
		if err != nil {
			return err
		}
		if n >= MaxPasskeys {
			return ErrManyPasskeys
		}
		id, err = q.InsertPasskey(ctx, db.InsertPasskeyParams{
			PersonID: by.ID, CredentialID: p.CredentialID, PublicKey: p.PublicKey, SignCount: int64(p.SignCount),
			Transports: append([]string{}, p.Transports...), BackupEligible: p.BackupEligible, BackedUp: p.BackedUp,
			Name: p.Name, At: p.CreatedAt,
		})
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{Action: "add_passkey", Outcome: audit.Allow, Element: id})
	})
	if err != nil {
		return "", fmt.Errorf("adding a passkey: %w", err)
	}
	return id, nil
}

// RemovePasskey removes a passkey of the caller's own. Another person's, like
// an unknown one, is [postgres.ErrNotFound].
func (s *Store) RemovePasskey(ctx context.Context, by *policies.Principal, id string) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		n, err := s.q.WithTx(tx).DeletePasskey(ctx, db.DeletePasskeyParams{ID: id, PersonID: by.ID})
		if err != nil {
			return err
		}
		if n == 0 {
			return postgres.ErrNotFound
		}
		return audit.Write(ctx, tx, by, audit.Event{Action: "remove_passkey", Outcome: audit.Allow, Element: id})
	})
	if err != nil {
		return fmt.Errorf("removing a passkey: %w", err)
	}
	return nil
}

// A PasskeyUse is an assertion that has been verified.
type PasskeyUse struct {
	PersonID     string
	CredentialID []byte
	SignCount    uint32
	BackedUp     bool
}

// SignInByPasskey makes a session for the person of a passkey. It returns
// [postgres.ErrNotFound] where the passkey is gone, [ErrPasskeyCount],
// [ErrSignInDue], [ErrNoRole] or [ErrDevAccount], and then nothing is written
// but, for a count that did not rise, the audit of it. What a provider vouched
// for, and when, stays as it was.
func (s *Store) SignInByPasskey(ctx context.Context, use PasskeyUse, session NewSession, opt SignInOptions) (*Caller, error) {
	var caller *Caller
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) (err error) {
		if caller, err = signInByPasskey(ctx, s.Within(tx), use, session, opt); err != nil {
			return err
		}
		return audit.Write(ctx, tx, browserOf(caller, opt), audit.Event{Action: "sign_in", Outcome: audit.Allow, Element: session.Provider})
	})
	if errors.Is(err, ErrPasskeyCount) {
		err = errors.Join(err, s.auditPasskeyCount(ctx, use, session, opt))
	}
	if err != nil {
		return nil, fmt.Errorf("signing in by passkey: %w", err)
	}
	return caller, nil
}

func signInByPasskey(ctx context.Context, s *Store, use PasskeyUse, session NewSession, opt SignInOptions) (*Caller, error) {
	kept, err := s.q.LockPasskey(ctx, db.LockPasskeyParams{CredentialID: use.CredentialID, PersonID: use.PersonID})
	if err != nil {
		return nil, err
	}
	counts := kept.SignCount != 0 || use.SignCount != 0
	if counts && int64(use.SignCount) <= kept.SignCount {
		return nil, ErrPasskeyCount
	}
	if err := s.q.UsePasskey(ctx, db.UsePasskeyParams{
		ID: kept.ID, SignCount: int64(use.SignCount), BackedUp: use.BackedUp, At: session.At,
	}); err != nil {
		return nil, err
	}
	standing, err := s.q.PasskeyStanding(ctx, db.PasskeyStandingParams{PersonID: use.PersonID, RefuseDev: opt.RefuseDevAccounts})
	switch {
	case err != nil:
		return nil, err
	case standing.DevAccount && opt.RefuseDevAccounts:
		return nil, ErrDevAccount
	case !standing.Vouched:
		return nil, ErrSignInDue
	}
	return admit(ctx, s, use.PersonID, session)
}

// auditPasskeyCount records a count that did not rise, in a transaction of its
// own since the other came to nothing.
func (s *Store) auditPasskeyCount(ctx context.Context, use PasskeyUse, session NewSession, opt SignInOptions) error {
	caller, err := s.CallerByPerson(ctx, use.PersonID, session.At)
	if err != nil {
		return err
	}
	return postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		return audit.Write(ctx, tx, browserOf(caller, opt), audit.Event{
			Action: "sign_in", Outcome: audit.Deny, Element: session.Provider, Reason: "passkey_count",
		})
	})
}
