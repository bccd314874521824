package demo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pbmb/pbmb/internal/process"
	"github.com/pbmb/pbmb/server/config"
	deploymentfolder "github.com/pbmb/pbmb/server/folder"
)

// DefaultData is the folder that `pbmb demo` keeps its data in unless it is
// told otherwise. That of root is one which the user that PostgreSQL runs as
// can reach.
func DefaultData(getenv func(string) string) string {
	if os.Geteuid() == 0 {
		return "/var/lib/pbmb/demo"
	}
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "pbmb", "demo")
	}
	return filepath.Join(getenv("HOME"), ".local", "share", "pbmb", "demo")
}

// A folder is the demo's data, used by one demo at a time.
type folder struct {
	path    string
	runtime string // a short path for sockets, gone when the demo stops
	lock    *os.File
	account process.Account // who the programs run as
}

// openFolder makes the folder where it is missing and takes it.
func openFolder(path string) (_ *folder, err error) {
	if path == "" {
		return nil, errors.New("--data names no folder")
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	account, err := process.Unprivileged()
	if err != nil {
		return nil, err
	}
	// The programs' user has to pass through, but not to read.
	mode := os.FileMode(0o700)
	if account.Credential != nil {
		mode = 0o711
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used (%w): choose another with --data", path, reason(err))
	}
	if err := account.Reaches(path); err != nil {
		return nil, fmt.Errorf("the data folder %w: choose another with --data", err)
	}
	if err := mayOwn(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used (%w): choose another with --data", path, reason(err))
	}
	f := &folder{path: path, lock: lock, account: account}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	// The kernel lets it go when we die, however we do.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another pbmb demo is using %s: stop it, or choose another folder with --data", path)
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Join(path, "identity"), 0o700); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used (%w): choose another with --data", path, reason(err))
	}
	return f, f.makeRuntime()
}

// mayOwn refuses a folder that has other things in it, since a start replaces and
// removes what stands where its own things go. The lock file tells a demo's folder.
func mayOwn(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("the data folder %s cannot be used (%w): choose another with --data", path, reason(err))
	}
	if len(entries) == 0 {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(path, "lock"))
	if err == nil && (len(content) == 0 || strings.HasPrefix(string(content), runtimePrefix)) {
		return nil
	}
	return fmt.Errorf("the data folder %s has other things in it: choose an empty or a new one with --data", path)
}

const runtimePrefix = "/tmp/pbmb-"

// makeRuntime makes the folder for sockets. The lock file remembers it, for a
// start after a kill to remove.
func (f *folder) makeRuntime() error {
	content, err := os.ReadFile(f.lock.Name())
	if err != nil {
		return err
	}
	if left := string(content); strings.HasPrefix(left, runtimePrefix) && filepath.Dir(left) == "/tmp" {
		os.RemoveAll(left) // gone already, or not ours to remove: either is fine
	}
	f.runtime, err = os.MkdirTemp("/tmp", filepath.Base(runtimePrefix))
	if err != nil {
		return fmt.Errorf("making a folder for sockets: %w", err)
	}
	if err := os.Chmod(f.runtime, 0o711); err != nil {
		return err
	}
	if err := f.lock.Truncate(0); err != nil {
		return err
	}
	_, err = f.lock.WriteAt([]byte(f.runtime), 0)
	return err
}

// sockets makes a folder for a program's socket, closed to everybody but its
// account and root.
func (f *folder) sockets(program string) (string, error) {
	path := filepath.Join(f.runtime, program)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return path, f.account.Give(path)
}

// secret returns a random text that stays the same from start to start.
func (f *folder) secret(name string) (string, error) {
	path := filepath.Join(f.path, name)
	content, err := os.ReadFile(path)
	if err == nil && len(content) >= 32 {
		return string(content), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	value := rand.Text() + rand.Text()
	return value, os.WriteFile(path, []byte(value), 0o600)
}

// writeEnv writes what the processes are started with, as a deployment's folder has
// it, so that pbmb check can look at this one. Nothing reads it to start the demo.
func (f *folder) writeEnv(c config.Config, migrator string) error {
	var b strings.Builder
	b.WriteString("# Written by pbmb demo at each start, for pbmb check.\n")
	for _, v := range [][2]string{
		{"PBMB_ENV", string(c.Environment)}, {"PUBLIC_BASE_URL", c.PublicBaseURL}, {"AUTH_SECRET", c.AuthSecret},
		{"DATABASE_URL_MIGRATOR", migrator}, {"DATABASE_URL_API", c.DatabaseAPI}, {"DATABASE_URL_WORKER", c.DatabaseWorker},
		{"CERBOS_ADDRESS", c.CerbosAddress}, {"POLICIES_DIR", c.PoliciesFolder}, {"IDENTITY_DIR", c.IdentityFolder},
		{"POWERBI_TENANT_ID", c.TenantID}, {"POWERBI_AUTHORITY", c.Authority}, {"POWERBI_GRAPH_URL", c.GraphURL}, {"POWERBI_API_URL", c.APIURL},
		{"POWERBI_CLIENT_ID", c.ClientID}, {"SCANNER_CLIENT_ID", c.ScannerClientID}, {"GOOGLE_ISSUER", c.GoogleIssuer}, {"ALLOW_DEV_SIGN_IN", "1"},
	} {
		fmt.Fprintf(&b, "%s='%s'\n", v[0], v[1]) // as they are: no value of ours has a quote
	}
	path := filepath.Join(f.path, deploymentfolder.EnvFile)
	if err := os.WriteFile(path+".new", []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (f *folder) close() {
	if f.runtime != "" {
		os.RemoveAll(f.runtime) // what stays of it, the next start removes
	}
	f.lock.Close()
}

// reason is why the system refused, without the path, which the sentence around
// it has.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
