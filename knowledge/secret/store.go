package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/policies"
)

var (
	// ErrUnknown is returned for a name that no secret has.
	ErrUnknown = errors.New("there is no secret of this name")

	// ErrNotSet is returned, wrapped, for a secret that nobody has set.
	ErrNotSet = errors.New("the secret is not set")
)

// A NoReaderError is returned where a secret cannot be sealed, since its reader
// has never started and so has no identity.
type NoReaderError struct{ Reader vault.Container }

func (e *NoReaderError) Error() string {
	return fmt.Sprintf("the %s has never started, so nothing can be sealed for it", e.Reader)
}

// A Store keeps secrets for one container, which opens those that it reads.
type Store struct {
	pool      *pgxpool.Pool
	container vault.Container
	vault     *vault.Vault
}

// New returns the store of a container, over the pool of its role.
func New(pool *pgxpool.Pool, c vault.Container, v *vault.Vault) *Store { return &Store{pool, c, v} }

// lock is what everybody holds who writes sealed secrets, so that none is sealed
// for an identity that is being retired. Its value means nothing.
const lock = 0x70626d62_5ec7

// Lock makes other writers of sealed secrets wait until tx ends.
func Lock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(lock))
	return err
}

// Set seals a value for each reader of the secret in place of what was there, and
// audits that. A zero end means that none is known. It returns [ErrUnknown], an
// [*InvalidError] or a [*NoReaderError]; no error repeats the value.
func (s *Store) Set(ctx context.Context, by *policies.Principal, name Name, value string, expires time.Time) (info Info, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		info, err = s.SetIn(ctx, tx, by, name, value, expires)
		return err
	})
	return info, err
}

// SetIn is [Store.Set] as a part of tx.
func (s *Store) SetIn(ctx context.Context, tx pgx.Tx, by *policies.Principal, name Name, value string, expires time.Time) (Info, error) {
	d, known := Define(name)
	if !known {
		return Info{}, ErrUnknown
	}
	if err := d.check(value); err != nil {
		return Info{}, err
	}
	if err := Lock(ctx, tx); err != nil {
		return Info{}, fmt.Errorf("setting the secret %s: %w", name, err)
	}
	info := Info{Definition: d, Check: Readable, LastFour: lastFour(value), SetBy: by.Label(), ExpiresAt: expires}
	err := s.replace(ctx, tx, &info, []byte(value))
	if err == nil {
		detail := map[string]any{}
		if !expires.IsZero() {
			detail["expires_at"] = expires.UTC().Format(time.RFC3339)
		}
		err = audit.Write(ctx, tx, by, audit.Event{Action: "set_secret", Outcome: audit.Allow, Element: string(name), Detail: detail})
	}
	if err != nil {
		return Info{}, fmt.Errorf("setting the secret %s: %w", name, err)
	}
	return info, nil
}

// replace puts a value in the place of what was there.
func (s *Store) replace(ctx context.Context, tx pgx.Tx, info *Info, value []byte) error {
	if err := Delete(ctx, tx, info.Name); err != nil {
		return err
	}
	for _, reader := range info.Readers {
		sealed, recipient, err := s.seal(ctx, tx, value, reader)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
			insert into secret_ciphertext (name, reader, recipient, ciphertext, last_four, set_by, expires_at)
			values ($1, $2, $3, $4, $5, $6, $7) returning set_at`,
			info.Name, reader, recipient, sealed, info.LastFour, info.SetBy, orNull(info.ExpiresAt)).Scan(&info.SetAt)
		if err != nil {
			return err
		}
	}
	return nil
}

// seal seals for a reader: for this process by the key in memory, and for the
// other container by what that one published.
func (s *Store) seal(ctx context.Context, tx pgx.Tx, value []byte, reader vault.Container) ([]byte, vault.Recipient, error) {
	if reader == s.container {
		sealed, err := s.vault.Seal(value)
		return sealed, s.vault.Recipient(), err
	}
	recipient, err := vault.Published(ctx, tx, reader)
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, "", &NoReaderError{reader}
	}
	if err != nil {
		return nil, "", err
	}
	sealed, err := vault.Seal(value, recipient)
	return sealed, recipient, err
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Open opens a secret that this container reads. It returns, wrapped, [ErrUnknown],
// [vault.ErrNotReader] or [ErrNotSet].
func (s *Store) Open(ctx context.Context, name Name) (string, error) {
	d, known := Define(name)
	if !known {
		return "", ErrUnknown
	}
	if !slices.Contains(d.Readers, s.container) {
		return "", fmt.Errorf("opening the secret %s: %w", name, vault.ErrNotReader)
	}
	var sealed []byte
	err := s.pool.QueryRow(ctx, "select ciphertext from secret_ciphertext where name = $1 and reader = $2", name, s.container).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("opening %s: %w", name, ErrNotSet)
	}
	if err != nil {
		return "", fmt.Errorf("opening the secret %s: %w", name, postgres.Translate(err))
	}
	value, err := s.vault.Open(sealed)
	if err != nil {
		return "", fmt.Errorf("the secret %s: %w", name, err)
	}
	return string(value), nil
}

// IsSet reports whether somebody has set a secret.
func (s *Store) IsSet(ctx context.Context, name Name) (bool, error) {
	var set bool
	err := s.pool.QueryRow(ctx, "select exists (select from secret_ciphertext where name = $1)", name).Scan(&set)
	if err != nil {
		return false, fmt.Errorf("looking for the secret %s: %w", name, postgres.Translate(err))
	}
	return set, nil
}

// List returns what there is to see of every secret, those that are missing
// included, by name.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	rows, err := s.pool.Query(ctx, `
		select s.name, min(s.last_four) as last_four, min(s.set_by) as set_by, max(s.set_at) as set_at, min(s.expires_at) as expires_at,
			bool_and(s.recipient = any($1::text[]) or (s.recipient = i.recipient) is true) as readable
		from secret_ciphertext s left join container_identity i on i.container = s.reader
		group by s.name`, s.own())
	if err != nil {
		return nil, fmt.Errorf("listing secrets: %w", postgres.Translate(err))
	}
	found := map[Name]Info{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var info Info
		var expires *time.Time
		var readable bool
		if err := row.Scan(&info.Name, &info.LastFour, &info.SetBy, &info.SetAt, &expires, &readable); err != nil {
			return struct{}{}, err
		}
		if expires != nil {
			info.ExpiresAt = *expires
		}
		if info.Check = Unreadable; readable {
			info.Check = Readable
		}
		// A name that this version does not know is nobody's to read.
		if d, known := Define(info.Name); known {
			info.Definition = d
			found[info.Name] = info
		}
		return struct{}{}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing secrets: %w", postgres.Translate(err))
	}
	for _, d := range definitions {
		if _, set := found[d.Name]; !set {
			found[d.Name] = Info{Definition: d, Check: Missing}
		}
	}
	list := make([]Info, 0, len(found))
	for _, info := range found {
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return list, nil
}

// own are the recipients that this container opens.
func (s *Store) own() []string {
	own := []string{string(s.vault.Recipient())}
	for _, r := range s.vault.Retired() {
		own = append(own, string(r))
	}
	return own
}

// Delete takes a secret away as a part of tx, such as one whose provider is now
// another, so that it cannot be sent there.
func Delete(ctx context.Context, tx pgx.Tx, name Name) error {
	if _, err := tx.Exec(ctx, "delete from secret_ciphertext where name = $1", name); err != nil {
		return fmt.Errorf("deleting the secret %s: %w", name, postgres.Translate(err))
	}
	return nil
}

// Reseal seals the container's copies of all secrets anew, as a part of tx, which
// holds [Lock]: for the identity that v seals with, by the key in memory. What v
// does not open is left as it is.
func Reseal(ctx context.Context, tx pgx.Tx, c vault.Container, v *vault.Vault) error {
	rows, err := tx.Query(ctx, "select name, ciphertext from secret_ciphertext where reader = $1 and recipient <> $2 for update", c, v.Recipient())
	if err != nil {
		return fmt.Errorf("resealing secrets: %w", err)
	}
	type row struct {
		Name       Name
		Ciphertext []byte
	}
	stale, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		return fmt.Errorf("resealing secrets: %w", err)
	}
	for _, r := range stale {
		sealed, _, err := v.Reseal(r.Ciphertext)
		if errors.Is(err, vault.ErrNotReader) {
			continue
		}
		if err != nil {
			return fmt.Errorf("resealing the secret %s: %w", r.Name, err)
		}
		_, err = tx.Exec(ctx, "update secret_ciphertext set ciphertext = $3, recipient = $4 where name = $1 and reader = $2", r.Name, c, sealed, v.Recipient())
		if err != nil {
			return fmt.Errorf("resealing the secret %s: %w", r.Name, err)
		}
	}
	return nil
}

// Sealed returns the container's copies of all secrets as they are stored.
func Sealed(ctx context.Context, pool *pgxpool.Pool, c vault.Container) ([][]byte, error) {
	rows, err := pool.Query(ctx, "select ciphertext from secret_ciphertext where reader = $1", c)
	if err != nil {
		return nil, fmt.Errorf("reading sealed secrets: %w", postgres.Translate(err))
	}
	sealed, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fmt.Errorf("reading sealed secrets: %w", postgres.Translate(err))
	}
	return sealed, nil
}
