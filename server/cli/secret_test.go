package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/pbmb/pbmb/server/cli"
)

// A receiver notes what a command sends to a deployment.
type receiver struct {
	mu   sync.Mutex
	sent []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = append(r.sent, request.Method+" "+request.URL.RequestURI()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{ // the command reads it
			"name": "scanner.client_secret", "about": "a secret", "readers": []string{"worker"}, "check": "readable", "last_four": "-end",
		})
	}))
	t.Cleanup(srv.Close)
	t.Setenv("PBMB_URL", srv.URL)
	t.Setenv("PBMB_TOKEN", "pbmb_sk_test")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return r
}

func (r *receiver) requests() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.sent, "\n")
}

// SECRET-16, CLI-10
func TestASecretIsAskedForWithoutEcho(t *testing.T) {
	r := newReceiver(t)
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shown := &screen{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(shown, terminal) // it ends with the terminal
	}()
	done := make(chan int)
	go func() {
		done <- cli.Main(t.Context(), []string{"admin", "secrets", "set", "scanner.client_secret", "--no-color"}, tty, tty, tty)
	}()
	shown.await(t, "not shown")
	awaitNoEcho(t, tty)
	if _, err := terminal.WriteString("canary-typed-value-end\r"); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("exit %d: %s", code, shown)
	}
	if _, err := terminal.WriteString("echoed again\r"); err != nil {
		t.Fatal(err)
	}
	shown.await(t, "echoed again") // the terminal is as it was
	tty.Close()
	<-copied
	if text := shown.String(); strings.Contains(text, "canary") || !strings.Contains(text, "-end") {
		t.Errorf("the terminal shows %q", text)
	}
	if got, want := r.requests(), `PUT /api/v1/admin/secrets/scanner.client_secret {"value":"canary-typed-value-end"}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

// Who breaks off at the prompt gets a terminal back that shows what they type.
func TestBreakingOffAtThePrompt(t *testing.T) {
	r := newReceiver(t)
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	shown := &screen{}
	go func() { _, _ = io.Copy(shown, terminal) }() // it ends with the terminal
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		done <- cli.Main(ctx, []string{"admin", "secrets", "set", "scanner.client_secret"}, tty, tty, tty)
	}()
	awaitNoEcho(t, tty)
	cancel() // as Ctrl-C does
	if code := <-done; code == 0 {
		t.Error("exit 0")
	}
	if _, err := terminal.WriteString("echoed again\r"); err != nil {
		t.Fatal(err)
	}
	shown.await(t, "echoed again")
	if got := r.requests(); got != "" {
		t.Errorf("sent %s", got)
	}
}

// awaitNoEcho waits until a terminal does not show what is typed.
func awaitNoEcho(t *testing.T, tty *os.File) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stty := exec.Command("stty", "-a")
		stty.Stdin = tty
		out, err := stty.Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "-echo ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the terminal goes on showing what is typed: %s", out)
		}
	}
}

// screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(s.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the terminal does not show %q but %q", text, s.String())
		}
	}
}

// SECRET-17, CLI-10
func TestASecretIsNeverAnArgument(t *testing.T) {
	r := newReceiver(t)
	set := []string{"admin", "secrets", "set"}
	for name, args := range map[string][]string{
		"after the name":         {"scanner.client_secret", "canary-value"},
		"after two dashes":       {"scanner.client_secret", "--", "canary-value"},
		"as a flag":              {"scanner.client_secret", "--value", "canary-value"},
		"as a flag in one":       {"scanner.client_secret", "--value=canary-value"},
		"as an unknown flag":     {"scanner.client_secret", "--canary-value"},
		"as a short flag":        {"scanner.client_secret", "-canary-value"},
		"as the value of stdin":  {"scanner.client_secret", "--stdin=canary-value"},
		"in place of the name":   {"canary-Value~1", "--stdin"},
		"with its name before":   {"scanner.client_secret=canary-value", "--stdin"},
		"as an end":              {"scanner.client_secret", "canary-value", "--expires-at", "2027-01-01T00:00:00Z"},
		"without a terminal":     {"scanner.client_secret"},
		"no name":                {"--stdin"},
		"a dash for the name":    {"-", "--stdin"},
		"an empty name":          {"", "--stdin"},
		"an output there is not": {"scanner.client_secret", "--stdin", "--output", "canary"},
	} {
		var out bytes.Buffer
		code := cli.Main(t.Context(), append(set, args...), strings.NewReader("canary-from-input\n"), &out, &out)
		text := strings.ReplaceAll(out.String(), `--output is "canary"`, "")
		if code != 2 || strings.Contains(text, "canary") {
			t.Errorf("%s: exit %d, %s", name, code, out.String())
		}
	}
	if got := r.requests(); got != "" {
		t.Errorf("sent %s", got)
	}
}

// CLI-10
func TestASecretFromStandardInput(t *testing.T) {
	r := newReceiver(t)
	for input, want := range map[string]string{
		"a value":         "a value",
		"a value\n":       "a value",
		"a value\r\n":     "a value",
		"a value\n\n":     "a value\n", // which the deployment refuses
		" spaces stay \n": " spaces stay ",
	} {
		var out bytes.Buffer
		code := cli.Main(t.Context(), []string{"admin", "secrets", "set", "scanner.client_secret", "--stdin", "--expires-at", "2027-06-30T00:00:00Z"},
			strings.NewReader(input), &out, &out)
		sent := r.requests()
		sent = sent[strings.LastIndex(sent, "PUT"):]
		body, err := json.Marshal(map[string]string{"expires_at": "2027-06-30T00:00:00Z", "value": want})
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 || sent != "PUT /api/v1/admin/secrets/scanner.client_secret "+string(body) {
			t.Errorf("%q: exit %d, %s sent %s", input, code, out.String(), sent)
		}
	}
	var out bytes.Buffer
	if code := cli.Main(t.Context(), []string{"admin", "secrets", "set", "x.y", "--stdin"}, io.LimitReader(zeros{}, 2<<20), &out, &out); code == 0 || strings.Contains(r.requests(), "x.y") {
		t.Errorf("exit %d for 2 MiB", code)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
