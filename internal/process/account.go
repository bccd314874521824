package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// An Account is who a child runs as, and so who owns the files that it writes.
// The zero value is who we are.
type Account struct {
	Name       string
	Credential *syscall.Credential // nil for who we are
}

// Unprivileged is the account for children that must not run as root: our own,
// or the user postgres where we are root.
func Unprivileged() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{}, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return Account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres for it")
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return Account{}, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return Account{}, err
	}
	return Account{found.Username, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// Give makes the account the owner of a file or folder.
func (a Account) Give(path string) error {
	if a.Credential == nil {
		return nil
	}
	return os.Chown(path, int(a.Credential.Uid), int(a.Credential.Gid))
}

// Reaches returns an error that names the first folder on the way to path, path
// included, that the account cannot pass.
func (a Account) Reaches(path string) error {
	if a.Credential == nil {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	var closed string
	for folder := path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if !a.passes(info) {
			closed = folder // the one nearest to the root is found last
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	if closed != "" {
		return fmt.Errorf("%s cannot be reached by the user %s, since %s is closed to others", path, a.Name, closed)
	}
	return nil
}

func (a Account) passes(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case stat.Uid == a.Credential.Uid:
			return mode&0o100 != 0
		case stat.Gid == a.Credential.Gid:
			return mode&0o010 != 0
		}
	}
	return mode&0o001 != 0
}
