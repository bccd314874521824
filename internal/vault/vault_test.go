package vault_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func newVault(t *testing.T) (v *vault.Vault, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "identity")
	v, err := vault.FromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return v, file
}

// SECRET-01, SECRET-02
func TestFromFileMakesAnIdentityOnceAndForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "identity")
	recipients := make([]vault.Recipient, 5)
	var wg sync.WaitGroup
	for i := range recipients { // two processes may start at once
		wg.Go(func() {
			v, err := vault.FromFile(file)
			if err != nil {
				t.Error(err)
				return
			}
			recipients[i] = v.Recipient()
		})
	}
	wg.Wait()
	for _, r := range recipients {
		if r != recipients[0] || r == "" {
			t.Fatalf("the starts have different identities: %q", recipients)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o400 {
		t.Errorf("mode %v, %v, want 0400", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("%d files are left beside the identity", len(entries)-1)
	}
}

// SECRET-02
func TestFromFileRefusesALooserMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o440, 0o404, 0o600, 0o644, 0o500} {
		_, file := newVault(t)
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := vault.FromFile(file); err == nil || !strings.Contains(err.Error(), "0400") {
			t.Errorf("mode %#o: got %v, want an error that asks for 0400", mode, err)
		}
	}
	_, file := newVault(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.FromFile(link); err == nil {
		t.Error("a symbolic link was followed")
	}
}

// SECRET-03
func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	v, file := newVault(t)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ := strings.Cut(string(content), "\n")
	given, err := vault.FromEnvironment(secret)
	if err != nil || given.Recipient() != v.Recipient() {
		t.Errorf("%v; another identity than in the file", err)
	}
	malformed := strings.Replace(secret, "1", "2", 1)
	if _, err := vault.FromEnvironment(malformed); err == nil || strings.Contains(err.Error(), strings.TrimSpace(malformed)[20:]) {
		t.Errorf("got %v, want an error that does not repeat the value", err)
	}
}

// SECRET-07
func TestOnlyTheRecipientOpens(t *testing.T) {
	t.Parallel()
	api, _ := newVault(t)
	worker, _ := newVault(t)
	secret := []byte("the scanner's secret")
	sealed, err := vault.Seal(secret, worker.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, secret) {
		t.Error("the sealed bytes hold the secret")
	}
	if opened, err := worker.Open(sealed); err != nil || !bytes.Equal(opened, secret) {
		t.Errorf("its reader gets %q, %v", opened, err)
	}
	if _, err := api.Open(sealed); !errors.Is(err, vault.ErrNotReader) {
		t.Errorf("another reader gets %v, want ErrNotReader", err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := worker.Open(sealed); err == nil || errors.Is(err, vault.ErrNotReader) {
		t.Errorf("changed bytes give %v, want an error of their own", err)
	}
	own, err := api.Seal(secret)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := api.Open(own); err != nil || !bytes.Equal(opened, secret) {
		t.Errorf("what a vault sealed for itself gives %q, %v", opened, err)
	}
	if _, err := vault.Seal(secret, "not a recipient"); err == nil {
		t.Error("sealed for nobody")
	}
}

// SECRET-04
func TestPublish(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	if _, err := vault.Published(t.Context(), db.API(), vault.Worker); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("before its first start: %v, want ErrNotFound", err)
	}
	first, _ := newVault(t)
	second, _ := newVault(t)
	for _, step := range []struct {
		vault    *vault.Vault
		replaced vault.Recipient
	}{{first, ""}, {first, ""}, {second, first.Recipient()}} {
		replaced, err := step.vault.Publish(t.Context(), db.Worker(), vault.Worker)
		if err != nil || replaced != step.replaced {
			t.Fatalf("publishing: replaced %q, %v, want %q", replaced, err, step.replaced)
		}
		if got, err := vault.Published(t.Context(), db.API(), vault.Worker); err != nil || got != step.vault.Recipient() {
			t.Errorf("published is %q, %v, want %q", got, err, step.vault.Recipient())
		}
	}
	if _, err := first.Publish(t.Context(), db.API(), vault.Worker); err == nil {
		t.Error("the api published an identity of the worker's")
	}
	var private int
	db.QueryRow("select count(*) from container_identity i where i::text like '%AGE-SECRET-KEY-%'", nil, &private)
	if private != 0 {
		t.Error("a private half is in the database")
	}
}
