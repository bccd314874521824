package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bin is the built program.
var bin string

func TestMain(m *testing.M) {
	if address := os.Getenv(echoEnv); address != "" {
		serveBareEcho(address)
	}
	if site := os.Getenv(foreignEnv); site != "" {
		os.Exit(runForeignDemo(site))
	}
	if _, err := os.Stat("node_modules/@modelcontextprotocol/sdk"); err != nil {
		fmt.Println("skipping the end-to-end tests: run scripts/setup test first")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pbmb-e2e-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if bin = os.Getenv("PBMB_BIN"); bin != "" { // built already
		return m.Run()
	}
	bin = filepath.Join(dir, "pbmb")
	build := exec.Command("go", "build", "-o", bin, "../cmd/pbmb")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("building pbmb: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A demo is a running `pbmb demo`.
type demo struct {
	URL       string `json:"url"`
	MCPURL    string `json:"mcp_url"`
	SampleURL string `json:"sample_url"`
	PID       int    `json:"pid"`
	People    []struct {
		Email string   `json:"email"`
		Roles []string `json:"roles"`
	} `json:"people"`

	ReadyIn time.Duration `json:"-"`
	out     *bytes.Buffer
	command *exec.Cmd
	ended   chan error
}

// newData returns an empty data folder in a place that the database's user can
// reach, which t.TempDir is not where the tests run as root.
func newData(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pbmb-e2e-data-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

// newDemo starts a demo on free ports and waits until it is ready.
func newDemo(t *testing.T, data string, flags ...string) *demo {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	args := append([]string{"demo", "--data", data, "--listen", "127.0.0.1:0", "--sample-listen", "127.0.0.1:0", "--ready-file", ready}, flags...)
	return startDemo(t, exec.Command(bin, args...), ready)
}

// startDemo starts the demo of command, which takes this machine for its proxy: each
// client of a test can say that it comes from an address of its own.
func startDemo(t *testing.T, command *exec.Cmd, ready string) *demo {
	t.Helper()
	command.Env = append(command.Environ(), "TRUSTED_PROXY=127.0.0.1")
	d := &demo{out: &bytes.Buffer{}, ended: make(chan error, 1), command: command}
	d.command.Dir = "../.." // where scripts/cerbos is
	d.command.Stdout, d.command.Stderr = d.out, d.out
	start := time.Now()
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.ended <- d.command.Wait() }()
	t.Cleanup(func() { d.stop(t) })

	deadline := time.NewTimer(90 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-d.ended:
			d.ended <- err
			t.Fatalf("the demo ended before it was ready: %v\n%s", err, d.out)
		case <-deadline.C:
			t.Fatalf("the demo is not ready after 90 s\n%s", d.out)
		case <-tick.C:
			raw, err := os.ReadFile(ready)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil && json.Unmarshal(raw, d) == nil && d.URL != "" {
				d.ReadyIn = time.Since(start)
				return d
			}
		}
	}
}

// stop ends the demo as Ctrl-C does and waits until it has.
func (d *demo) stop(t *testing.T) {
	t.Helper()
	if d.command.ProcessState != nil {
		return
	}
	d.command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.ended:
		d.ended <- err
		if err != nil {
			t.Errorf("the demo ended with %v\n%s", err, d.out)
		}
	case <-time.After(40 * time.Second):
		d.command.Process.Kill()
		t.Errorf("the demo did not stop\n%s", d.out)
	}
	if t.Failed() {
		t.Logf("what the demo printed:\n%s", d.out)
	}
}

// node runs one of the client scripts and reads the JSON that it prints.
func node(t *testing.T, into any, stdin any, script string, args ...string) {
	t.Helper()
	input, err := json.Marshal(stdin)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	c.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("node %s %q: %v\n%s", script, args, err, stderr.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("node %s printed %q: %v", script, out, err)
	}
}

// A call is one tool call; a session what happened in one.
type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

type toolResult struct {
	Tool       string          `json:"tool"`
	IsError    bool            `json:"isError"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Thrown     string          `json:"thrown"`
	Meta       map[string]any  `json:"meta"`
}

type session struct {
	ConnectedMS   int               `json:"connected_ms"`
	Instructions  string            `json:"instructions"`
	Protocol      string            `json:"protocol"`
	Session       *string           `json:"session"`
	Authorization map[string]string `json:"authorization"`
	Screen        map[string]any    `json:"screen"`
	Seen          []string          `json:"seen"`
	ISS           string            `json:"iss"`
	State         string            `json:"state"`
	Token         map[string]any    `json:"token"`
	TokenHeader   map[string]any    `json:"token_header"`
	AccessToken   string            `json:"access_token"`
	Tools         []map[string]any  `json:"tools"`
	Results       []toolResult      `json:"results"`
	Refreshed     bool              `json:"refreshed"`
	AfterRefresh  toolResult        `json:"after_refresh"`
}

// connect runs one session of an SDK generation as a person.
func (d *demo) connect(t *testing.T, generation, email string, calls ...call) session {
	t.Helper()
	if calls == nil {
		calls = []call{}
	}
	var s session
	node(t, &s, calls, "mcp.mjs", generation, d.MCPURL, email)
	return s
}

type restCall struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   any    `json:"body,omitempty"`
}

type restAnswer struct {
	Status  int               `json:"status"`
	Body    map[string]any    `json:"body"`
	Headers map[string]string `json:"headers"`
}

// rest makes calls as a person, by browser session.
func (d *demo) rest(t *testing.T, email string, calls ...restCall) []restAnswer {
	t.Helper()
	var answers []restAnswer
	node(t, &answers, calls, "rest.mjs", d.URL, email)
	return answers
}
