package doctest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the top of the repository, from here.
const root = "../.."

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// plain is text without line breaks, marks of emphasis and code, so that a
// sentence is found however it is set.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("*", "", "`", "").Replace(text)), " ")
}

// committed returns the repository's files by path.
func committed(t *testing.T) map[string][]byte {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("this is no git checkout: %v", err)
	}
	files := map[string][]byte{}
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		files[path] = content
	}
	return files
}

// registries answer for packages; which one does is the machine's to say. Their
// names are put together here so that this file does not have them either.
var registries = []string{
	"registry.npmjs" + ".org", "registry.yarnpkg" + ".com", "proxy.golang" + ".org", "sum.golang" + ".org",
	"pypi" + ".org", "files.pythonhosted" + ".org", "index.crates" + ".io",
}

// Every machine has these.
var ofTheSystem = regexp.MustCompile(`^/(bin|dev|etc|lib|lib64|proc|run|sbin|sys|tmp|usr|var)/`)

// absolutePaths are the words of a text that look like a path with a folder in it.
func absolutePaths(text string) (all []string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`=():,;<>[]{}", r) }) {
		if word[0] == '/' && len(word) > 1 && strings.IndexByte(word[1:], '/') > 0 && !ofTheSystem.MatchString(word) {
			all = append(all, word)
		}
	}
	return all
}

func TestNothingOfOneMachineIsCommitted(t *testing.T) {
	for path, content := range committed(t) {
		if bytes.IndexByte(content, 0) >= 0 {
			continue // no text
		}
		for _, host := range registries {
			if bytes.Contains(content, []byte(host)) {
				t.Errorf("%s names %s", path, host)
			}
		}
		for _, found := range absolutePaths(string(content)) {
			if _, err := os.Stat(found); err == nil {
				t.Errorf("%s names %s, which is a path of this machine", path, found)
			}
		}
	}
}

func TestLockFilesPinContent(t *testing.T) {
	exact := regexp.MustCompile(`^(npm:[\w@/.-]+@)?\d+\.\d+\.\d+[\w.+-]*$`)
	for _, folder := range []string{"ui", "server/e2e", "scripts/cerbos"} {
		var wanted struct {
			Dependencies, DevDependencies map[string]string
		}
		if err := json.Unmarshal([]byte(read(t, folder+"/package.json")), &wanted); err != nil {
			t.Fatal(err)
		}
		for _, group := range []map[string]string{wanted.Dependencies, wanted.DevDependencies} {
			for name, version := range group {
				if !exact.MatchString(version) {
					t.Errorf("%s takes %s in version %q, which is not exact", folder, name, version)
				}
			}
		}
		var lock struct {
			Packages map[string]struct{ Version, Integrity, Resolved string }
		}
		if err := json.Unmarshal([]byte(read(t, folder+"/package-lock.json")), &lock); err != nil {
			t.Fatal(err)
		}
		if len(lock.Packages) < 2 {
			t.Errorf("the lock file of %s has no packages", folder)
		}
		for name, p := range lock.Packages {
			if name == "" {
				continue // the folder itself
			}
			if !strings.HasPrefix(p.Integrity, "sha512-") || p.Version == "" {
				t.Errorf("%s: the content of %s is not pinned: %+v", folder, name, p)
			}
			if p.Resolved != "" {
				t.Errorf("%s: %s comes from one place: %s", folder, name, p.Resolved)
			}
		}
	}
}
