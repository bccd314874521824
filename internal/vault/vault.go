// Package vault seals secrets for the processes that may read them. Each
// process has an identity of its own, whose public half it publishes in the
// database and whose private half stays outside of it, so that a copy of the
// database alone opens nothing. Nothing else in this module knows of age.
package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
)

// ErrNotReader is returned, wrapped, when something was sealed for others.
var ErrNotReader = errors.New("sealed for another reader")

// A Recipient is the public half of an identity: whom to seal for.
type Recipient string

// A Vault is the identity of one process: what it seals with, and what it can
// open besides, because something may still be sealed for an identity that was
// retired.
type Vault struct {
	identity *age.X25519Identity
	path     string // of the identity's file; empty where the environment gave it

	mu     sync.RWMutex // guards others
	others []other
}

// An other is an identity that a vault opens with and does not seal with: one
// that was retired, or one that was made since the process started.
type other struct {
	identity *age.X25519Identity
	file     string // where it is retired; empty elsewhere
}

func (o other) recipient() Recipient { return recipientOf(o.identity) }

func recipientOf(i *age.X25519Identity) Recipient { return Recipient(i.Recipient().String()) }

// FromEnvironment returns the vault of identities that were given as text,
// AGE-SECRET-KEY-1…, with spaces between them: the first one seals, and the
// others open what was sealed for them. The error does not repeat the text.
func FromEnvironment(value string) (*Vault, error) {
	v := &Vault{}
	for i, one := range strings.Fields(value) {
		identity, err := parse(one)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			v.identity = identity
		default:
			v.others = append(v.others, other{identity: identity})
		}
	}
	if v.identity == nil {
		return nil, errNoIdentity
	}
	return v, nil
}

var errNoIdentity = errors.New("it is not an age identity, which looks like AGE-SECRET-KEY-1… and comes from age-keygen")

// parse reads an identity. Its error does not repeat it, as age's might.
func parse(value string) (*age.X25519Identity, error) {
	identity, err := age.ParseX25519Identity(value)
	if err != nil {
		return nil, errNoIdentity
	}
	return identity, nil
}

// FromFile returns the vault of the identity in the file at path, which is
// made when it is missing, and of those that [Rotate] retired beside it. A file
// that more than its owner can read, or that anybody can write, is refused.
func FromFile(path string) (*Vault, error) {
	identity, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createFile(path, path); err != nil {
			return nil, fmt.Errorf("making an identity: %w", err)
		}
		identity, err = readFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the identity in %s: %w", path, err)
	}
	v := &Vault{identity: identity, path: path}
	return v, v.reload()
}

func readFile(path string) (*age.X25519Identity, error) {
	// A link could lead to where somebody else's process can write.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if mode := info.Mode().Perm(); mode != 0o400 {
		return nil, fmt.Errorf("its mode is %#o and must be 0400: only its owner may read it", mode)
	}
	content, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return parse(line)
		}
	}
	return nil, errors.New("it is empty")
}

// createFile makes a new identity for path under the name of as. It appears
// complete, and where two processes do this at once, the first one's stays.
func createFile(path, as string) error {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), unfinished(path)+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Chmod(0o400); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "# public key: %s\n%s\n", identity.Recipient(), identity); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), as); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(path)
}

// unfinished is how the names of files start that are to become an identity.
func unfinished(path string) string { return "." + filepath.Base(path) + "-" }

// syncFolder makes the names in the folder of path outlive a failure of the machine.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Recipient is the public half of the identity that the vault seals with.
func (v *Vault) Recipient() Recipient { return recipientOf(v.identity) }

// Seal seals plaintext for whoever holds the identity of the recipient.
func Seal(plaintext []byte, to Recipient) ([]byte, error) {
	recipient, err := age.ParseX25519Recipient(string(to))
	if err != nil {
		return nil, fmt.Errorf("%q is not a recipient", string(to))
	}
	return seal(plaintext, recipient)
}

// Seal seals plaintext for this vault alone, by the key in memory: no row of
// the database decides who can read it.
func (v *Vault) Seal(plaintext []byte) ([]byte, error) {
	return seal(plaintext, v.identity.Recipient())
}

func seal(plaintext []byte, to age.Recipient) ([]byte, error) {
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	if _, err := w.Write(plaintext); err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return sealed.Bytes(), nil
}

// Open opens what was sealed for this vault.
func (v *Vault) Open(sealed []byte) ([]byte, error) {
	plaintext, _, err := v.open(sealed)
	return plaintext, err
}

// Reseal returns what seals the same as sealed for the identity that the vault
// seals with, and whether that is anything new.
func (v *Vault) Reseal(sealed []byte) (fresh []byte, changed bool, err error) {
	plaintext, by, err := v.open(sealed)
	if err != nil || by == v.Recipient() {
		return sealed, false, err
	}
	fresh, err = v.Seal(plaintext)
	return fresh, err == nil, err
}

// Opener returns which of the vault's identities opens sealed, or [ErrNotReader].
func (v *Vault) Opener(sealed []byte) (Recipient, error) {
	_, by, err := v.open(sealed)
	return by, err
}

func (v *Vault) open(sealed []byte) (plaintext []byte, by Recipient, err error) {
	if plaintext, err = open(sealed, v.identity); !errors.Is(err, ErrNotReader) {
		return plaintext, v.Recipient(), err
	}
	// What this process does not know may have been made since it started: a
	// rotation seals for the new identity at once.
	for _, reloaded := range []bool{false, true} {
		if reloaded {
			if err := v.reload(); err != nil {
				return nil, "", err
			}
		}
		v.mu.RLock()
		others := v.others
		v.mu.RUnlock()
		for _, o := range others {
			if plaintext, err := open(sealed, o.identity); !errors.Is(err, ErrNotReader) {
				return plaintext, o.recipient(), err
			}
		}
	}
	return nil, "", fmt.Errorf("opening: %w", ErrNotReader)
}

func open(sealed []byte, identity age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), identity)
	if err != nil {
		if _, notOurs := errors.AsType[*age.NoIdentityMatchError](err); notOurs {
			return nil, fmt.Errorf("opening: %w", ErrNotReader)
		}
		return nil, fmt.Errorf("opening: %w", err)
	}
	plaintext, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	return plaintext, nil
}

// A Container is a kind of process that has an identity.
type Container string

const (
	API    Container = "api"
	Worker Container = "worker"
)

// Publish writes the vault's recipient as the one of container, on that
// container's own pool, since no other role may. It returns the recipient that
// this replaced, or "" where there was none or the same: what is still sealed
// for that one does not open here.
func (v *Vault) Publish(ctx context.Context, db postgres.Beginner, container Container) (replaced Recipient, err error) {
	err = postgres.Tx(ctx, db, func(tx pgx.Tx) error {
		var before Recipient
		err := tx.QueryRow(ctx, "select recipient from container_identity where container = $1 for update", container).Scan(&before)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if before == v.Recipient() {
			return nil
		}
		replaced = before
		_, err = tx.Exec(ctx, `
			insert into container_identity (container, recipient) values ($1, $2)
			on conflict (container) do update set recipient = excluded.recipient, published_at = now()`, container, v.Recipient())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("publishing the identity of the %s: %w", container, err)
	}
	return replaced, nil
}

// Published is the recipient of container, for sealing what it shall read;
// [postgres.ErrNotFound] where that container has never started.
func Published(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, container Container) (Recipient, error) {
	var recipient Recipient
	if err := db.QueryRow(ctx, "select recipient from container_identity where container = $1", container).Scan(&recipient); err != nil {
		return "", fmt.Errorf("the identity of the %s: %w", container, postgres.Translate(err))
	}
	return recipient, nil
}
