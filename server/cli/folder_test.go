package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pbmb/pbmb/policies/cerbos"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// This test binary is also the docker command of a test.
func init() {
	if filepath.Base(os.Args[0]) == "docker" {
		os.Exit(docker(os.Args[1:]))
	}
}

// docker is a Docker whose one image is the Cerbos program that CERBOS_PROGRAM
// names: it shows the program what is mounted, under the paths of the container,
// and publishes its port. It writes each command line to DOCKER_LOG.
func docker(args []string) int {
	log, err := os.OpenFile(os.Getenv("DOCKER_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(log).Encode(args); err != nil {
		panic(err)
	}
	switch {
	case os.Getenv("DOCKER_IS") == "stopped":
		fmt.Fprintln(os.Stderr, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
		return 1
	case args[0] != "run":
		return 0
	case os.Getenv("DOCKER_IS") == "offline":
		fmt.Fprintf(os.Stderr, "Unable to find image %q locally\ndocker: Error response from daemon: Get \"https://ghcr.io/v2/\": dial tcp: lookup ghcr.io: no such host\n\nRun 'docker run --help' for more information\n", cerbos.Image)
		return 125
	}
	root, err := os.MkdirTemp("", "docker")
	if err != nil {
		panic(err)
	}
	published := ""
	i := 1
	for ; args[i] != cerbos.Image; i++ {
		switch args[i] {
		case "--volume":
			i++
			parts := strings.Split(args[i], ":")
			if len(parts) != 3 || parts[2] != "ro" {
				fmt.Fprintln(os.Stderr, "mounted to be written: "+args[i])
				return 125
			}
			to := filepath.Join(root, parts[1])
			if content, err := os.ReadFile(parts[0]); err == nil {
				content = bytes.ReplaceAll(content, []byte(`"/policies"`), []byte(`"`+root+`/policies"`))
				content = bytes.ReplaceAll(content, []byte(`":3593"`), []byte(`"`+published+`"`))
				content = bytes.ReplaceAll(content, []byte(`":3592"`), []byte(`"127.0.0.1:0"`))
				err = os.WriteFile(to, content, 0o600)
				if err != nil {
					panic(err)
				}
			} else if err := os.CopyFS(to, os.DirFS(parts[0])); err != nil {
				panic(err)
			}
		case "--publish":
			i++
			published = strings.TrimSuffix(args[i], ":3593")
		}
	}
	program := os.Getenv("CERBOS_PROGRAM")
	run := []string{program}
	for _, arg := range args[i+1:] {
		arg = strings.Replace(arg, "--config=/", "--config="+root+"/", 1)
		if arg == "/policies" {
			arg = root + arg
		}
		run = append(run, arg)
	}
	panic(syscall.Exec(program, run, os.Environ()))
}

// asDocker puts docker on the path, alone, in the state that is. The returned
// function has the command lines that it was given.
func asDocker(t *testing.T, is string) (asked func() [][]string) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(executable, filepath.Join(path, "docker")); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(path, "log")
	t.Setenv("PATH", path)
	t.Setenv("PBMB_CERBOS", "")
	t.Setenv("DOCKER_LOG", log)
	t.Setenv("DOCKER_IS", is)
	t.Setenv("CERBOS_PROGRAM", cerbostest.Binary(t))
	return func() (lines [][]string) {
		content, err := os.ReadFile(log)
		if err != nil {
			return nil
		}
		for line := range bytes.Lines(content) {
			var args []string
			if err := json.Unmarshal(line, &args); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, args)
		}
		return lines
	}
}

// withProgram has the pinned program be found, and no Docker.
func withProgram(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("PBMB_CERBOS", cerbostest.Binary(t))
}

func runPBMB(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // nobody is signed in anywhere
	var o, e bytes.Buffer
	code = cli.Main(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// filledIn are bootstrap values that hold.
var filledIn = map[string]string{
	"PUBLIC_BASE_URL":       "https://pbmb.example.com",
	"DATABASE_URL_MIGRATOR": "postgres://migrator:swordfish@db/pbmb",
	"DATABASE_URL_API":      "postgres://api_rw:swordfish@db/pbmb",
	"DATABASE_URL_WORKER":   "postgres://worker_rw:swordfish@db/pbmb",
	"CERBOS_ADDRESS":        "cerbos:3593",
	"POWERBI_TENANT_ID":     "11111111-1111-4111-8111-111111111111",
	"POWERBI_CLIENT_ID":     "22222222-2222-4222-8222-222222222222",
	"SCANNER_CLIENT_ID":     "33333333-3333-4333-8333-333333333333",
}

// newFolder is a deployment's folder that init made, filled in, with an example's
// policies and tests.
func newFolder(t *testing.T, example string) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, errOut := runPBMB(t, "init", dir); code != 0 {
		t.Fatal(errOut)
	}
	env := read(t, dir, ".env")
	for name, value := range filledIn {
		env = strings.Replace(env, "\n"+name+"=\n", "\n"+name+"="+value+"\n", 1)
	}
	write(t, dir, ".env", env)
	if example != "" {
		from := os.DirFS(filepath.Join("../../policies/layering_tests", example))
		if err := os.CopyFS(filepath.Join(dir, "access"), from); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, dir, name, from, to string) {
	t.Helper()
	content := read(t, dir, name)
	if !strings.Contains(content, from) {
		t.Fatalf("%s has no %q", name, from)
	}
	write(t, dir, name, strings.Replace(content, from, to, 1))
}

// ROLES-40 SECRET-19: init makes the folders and the file that its owner alone
// reads, whatever the umask, and changes nothing that is there.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	before := syscall.Umask(0)
	code, out, errOut := runPBMB(t, "init", dir)
	syscall.Umask(before)
	if code != 0 || out != "made access/policies/\nmade access/tests/\nmade .env\nFill in .env next; pbmb check says what is missing.\n" {
		t.Fatalf("ended with %d\n%s%s", code, out, errOut)
	}
	info, err := os.Stat(filepath.Join(dir, ".env"))
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the mode is %v, %v", info.Mode(), err)
	}
	for _, folder := range []string{"access/policies", "access/tests"} {
		if info, err := os.Stat(filepath.Join(dir, folder)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", folder, err)
		}
	}
	write(t, dir, ".env", "AUTH_SECRET=mine\n")
	write(t, dir, "access/policies/README.md", "mine")
	write(t, dir, "access/policies/book.yaml", "mine")
	if err := os.Remove(filepath.Join(dir, "access/tests/README.md")); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := runPBMB(t, "init", dir); code != 0 || out != "Everything was there already.\n" {
		t.Errorf("the second time: %d\n%s%s", code, out, errOut)
	}
	if read(t, dir, ".env") != "AUTH_SECRET=mine\n" || read(t, dir, "access/policies/README.md") != "mine" || read(t, dir, "access/policies/book.yaml") != "mine" {
		t.Error("something that was there is another now")
	}
	other := t.TempDir()
	t.Chdir(other)
	if code, _, errOut := runPBMB(t, "init"); code != 0 {
		t.Fatal(errOut)
	}
	if a, b := newFolder(t, ""), read(t, other, ".env"); read(t, a, ".env") == b {
		t.Error("two deployments have one secret")
	}
}

const allWell = "ok policy scopes\nok policy tests (39 in Cerbos 0.55.0)\nok describe rules (2 translate to SQL)\nok .env\n"

// ROLES-55 ROLES-56 ROLES-59 ROLES-89: nothing runs but the program; by its name
// and from within, each example passes.
func TestCheckPasses(t *testing.T) {
	withProgram(t)
	dir := newFolder(t, "override")
	if code, out, errOut := runPBMB(t, "check", dir); code != 0 || out != allWell {
		t.Errorf("ended with %d\n%s%s", code, out, errOut)
	}
	narrowing := newFolder(t, "narrowing")
	t.Chdir(narrowing)
	if code, out, errOut := runPBMB(t, "check"); code != 0 || out != "ok policy scopes\nok policy tests (20 in Cerbos 0.55.0)\nok describe rules (none)\nok .env\n" {
		t.Errorf("ended with %d\n%s%s", code, out, errOut)
	}
	if code, _, errOut := runPBMB(t, "check", filepath.Join(dir, "nowhere")); code != 1 || !strings.Contains(errOut, "pbmb init") {
		t.Errorf("a folder that is not there: %d, %s", code, errOut)
	}
	if code, _, _ := runPBMB(t, "check", dir, dir); code != 2 {
		t.Errorf("two folders: %d", code)
	}
}

// ROLES-57: each step fails by itself, the others are taken all the same, and what
// is wrong is named.
func TestCheckFails(t *testing.T) {
	withProgram(t)
	const policy, dataset = "access/policies/book.yaml", "access/policies/dataset.yaml"
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		failed string // the steps
		says   []string
	}{
		"ROLES-58 a policy that allows more": {func(t *testing.T, dir string) {
			replace(t, dir, policy, "[curate, verify]", "[curate, verify, approve]")
		}, "policy tests", []string{"metric steward (access/tests/book_test.yaml)", "by role", "approve [FAILED]"}},
		"ROLES-58 a policy that does not compile": {func(t *testing.T, dir string) {
			replace(t, dir, policy, "roles:", "rolez:")
		}, "policy tests", []string{"access/policies/book.yaml:11:7", `unknown field "rolez"`}},
		"ROLES-45 a test file without tests": {func(t *testing.T, dir string) {
			replace(t, dir, "access/tests/book_test.yaml", "\ntests:", "\nunknown:")
		}, "policy tests", []string{"access/tests/book_test.yaml"}},
		"ROLES-79 another scope": {func(t *testing.T, dir string) {
			replace(t, dir, policy, "scope: deployment", `scope: ""`)
			replace(t, dir, dataset, "scope: deployment", "scope: elsewhere")
		}, "policy scopes,policy tests", []string{"access/policies/book.yaml:6, access/policies/dataset.yaml:7: the scope is not deployment"}},
		"ROLES-79 two choices": {func(t *testing.T, dir string) {
			replace(t, dir, policy, "OVERRIDE_PARENT", "REQUIRE_PARENTAL_CONSENT_FOR_ALLOWS")
			// Which of the two Cerbos takes changes: the tests would pass at times.
			replace(t, dir, "access/tests/book_test.yaml", "\ntests:", "\nunknown:")
		}, "policy scopes,policy tests", []string{"access/policies/book.yaml:7, access/policies/dataset.yaml:8: they disagree on scopePermissions"}},
		"a file that is not YAML": {func(t *testing.T, dir string) {
			write(t, dir, policy, "resourcePolicy: [\n")
		}, "policy scopes,policy tests,describe rules", []string{"access/policies/book.yaml:1: it is not YAML"}},
		"ROLES-61 an operator": {func(t *testing.T, dir string) {
			replace(t, dir, dataset, `R.attr.endorsement == "Certified"`, `R.attr.endorsement == "Certified" || R.attr.sensitivity_label.startsWith("Pub")`)
		}, "describe rules", []string{`access/policies/dataset.yaml:17: R.attr.endorsement == "Certified" || R.attr.sensitivity_label.startsWith("Pub"): `, `the operator "startsWith"`}},
		"ROLES-61 an attribute, in a rule that denies": {func(t *testing.T, dir string) {
			replace(t, dir, dataset, `R.id == "00000000-0000-4000-8000-00000000dead"`, `R.id == "00000000-0000-4000-8000-00000000dead" || "Old" in R.attr.app_names`)
		}, "describe rules", []string{"access/policies/dataset.yaml:29: ", "app_names"}},
		"ROLES-61 an attribute behind a variable": {func(t *testing.T, dir string) {
			replace(t, dir, dataset, "  rules:\n", "  variables:\n    local:\n      old: R.attr.custom.old == true\n  rules:\n")
			replace(t, dir, dataset, `R.attr.endorsement == "Certified"`, `R.attr.endorsement == "Certified" && !V.old`)
		}, "policy tests,describe rules", []string{"access/policies/dataset.yaml:20: ", "!V.old"}},
		"ROLES-61 an attribute behind a derived role": {func(t *testing.T, dir string) {
			write(t, dir, "access/policies/roles.yaml", `apiVersion: api.cerbos.dev/v1
derivedRoles:
  name: mine
  definitions:
    - name: neighbour
      parentRoles: [data_owner]
      condition: {match: {expr: R.attr.workspace_name == "Sales"}}
`)
			replace(t, dir, dataset, "  rules:\n", "  importDerivedRoles: [mine]\n  rules:\n    - actions: [describe]\n      effect: EFFECT_ALLOW\n      derivedRoles: [neighbour]\n")
		}, "describe rules", []string{"access/policies/dataset.yaml:11: the rule as a whole", "workspace_name"}},
		"ROLES-53 others may read it": {func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, ".env"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, ".env", []string{"0644", "chmod 600 .env"}},
		"ROLES-52 no file": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, ".env")); err != nil {
				t.Fatal(err)
			}
		}, ".env", []string{"there is no .env: pbmb init"}},
		"ROLES-52 a line that is none": {func(t *testing.T, dir string) {
			write(t, dir, ".env", "# one\nAUTH_SECRET=swordfish\nDATABASE URL swordfish\nPUBLIC_BASE_URL=x\n")
		}, ".env", []string{"line 3 is not NAME=value"}},
		"ROLES-51 a book.yml that is not YAML": {func(t *testing.T, dir string) {
			write(t, dir, "book.yml", "settings:\n  query.timeout_seconds: [swordfish\nroles: x\n")
		}, "book.yml", []string{"line "}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newFolder(t, "override")
			c.change(t, dir)
			code, out, errOut := runPBMB(t, "check", dir)
			var failed, taken []string
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if step, found := strings.CutPrefix(line, "failed "); found {
					failed, taken = append(failed, step), append(taken, step)
				} else if step, found := strings.CutPrefix(line, "ok "); found {
					step, _, _ = strings.Cut(step, " (")
					taken = append(taken, step)
				}
			}
			if code != 1 || strings.Join(failed, ",") != c.failed {
				t.Errorf("ended with %d, and these failed: %q, want %q\n%s%s", code, failed, c.failed, out, errOut)
			}
			if want := []string{"policy scopes", "policy tests", "describe rules", ".env"}; !slices.Equal(taken[:min(4, len(taken))], want) {
				t.Errorf("taken were %q", taken)
			}
			for _, say := range c.says {
				if !strings.Contains(out, say) {
					t.Errorf("it does not say %q:\n%s", say, out)
				}
			}
			if strings.Contains(out+errOut, "swordfish") {
				t.Errorf("a value is printed:\n%s%s", out, errOut)
			}
		})
	}
}

// ROLES-52: every bootstrap value that is missing is named, and no value printed.
func TestCheckNamesEveryMissingValue(t *testing.T) {
	withProgram(t)
	dir := newFolder(t, "")
	whole := read(t, dir, ".env")
	names := []string{"AUTH_SECRET"}
	for name := range filledIn {
		names = append(names, name)
	}
	for _, name := range names {
		var kept []string
		for line := range strings.Lines(whole) {
			if !strings.HasPrefix(line, name+"=") {
				kept = append(kept, line)
			}
		}
		write(t, dir, ".env", strings.Join(kept, ""))
		code, out, errOut := runPBMB(t, "check", dir)
		if code != 1 || !strings.Contains(out, "failed .env\n  "+name+" must ") || strings.Count(out, "\n  ") != 1 {
			t.Errorf("without %s it ended with %d\n%s", name, code, out)
		}
		for _, value := range filledIn {
			if strings.Contains(out+errOut, value) {
				t.Errorf("without %s it prints a value:\n%s", name, out)
			}
		}
	}
}

// ROLES-51: a book.yml is not called right, since this version looks at its form alone.
func TestCheckOfABook(t *testing.T) {
	withProgram(t)
	dir := newFolder(t, "")
	write(t, dir, "book.yml", "settings:\n  query.timeout_seconds: 90\n")
	code, out, _ := runPBMB(t, "check", dir)
	if code != 0 || !strings.Contains(out, "\nunchecked book.yml (it is YAML") || strings.Contains(out, "ok book.yml") {
		t.Errorf("ended with %d\n%s", code, out)
	}
	write(t, dir, "book.yml", strings.Repeat("#", 256<<10+1))
	if code, out, _ := runPBMB(t, "check", dir); code != 1 || !strings.Contains(out, "262145") {
		t.Errorf("a large one: %d\n%s", code, out)
	}
}

// ROLES-54: in Docker it is the image by its pinned digest, and both sets of
// policies are mounted read-only.
func TestCheckInDocker(t *testing.T) {
	asked := asDocker(t, "running")
	dir := newFolder(t, "override")
	if code, out, errOut := runPBMB(t, "check", "--matrix", dir); code != 0 || !strings.HasPrefix(out, allWell) || !strings.Contains(out, "* 2 differences") {
		t.Fatalf("ended with %d\n%s%s", code, out, errOut)
	}
	runs := 0
	for _, args := range asked() {
		if args[0] != "run" {
			continue
		}
		runs++
		line := strings.Join(args, " ")
		if !slices.Contains(args, "ghcr.io/cerbos/cerbos@sha256:4b9d3b58c4f11c1b8953bc798d8d086e64f276882253ab169625fddc7f432515") {
			t.Errorf("the image is not the pinned one: %s", line)
		}
		if slices.Contains(args, "compile") {
			for _, want := range []string{
				":/policies/shipped:ro", dir + "/access/policies:/policies/access/policies:ro", dir + "/access/tests:/policies/access/tests:ro", "--network none",
			} {
				if !strings.Contains(line, want) {
					t.Errorf("the tests run without %s: %s", want, line)
				}
			}
		}
	}
	if runs != 4 {
		t.Errorf("docker was run %d times, want for the tests, the rules and twice for the matrix", runs)
	}
	replace(t, dir, "access/policies/book.yaml", "[curate, verify]", "[curate, verify, approve]")
	if code, out, _ := runPBMB(t, "check", dir); code != 1 || !strings.Contains(out, "approve [FAILED]") {
		t.Errorf("a failing test: %d\n%s", code, out)
	}
}

// ROLES-54 ROLES-63: without a Docker that runs and without the program, with a
// program of another version, or without the image, the step says so in a
// sentence, and the others are taken.
func TestCheckWithoutAnEngine(t *testing.T) {
	other := filepath.Join(t.TempDir(), "cerbos")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho 0.54.0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		docker, program string
		says            string
	}{
		"neither":                 {"", "", "neither Docker nor Cerbos 0.55.0 is here: start Docker, or name that program with PBMB_CERBOS"},
		"a Docker that is not up": {"stopped", "", "neither Docker nor Cerbos 0.55.0 is here: start Docker, or name that program with PBMB_CERBOS"},
		"another version":         {"", other, other + " is Cerbos 0.54.0, and policies are tested in 0.55.0 alone: install that, or start Docker"},
		"an image out of reach":   {"offline", "", `the image of Cerbos 0.55.0 cannot be run (Get "https://ghcr.io/v2/": dial tcp: lookup ghcr.io: no such host): see whether this machine reaches ghcr.io, or name that program with PBMB_CERBOS`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newFolder(t, "narrowing")
			if c.docker != "" {
				asDocker(t, c.docker)
			} else {
				t.Setenv("PATH", t.TempDir())
			}
			t.Setenv("PBMB_CERBOS", c.program)
			t.Chdir(dir) // no checkout is around
			code, out, errOut := runPBMB(t, "check")
			want := "ok policy scopes\nfailed policy tests\n  " + c.says + "\nok describe rules (none)\nok .env\n"
			if code != 1 || out != want {
				t.Errorf("ended with %d\n%s%s\nwant\n%s", code, out, errOut, want)
			}
		})
	}
	// Where Docker is not up, the program is there for it.
	asDocker(t, "stopped")
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Dir(linkTo(t, cerbostest.Binary(t), "cerbos")))
	if code, out, errOut := runPBMB(t, "check", newFolder(t, "override")); code != 0 || out != allWell {
		t.Errorf("with the program: %d\n%s%s", code, out, errOut)
	}
}

func linkTo(t *testing.T, file, name string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// ROLES-54: the version that is asked for is the one that scripts/cerbos installs.
func TestThePinnedVersion(t *testing.T) {
	if pinned := read(t, "../../scripts/cerbos", "package.json"); !strings.Contains(pinned, `"`+cerbos.Version+`"`) {
		t.Errorf("scripts/cerbos has not %s:\n%s", cerbos.Version, pinned)
	}
	out, err := exec.Command(cerbostest.Binary(t), "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), cerbos.Version+"\n") {
		t.Errorf("the program is %s, %v", out, err)
	}
}

// ROLES-62: what each role may, and exactly the two things that the example of a
// metric steward changes.
func TestMatrix(t *testing.T) {
	withProgram(t)
	dir := newFolder(t, "override")
	if err := os.Remove(filepath.Join(dir, "access/policies/dataset.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "access/tests/dataset_test.yaml")); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runPBMB(t, "check", "--matrix", dir)
	_, matrix, found := strings.Cut(out, "ok .env\n\n")
	if code != 0 || !found {
		t.Fatalf("ended with %d\n%s%s", code, out, errOut)
	}
	golden := filepath.Join("testdata", "matrix.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(matrix), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, "testdata", "matrix.txt"); matrix != want {
		t.Errorf("the matrix is\n%s\nwant\n%s", matrix, want)
	}
}
