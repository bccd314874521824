package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/oauth/store/db"
	"github.com/pbmb/pbmb/policies"
)

// A Provider is a sign-in provider beside Microsoft, as it is kept: an entry of
// the setting auth.providers, which nothing but these methods writes. Its client
// secret is kept apart, sealed.
type Provider struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // google or oidc
	Name     string    `json:"name"`
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"client_id"`
	AddedAt  time.Time `json:"added_at"`
	AddedBy  string    `json:"added_by"`

	// TestedAs is the email that the sign-in showed by which it was tested.
	TestedAs string `json:"tested_as"`
}

// ProviderSecrets keeps the client secrets of providers, for the api alone.
type ProviderSecrets interface {
	// SetProviderSecret seals a secret in the place of what was there, as a part of tx.
	SetProviderSecret(ctx context.Context, tx pgx.Tx, by *policies.Principal, id, value string) error
	// DeleteProviderSecret takes it away, as a part of tx.
	DeleteProviderSecret(ctx context.Context, tx pgx.Tx, id string) error
}

// providersKey is the setting that holds the list.
const providersKey = "auth.providers"

// Providers lists those that are configured and have a secret, in the order in
// which they were added.
func (s *Store) Providers(ctx context.Context) (list []Provider, err error) {
	raw, err := s.q.ConfiguredProviders(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the sign-in providers: %w", postgres.Translate(err))
	}
	for _, one := range raw {
		var p Provider
		if err := json.Unmarshal(one, &p); err != nil {
			return nil, fmt.Errorf("reading the sign-in providers: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// changeProviders rewrites the list under a lock.
func changeProviders(ctx context.Context, tx pgx.Tx, by *policies.Principal, change func([]Provider) ([]Provider, error)) error {
	q := db.New(tx)
	if err := q.EnsureProviders(ctx); err != nil {
		return err
	}
	raw, err := q.LockProviders(ctx)
	if err != nil {
		return err
	}
	var list []Provider
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("reading the setting %s: %w", providersKey, err)
	}
	if list, err = change(list); err != nil {
		return err
	}
	if raw, err = json.Marshal(list); err != nil {
		return err
	}
	return q.SaveProviders(ctx, db.SaveProvidersParams{Value: raw, ChangedBy: by.Label()})
}

// AddProvider adds the provider of a trial that succeeded, or puts it in the
// place of the one with its id, with the secret that it was tried with. It
// returns [postgres.ErrNotFound] for a trial that this person did not take, that
// has not succeeded, or that is too old (SIGNIN-09). open opens the sealed secret.
func (s *Store) AddProvider(ctx context.Context, by *policies.Principal, trialID string, secrets ProviderSecrets, open func([]byte) ([]byte, error), at time.Time) (added Provider, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		taken, err := db.New(tx).TakeTrial(ctx, db.TakeTrialParams{ID: trialID, PersonID: by.ID, At: at})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(taken.Provider, &added); err != nil {
			return err
		}
		secret, err := open(taken.ClientSecret)
		if err != nil {
			return err
		}
		added.AddedAt, added.AddedBy = at.UTC(), by.Label()
		if taken.Email != nil {
			added.TestedAs = *taken.Email
		}
		err = changeProviders(ctx, tx, by, func(list []Provider) ([]Provider, error) {
			i := slices.IndexFunc(list, func(p Provider) bool { return p.ID == added.ID })
			if i < 0 {
				return append(list, added), nil
			}
			if old := list[i]; old.Issuer != added.Issuer || old.Kind != added.Kind {
				if err := endProvider(ctx, tx, secrets, old.ID, at); err != nil {
					return nil, err
				}
			}
			list[i] = added
			return list, nil
		})
		if err != nil {
			return err
		}
		if err := secrets.SetProviderSecret(ctx, tx, by, added.ID, string(secret)); err != nil {
			return err
		}
		return auditProvider(ctx, tx, by, "add_sign_in_provider", added)
	})
	if err != nil {
		return Provider{}, fmt.Errorf("adding a sign-in provider: %w", err)
	}
	return added, nil
}

// RemoveProvider takes a provider away with its secret (FETCH-13), or returns
// [postgres.ErrNotFound], or [ErrLastAdmin] where nobody else could administer
// (ROLES-37). Whoever came through it is signed out, what they
// let in is ended, and what it vouched for counts no longer.
func (s *Store) RemoveProvider(ctx context.Context, by *policies.Principal, id string, secrets ProviderSecrets, at time.Time) (gone Provider, err error) {
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		err := changeProviders(ctx, tx, by, func(list []Provider) ([]Provider, error) {
			i := slices.IndexFunc(list, func(p Provider) bool { return p.ID == id })
			if i < 0 {
				return nil, postgres.ErrNotFound
			}
			gone = list[i]
			return slices.Delete(list, i, i+1), nil
		})
		if err != nil {
			return err
		}
		if err := endProvider(ctx, tx, secrets, id, at); err != nil {
			return err
		}
		return auditProvider(ctx, tx, by, "remove_sign_in_provider", gone)
	})
	if err != nil {
		return Provider{}, fmt.Errorf("removing a sign-in provider: %w", err)
	}
	return gone, nil
}

// endProvider ends what rests on a provider that is gone or now another: the
// sessions of its people, those by passkey included, what they let in, and what
// the provider vouched for.
func endProvider(ctx context.Context, tx pgx.Tx, secrets ProviderSecrets, id string, at time.Time) error {
	if err := secrets.DeleteProviderSecret(ctx, tx, id); err != nil {
		return err
	}
	q := db.New(tx)
	if err := q.LockFirstAdmin(ctx); err != nil {
		return err
	}
	if left, err := q.AdminsWithout(ctx, id); err != nil {
		return err
	} else if left == 0 {
		// Where all admins are so by a group of another provider, none of those that
		// count goes with this one.
		if takes, err := q.ProviderHasAdmins(ctx, id); err != nil {
			return err
		} else if takes {
			return ErrLastAdmin
		}
	}
	if _, err := q.DeleteSessionsOfProvider(ctx, id); err != nil {
		return err
	}
	why := WhyProviderGone
	if _, err := q.EndGrantsOfProvider(ctx, db.EndGrantsOfProviderParams{Provider: id, Why: &why, At: &at}); err != nil {
		return err
	}
	_, err := q.EndVouching(ctx, id)
	return err
}

func auditProvider(ctx context.Context, tx pgx.Tx, by *policies.Principal, action string, p Provider) error {
	return audit.Write(ctx, tx, by, audit.Event{
		Action: action, Outcome: audit.Allow, Element: "provider " + p.ID,
		Detail: map[string]any{"kind": p.Kind, "issuer": p.Issuer, "client_id": p.ClientID},
	})
}

// A Trial is a provider that an admin tries before it is added.
type Trial struct {
	ID           string
	Provider     Provider
	ClientSecret []byte // sealed
	Email        string // whom the trial showed; empty until it has succeeded
}

// StartTrial keeps a provider with its sealed secret, and returns the trial's id.
func (s *Store) StartTrial(ctx context.Context, personID string, p Provider, sealedSecret []byte, at, expires time.Time) (id string, err error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	err = postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := db.New(tx)
		if _, err := q.DeleteExpiredTrials(ctx, at); err != nil {
			return err
		}
		id, err = q.InsertTrial(ctx, db.InsertTrialParams{
			PersonID: personID, Provider: raw, ClientSecret: sealedSecret, At: at, ExpiresAt: expires,
		})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keeping a trial: %w", err)
	}
	return id, nil
}

// Trial returns [postgres.ErrNotFound] for one that is unknown, taken or too old.
func (s *Store) Trial(ctx context.Context, id string, at time.Time) (*Trial, error) {
	r, err := s.q.Trial(ctx, db.TrialParams{ID: id, At: at})
	if err != nil {
		return nil, fmt.Errorf("reading a trial: %w", postgres.Translate(err))
	}
	t := &Trial{ID: r.ID, ClientSecret: r.ClientSecret}
	if r.Email != nil {
		t.Email = *r.Email
	}
	if err := json.Unmarshal(r.Provider, &t.Provider); err != nil {
		return nil, fmt.Errorf("reading a trial: %w", err)
	}
	return t, nil
}

// SucceedTrial notes that a sign-in through the trial's provider succeeded, and
// whom it showed. It returns [postgres.ErrNotFound] as [Store.Trial] does.
func (s *Store) SucceedTrial(ctx context.Context, id, email string, at time.Time) error {
	n, err := s.q.SucceedTrial(ctx, db.SucceedTrialParams{ID: id, Email: email, At: at})
	if err == nil && n == 0 {
		err = postgres.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("noting that a trial succeeded: %w", postgres.Translate(err))
	}
	return nil
}

// ResealTrials drops the trials that are too old at a moment, gives reseal the
// secrets of the others as they are sealed, and keeps what comes back where it is
// another.
func (s *Store) ResealTrials(ctx context.Context, at time.Time, reseal func(sealed []byte) (fresh []byte, changed bool, err error)) error {
	err := postgres.Tx(ctx, s.begin, func(tx pgx.Tx) error {
		q := s.q.WithTx(tx)
		if _, err := q.DeleteExpiredTrials(ctx, at); err != nil {
			return err
		}
		trials, err := q.SealedTrials(ctx)
		if err != nil {
			return err
		}
		for _, t := range trials {
			fresh, changed, err := reseal(t.ClientSecret)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			if err := q.SaveSealedTrial(ctx, db.SaveSealedTrialParams{ID: t.ID, ClientSecret: fresh}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("resealing the secrets of trials: %w", err)
	}
	return nil
}

// SealedTrials returns the secrets of all trials as they are sealed.
func (s *Store) SealedTrials(ctx context.Context) (sealed [][]byte, err error) {
	trials, err := s.q.SealedTrials(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the secrets of trials: %w", postgres.Translate(err))
	}
	for _, t := range trials {
		sealed = append(sealed, t.ClientSecret)
	}
	return sealed, nil
}

// SealedSecrets keeps the client secrets of providers among all secrets.
type SealedSecrets struct{ *secret.Store }

var _ ProviderSecrets = SealedSecrets{}

// SetProviderSecret is for [Store.AddProvider].
func (k SealedSecrets) SetProviderSecret(ctx context.Context, tx pgx.Tx, by *policies.Principal, id, value string) error {
	_, err := k.SetIn(ctx, tx, by, secret.OfProvider(id), value, time.Time{})
	return err
}

// DeleteProviderSecret is for [Store.RemoveProvider].
func (SealedSecrets) DeleteProviderSecret(ctx context.Context, tx pgx.Tx, id string) error {
	return secret.Delete(ctx, tx, secret.OfProvider(id))
}
