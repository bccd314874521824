package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/connection"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/worker"
)

// openVault takes the identity from the environment where it is given there, and
// else from the process's own file, which is made on the first start.
func openVault(fromEnvironment, file string) (*vault.Vault, error) {
	if fromEnvironment != "" {
		return vault.FromEnvironment(fromEnvironment)
	}
	return vault.FromFile(file)
}

// settleIdentity makes the database fit the identity that a container starts with:
// whatever is sealed for one before it is resealed, people's tokens aside, and the
// identity is published. So a rotation that broke off is finished here.
func settleIdentity(ctx context.Context, pool *pgxpool.Pool, c vault.Container, v *vault.Vault) error {
	return postgres.Tx(ctx, pool, func(tx pgx.Tx) error {
		if err := secret.Lock(ctx, tx); err != nil {
			return err
		}
		return settleIn(ctx, tx, c, v)
	})
}

// settleIn is [settleIdentity] as a part of tx, which holds [secret.Lock].
func settleIn(ctx context.Context, tx pgx.Tx, c vault.Container, v *vault.Vault) error {
	if err := secret.Reseal(ctx, tx, c, v); err != nil {
		return err
	}
	if c == vault.API {
		if err := resealOAuth(ctx, tx, v); err != nil {
			return err
		}
	}
	_, err := v.Publish(ctx, tx, c)
	return err
}

// resealOAuth reseals what the packages of oauth keep: the signing keys, and the
// secrets of sign-in providers that an admin tries.
func resealOAuth(ctx context.Context, tx pgx.Tx, v *vault.Vault) error {
	reseal := func(sealed []byte) ([]byte, bool, error) {
		fresh, changed, err := v.Reseal(sealed)
		if errors.Is(err, vault.ErrNotReader) {
			return sealed, false, nil // whoever needs it says so
		}
		return fresh, changed, err
	}
	people := oauthstore.New(nil, setting.Base{}).Within(tx)
	if err := people.ResealKeys(ctx, reseal); err != nil {
		return err
	}
	return people.ResealTrials(ctx, time.Now(), reseal)
}

// RotateIdentity gives a container a new identity, reseals for it whatever that
// container reads, and returns its recipient. The processes that run go on until
// they restart: they find the new identity's file when something no longer opens
// with what they hold.
//
// People's tokens are not resealed here but by a job in the restarted api, since
// the running one seals for the old identity until then.
func RotateIdentity(ctx context.Context, cfg config.Config, c vault.Container) (vault.Recipient, error) {
	url, role, given, variable := cfg.DatabaseAPI, postgres.API, cfg.APIIdentity, "API_AGE_IDENTITY"
	if c == vault.Worker {
		url, role, given, variable = cfg.DatabaseWorker, postgres.Worker, cfg.WorkerIdentity, "WORKER_AGE_IDENTITY"
	}
	if given != "" {
		return "", fmt.Errorf("the identity comes from %s: put a new one of age-keygen before the old one there, with a space between, and restart the %s", variable, c)
	}
	pool, err := postgres.Open(ctx, url, role)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	var v *vault.Vault
	err = postgres.Tx(ctx, pool, func(tx pgx.Tx) error {
		// Before the files change: two rotations at once would take each other's.
		if err := secret.Lock(ctx, tx); err != nil {
			return err
		}
		if v, err = vault.Rotate(identityFile(cfg, c)); err != nil {
			return err
		}
		if err := settleIn(ctx, tx, c, v); err != nil {
			return err
		}
		if c == vault.API {
			return worker.QueueIn(ctx, tx, worker.RekeyTokensArgs{})
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("rotating the identity of the %s: %w", c, err)
	}
	if c == vault.Worker {
		if err := removeRetired(ctx, pool, c, v, nil); err != nil {
			return "", err
		}
	}
	return v.Recipient(), nil
}

func identityFile(cfg config.Config, c vault.Container) string {
	return filepath.Join(cfg.IdentityFolder, string(c))
}

// removeRetired removes the files of identities that nothing is sealed for any
// more. accounts is nil for the worker, which keeps no tokens.
func removeRetired(ctx context.Context, pool *pgxpool.Pool, c vault.Container, v *vault.Vault, accounts *connection.Connections) error {
	inUse := map[vault.Recipient]bool{}
	note := func(sealed []byte) error {
		opener, err := v.Opener(sealed)
		if errors.Is(err, vault.ErrNotReader) {
			return nil // no file of ours opens it
		}
		inUse[opener] = true
		return err
	}
	sealed, err := secret.Sealed(ctx, pool, c)
	if err != nil {
		return err
	}
	if c == vault.API {
		people := oauthstore.New(pool, setting.Base{})
		keys, err := people.Keys(ctx)
		if err != nil {
			return err
		}
		for _, k := range keys {
			sealed = append(sealed, k.Sealed)
		}
		trials, err := people.SealedTrials(ctx)
		if err != nil {
			return err
		}
		sealed = append(sealed, trials...)
		if err := accounts.EachSealed(ctx, note); err != nil {
			return err
		}
	}
	for _, one := range sealed {
		if err := note(one); err != nil {
			return err
		}
	}
	_, err = v.RemoveRetired(inUse)
	return err
}

// rekeyer is the api's job after a rotation.
type rekeyer struct {
	pool     *pgxpool.Pool
	identity *vault.Vault
	accounts *connection.Connections
}

func (r rekeyer) RekeyTokens(ctx context.Context) error {
	// What is published says whether to go on, and never whom to seal for.
	published, err := vault.Published(ctx, r.pool, vault.API)
	if err != nil {
		return err
	}
	if published != r.identity.Recipient() {
		return worker.ErrStaleIdentity
	}
	// An api that had not restarted may have set a secret after the rotation.
	if err := settleIdentity(ctx, r.pool, vault.API, r.identity); err != nil {
		return err
	}
	if err := r.accounts.Rekey(ctx); err != nil {
		return err
	}
	return removeRetired(ctx, r.pool, vault.API, r.identity, r.accounts)
}
