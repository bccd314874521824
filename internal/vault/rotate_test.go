package vault_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/vault"
)

// SECRET-22, SECRET-25
func TestRotateKeepsTheOldIdentityBesideTheNew(t *testing.T) {
	t.Parallel()
	running, file := newVault(t)
	secret := []byte("sealed before")
	before, err := running.Seal(secret)
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := vault.Rotate(file)
	if err != nil {
		t.Fatal(err)
	}
	if rotated.Recipient() == running.Recipient() {
		t.Fatal("it is the same identity")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d files, %v, want the new identity's and the old one's", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o400 {
			t.Errorf("%s has the mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	after, err := rotated.Seal(secret)
	if err != nil {
		t.Fatal(err)
	}
	restarted, err := vault.FromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]*vault.Vault{"the running process": running, "the restarted one": restarted, "the rotation": rotated} {
		for sealed, by := range map[string]vault.Recipient{string(before): running.Recipient(), string(after): rotated.Recipient()} {
			opened, err := v.Open([]byte(sealed))
			opener, _ := v.Opener([]byte(sealed))
			if err != nil || !bytes.Equal(opened, secret) || opener != by {
				t.Errorf("%s opens %q by %s, %v, want it by %s", name, opened, opener, err, by)
			}
		}
	}
	// The running process goes on sealing for the old one.
	late, err := running.Seal(secret)
	if err != nil {
		t.Fatal(err)
	}
	if by, err := restarted.Opener(late); err != nil || by != running.Recipient() {
		t.Errorf("what the running process seals is for %s, %v", by, err)
	}

	fresh, changed, err := restarted.Reseal(before)
	if err != nil || !changed {
		t.Fatalf("resealing: %v, changed %v", err, changed)
	}
	if by, err := restarted.Opener(fresh); err != nil || by != rotated.Recipient() {
		t.Errorf("resealed for %s, %v", by, err)
	}
	if again, changed, err := restarted.Reseal(fresh); err != nil || changed || !bytes.Equal(again, fresh) {
		t.Errorf("resealed again: %v, %v", changed, err)
	}

	if n, err := restarted.RemoveRetired(map[vault.Recipient]bool{running.Recipient(): true}); err != nil || n != 0 {
		t.Errorf("removed %d in use, %v", n, err)
	}
	if n, err := restarted.RemoveRetired(nil); err != nil || n != 1 {
		t.Errorf("removed %d, %v, want the old one", n, err)
	}
	if _, err := restarted.Open(before); !errors.Is(err, vault.ErrNotReader) {
		t.Errorf("what is sealed for the removed identity: %v", err)
	}
	if _, err := restarted.Open(fresh); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v, want the new identity's", len(entries), err)
	}
}

// SECRET-02: a retired identity is as secret as the one in use.
func TestARetiredIdentityOfALooserModeIsRefused(t *testing.T) {
	t.Parallel()
	_, file := newVault(t)
	if _, err := vault.Rotate(file); err != nil {
		t.Fatal(err)
	}
	retired, err := filepath.Glob(file + ".retired-*")
	if err != nil || len(retired) != 1 {
		t.Fatal(retired, err)
	}
	if err := os.Chmod(retired[0], 0o440); err != nil {
		t.Fatal(err)
	}
	if _, err := vault.FromFile(file); err == nil || !strings.Contains(err.Error(), "0400") {
		t.Errorf("%v, want an error that asks for 0400", err)
	}
}

// What a killed rotation leaves is in nobody's way.
func TestRotateAfterOneThatWasKilled(t *testing.T) {
	t.Parallel()
	v, file := newVault(t)
	sealed, err := v.Seal([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"identity.next", ".identity-123"} {
		if err := os.WriteFile(filepath.Join(folder, left), content, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	r := string(v.Recipient()) // killed after the old one was kept and before the new one took its place
	if err := os.Link(file, file+".retired-"+r[len(r)-12:]); err != nil {
		t.Fatal(err)
	}
	rotated, err := vault.Rotate(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rotated.Open(sealed); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("%d files, %v, want two", len(entries), err)
	}
}

// SECRET-03: of several identities in the environment the first one seals.
func TestSeveralInTheEnvironment(t *testing.T) {
	t.Parallel()
	secrets := make([]string, 2)
	vaults := make([]*vault.Vault, 2)
	for i := range secrets {
		v, file := newVault(t)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, secrets[i], _ = strings.Cut(strings.TrimSpace(string(content)), "\n")
		vaults[i] = v
	}
	both, err := vault.FromEnvironment(secrets[0] + " " + secrets[1])
	if err != nil || both.Recipient() != vaults[0].Recipient() {
		t.Fatalf("%v; it seals for another than the first", err)
	}
	for _, v := range vaults {
		sealed, err := v.Seal([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := both.Open(sealed); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"", " ", secrets[0] + ",", secrets[0] + " x"} {
		if _, err := vault.FromEnvironment(wrong); err == nil || strings.Contains(err.Error(), secrets[0][20:]) {
			t.Errorf("%d characters: %v", len(wrong), err)
		}
	}
}
