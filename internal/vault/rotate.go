package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	nextSuffix = ".next" // of a new identity, before it takes the old one's place

	// retiredSuffix comes between the name of an identity's file and what tells the
	// retired ones apart.
	retiredSuffix = ".retired-"
)

// Rotate puts a new identity into the file at path and keeps the old one beside
// it, since what is sealed for it is resealed afterwards and a running process
// goes on sealing for it. It returns the vault of both.
//
// At no moment is there a row in the database whose identity is in no file: the
// old one is kept before the new one takes its place. A rotation that breaks off
// leaves at most an identity more than before.
func Rotate(path string) (*Vault, error) {
	old, err := FromFile(path)
	if err != nil {
		return nil, err
	}
	if err := replaceFile(path, old.Recipient()); err != nil {
		return nil, fmt.Errorf("rotating the identity in %s: %w", path, err)
	}
	return FromFile(path)
}

func replaceFile(path string, old Recipient) error {
	if err := removeUnfinished(path); err != nil {
		return err
	}
	next := path + nextSuffix
	if err := createFile(path, next); err != nil {
		return err
	}
	if err := giveTo(next, path); err != nil {
		return err
	}
	retired := path + retiredSuffix + string(old[len(old)-12:])
	if err := os.Link(path, retired); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := syncFolder(path); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return syncFolder(path)
}

// removeUnfinished removes what a rotation left that was killed before anything was
// sealed for its new identity.
func removeUnfinished(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(path)+nextSuffix && !strings.HasPrefix(e.Name(), unfinished(path)) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// giveTo makes whoever owns the file at like the owner of file: an operator may
// rotate as root what a process reads that is not.
func giveTo(file, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Chown(file, int(owner.Uid), int(owner.Gid))
}

// Retired returns the identities that the vault only opens with.
func (v *Vault) Retired() []Recipient {
	v.mu.RLock()
	defer v.mu.RUnlock()
	recipients := make([]Recipient, len(v.others))
	for i, o := range v.others {
		recipients[i] = o.recipient()
	}
	return recipients
}

// RemoveRetired removes the files of retired identities but those in use, and
// returns how many it removed.
func (v *Vault) RemoveRetired(inUse map[Recipient]bool) (int, error) {
	if err := v.reload(); err != nil {
		return 0, err
	}
	v.mu.RLock()
	others := v.others
	v.mu.RUnlock()
	removed := 0
	for _, o := range others {
		if o.file == "" || inUse[o.recipient()] {
			continue
		}
		if err := os.Remove(o.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("removing a retired identity: %w", err)
		}
		removed++
	}
	if removed == 0 {
		return 0, nil
	}
	return removed, v.reload()
}

// reload reads the files beside the vault's own again. What the environment gave
// stays as it is.
func (v *Vault) reload() error {
	if v.path == "" {
		return nil
	}
	folder, name := filepath.Split(v.path)
	entries, err := os.ReadDir(filepath.Dir(v.path))
	if err != nil {
		return fmt.Errorf("looking for retired identities: %w", err)
	}
	files := []string{v.path} // another identity's than ours after a rotation
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+retiredSuffix) {
			files = append(files, folder+e.Name())
		}
	}
	var others []other
	for _, file := range files {
		identity, err := readFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since we listed it
		}
		if err != nil {
			return fmt.Errorf("the identity in %s: %w", file, err)
		}
		if recipientOf(identity) == v.Recipient() {
			continue
		}
		o := other{identity: identity}
		if file != v.path {
			o.file = file
		}
		others = append(others, o)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.others = others
	return nil
}
