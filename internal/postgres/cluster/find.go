package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What a found PostgreSQL must have (OPS-04): the version of the server, and
// that of pgvector, whose 0.8 brought iterative index scans.
const (
	minimumMajor    = 15
	minimumPgvector = "0.8"
)

// Programs is a PostgreSQL that is installed on this machine.
type Programs struct {
	Bin   string // the folder of initdb and postgres
	Major int
}

// Find looks for the newest PostgreSQL of the distribution's that has
// pgvector, and then for one on PATH. The error says what was found instead.
func Find() (Programs, error) {
	// Debian and Ubuntu keep each major version in a folder of its own, outside
	// of PATH.
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return Programs{}, err
	}
	if server, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(server); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	var (
		found    []Programs
		problems []string
	)
	for _, bin := range folders {
		programs, err := examine(bin)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		found = append(found, programs)
	}
	switch {
	case len(found) > 0:
		return slices.MaxFunc(found, func(a, b Programs) int { return a.Major - b.Major }), nil
	case len(problems) > 0:
		return Programs{}, errors.New(strings.Join(problems, "; "))
	}
	return Programs{}, fmt.Errorf("PostgreSQL %d or later is not installed", minimumMajor)
}

var defaultVersion = regexp.MustCompile(`(?m)^default_version *= *'([^']*)'`)

// examine says whether the programs in bin will do.
func examine(bin string) (Programs, error) {
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := exec.LookPath(filepath.Join(bin, name)); err != nil {
			return Programs{}, fmt.Errorf("%s has no %s", bin, name)
		}
	}
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return Programs{}, fmt.Errorf("%s/postgres does not run: %w", bin, err)
	}
	major, err := majorOf(string(out))
	if err != nil {
		return Programs{}, fmt.Errorf("%s/postgres: %w", bin, err)
	}
	if major < minimumMajor {
		return Programs{}, fmt.Errorf("PostgreSQL %d in %s is older than %d", major, bin, minimumMajor)
	}
	share, err := shareFolder(bin, major)
	if err != nil {
		return Programs{}, err
	}
	control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control"))
	if err != nil {
		return Programs{}, fmt.Errorf("PostgreSQL %d in %s has no pgvector", major, bin)
	}
	version := defaultVersion.FindSubmatch(control)
	if version == nil || !atLeast(string(version[1]), minimumPgvector) {
		return Programs{}, fmt.Errorf("the pgvector of PostgreSQL %d in %s is older than %s", major, bin, minimumPgvector)
	}
	return Programs{Bin: bin, Major: major}, nil
}

// majorOf reads "postgres (PostgreSQL) 15.20 (Debian …)".
func majorOf(version string) (int, error) {
	_, after, found := strings.Cut(version, "(PostgreSQL) ")
	digits := after
	if i := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = after[:i]
	}
	major, err := strconv.Atoi(digits)
	if !found || err != nil {
		return 0, fmt.Errorf("cannot make out the version in %q", strings.TrimSpace(version))
	}
	return major, nil
}

// shareFolder is where extensions lie. Debian installs pg_config only with its
// development package, so its own folder comes first.
func shareFolder(bin string, major int) (string, error) {
	debian := filepath.Join("/usr/share/postgresql", strconv.Itoa(major))
	if strings.HasPrefix(bin, "/usr/lib/postgresql/") {
		return debian, nil
	}
	out, err := exec.Command(filepath.Join(bin, "pg_config"), "--sharedir").Output()
	if err != nil {
		return "", fmt.Errorf("%s/pg_config does not run: %w", bin, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// atLeast compares dotted versions number by number.
func atLeast(version, minimum string) bool {
	have, want := strings.Split(version, "."), strings.Split(minimum, ".")
	for i := range want {
		w, _ := strconv.Atoi(want[i]) // a constant of ours
		h := 0
		if i < len(have) {
			h, _ = strconv.Atoi(have[i]) // what is no number counts as 0
		}
		if h != w {
			return h > w
		}
	}
	return true
}
