package folder

import (
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pbmb/pbmb/policies/deployment"
)

// EnvFile has the bootstrap values.
const EnvFile = ".env"

//go:embed env.example
var envExample string

//go:embed policies.md
var policiesGuide []byte

//go:embed tests.md
var testsGuide []byte

// Init makes what a deployment's folder starts from: the folders of policies and
// their tests, and a file of bootstrap values that only its owner reads, with a
// secret of its own. What is there already stays as it is. It returns the paths
// that it made, below dir, in order.
func Init(dir string) (made []string, err error) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	env := strings.Replace(envExample, "AUTH_SECRET=\n", "AUTH_SECRET="+base64.StdEncoding.EncodeToString(secret)+"\n", 1)
	access, err := InitAccess(dir)
	if err != nil {
		return access, err
	}
	isNew, err := write(filepath.Join(dir, EnvFile), []byte(env), 0o600)
	if isNew {
		access = append(access, EnvFile)
	}
	return access, err
}

// InitAccess makes the folders of policies and their tests alone.
func InitAccess(dir string) (made []string, err error) {
	for _, f := range []struct {
		folder string
		guide  []byte
	}{{deployment.PolicyFolder, policiesGuide}, {deployment.TestFolder, testsGuide}} {
		path := filepath.Join(dir, filepath.FromSlash(f.folder))
		_, statErr := os.Stat(path)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return made, fmt.Errorf("making %s: %w", f.folder, err)
		}
		if !errors.Is(statErr, fs.ErrNotExist) {
			continue // whoever removed the guide has read it
		}
		if _, err := write(filepath.Join(path, "README.md"), f.guide, 0o644); err != nil {
			return made, err
		}
		made = append(made, f.folder+"/")
	}
	return made, nil
}

// write writes a file that is not there yet, and reports whether it was not.
func write(path string, content []byte, mode os.FileMode) (isNew bool, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	// The mode of a new file is cut by the umask alone; no later step opens it.
	if _, err := file.Write(content); err != nil {
		return true, err
	}
	return true, file.Close()
}
