package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A File keeps what the command line remembers between two commands. Several
// commands may run at once: whoever changes it holds the lock beside it.
type File struct{ path string }

// contents is the file as it is written.
type contents struct {
	Last        string           `json:"last,omitempty"` // the deployment of the last login
	Deployments map[string]entry `json:"deployments"`
}

// An entry is one deployment where somebody has signed in.
type entry struct {
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	ExpiresAt    time.Time `json:"expires_at"`
}

// DefaultFile is where credentials are kept: under XDG_CONFIG_HOME, or else in
// .config of the home folder.
func DefaultFile(getenv func(string) string) (*File, error) {
	config := getenv("XDG_CONFIG_HOME")
	if config == "" {
		home := getenv("HOME")
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return nil, errors.New("neither XDG_CONFIG_HOME nor HOME says where to keep credentials")
			}
		}
		config = filepath.Join(home, ".config")
	}
	return &File{filepath.Join(config, "pbmb", "credentials.json")}, nil
}

// Path is where the file is.
func (f *File) Path() string { return f.path }

// read returns what is remembered; where there is no file, nothing is. A file
// that others may read is refused: who could read it has the tokens already, so
// tightening it in silence would hide what happened.
func (f *File) read() (contents, error) {
	c := contents{Deployments: map[string]entry{}}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("looking at %s: %w", f.path, err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return c, fmt.Errorf("%s may be read by others (mode %04o): run chmod 600 %[1]s, and pbmb login again if somebody could have read it", f.path, info.Mode().Perm())
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return c, fmt.Errorf("reading %s: %w", f.path, err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("%s is damaged: remove it and run pbmb login", f.path)
	}
	if c.Deployments == nil {
		c.Deployments = map[string]entry{}
	}
	return c, nil
}

// update changes what is remembered, alone: change sees what the command before
// wrote. Nothing is written where it returns an error.
func (f *File) update(change func(*contents) error) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("making a folder for credentials: %w", err)
	}
	lock := f.path + ".lock"
	made, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600) // before the library makes it for everybody
	if err != nil {
		return fmt.Errorf("making a lock beside %s: %w", f.path, err)
	}
	made.Close()
	unlock, err := lockedfile.MutexAt(lock).Lock()
	if err != nil {
		return fmt.Errorf("locking %s: %w", f.path, err)
	}
	defer unlock()
	c, err := f.read()
	if err != nil {
		return err
	}
	if err := change(&c); err != nil {
		return err
	}
	return f.write(c)
}

// write replaces the file as a whole, so that nobody ever reads half of it.
func (f *File) write(c contents) (err error) {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding credentials: %w", err)
	}
	// CreateTemp gives mode 0600 whatever the umask.
	temporary, err := os.CreateTemp(filepath.Dir(f.path), ".credentials-*")
	if err != nil {
		return fmt.Errorf("writing credentials: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(temporary.Name())
			err = fmt.Errorf("writing %s: %w", f.path, err)
		}
	}()
	if _, err := temporary.Write(append(raw, '\n')); err != nil {
		temporary.Close()
		return err
	}
	if err := temporary.Sync(); err != nil {
		temporary.Close()
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.path)
}
