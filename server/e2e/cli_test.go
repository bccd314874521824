package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pbmb/pbmb/tools/catalogue"
)

// TestCLI runs what people type, by scripts in testdata/cli, against a demo. Each
// script has a home of its own, where viewer and admin are signed in already,
// each under a folder of their name; login.txtar is how they got there.
func TestCLI(t *testing.T) {
	d := newDemo(t, newData(t))
	homes := t.TempDir()
	for _, name := range []string{"viewer", "admin"} {
		d.login(t, filepath.Join(homes, name), name+"@sample.example")
	}

	t.Run("scripts", func(t *testing.T) { d.scripts(t, "testdata/cli", homes) })
	t.Run("json", func(t *testing.T) { d.checkJSON(t, filepath.Join(homes, "admin")) })
	t.Run("terminal", func(t *testing.T) { d.checkTerminal(t, filepath.Join(homes, "viewer")) })
	t.Run("side by side", func(t *testing.T) { d.checkSideBySide(t, filepath.Join(homes, "viewer")) })
}

// TestRulesOnPersonalData runs what an admin and a viewer type about personal data.
// Rules hold for everybody, so it has a demo of its own.
func TestRulesOnPersonalData(t *testing.T) {
	d := newDemo(t, newData(t))
	homes := t.TempDir()
	for _, name := range []string{"viewer", "admin"} {
		d.login(t, filepath.Join(homes, name), name+"@sample.example")
	}
	d.scripts(t, "testdata/pii", homes)
}

// scripts runs the scripts of a folder, each with a copy of the homes.
func (d *demo) scripts(t *testing.T, dir, homes string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"viewer", "admin"} {
				if err := os.CopyFS(filepath.Join(e.WorkDir, name), os.DirFS(filepath.Join(homes, name))); err != nil {
					return err
				}
				if err := os.Chmod(filepath.Join(e.WorkDir, name, "pbmb", "credentials.json"), 0o600); err != nil {
					return err
				}
			}
			e.Setenv("PATH", filepath.Dir(bin)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("URL", d.URL)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "viewer"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// exits CODE COMMAND...: runs pbmb, which must end with that code.
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec("pbmb", args[1:]...)
				code := 0
				if exit, ok := errors.AsType[*exec.ExitError](err); ok {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if fmt.Sprint(code) != args[0] {
					ts.Fatalf("pbmb %q ended with %d", args[1:], code)
				}
			},
			// lastadmin FILE: takes the only admin of a printed list away, which is a conflict.
			"lastadmin": func(ts *testscript.TestScript, _ bool, args []string) {
				for line := range strings.Lines(ts.ReadFile(args[0])) {
					if cells := strings.Split(line, ","); cells[1] == "admin" {
						err := ts.Exec("pbmb", "admin", "roles", "revoke", cells[0])
						if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 5 {
							ts.Fatalf("revoking the last admin: %v", err)
						}
						return
					}
				}
				ts.Fatalf("there is no admin")
			},
			// login EMAIL: signs in as that person, who allows it in a browser.
			"login": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(d.tryLogin(ts.Getenv("XDG_CONFIG_HOME"), args[0]))
			},
		},
	})
}

func (d *demo) login(t *testing.T, config, email string) {
	t.Helper()
	if err := d.tryLogin(config, email); err != nil {
		t.Fatal(err)
	}
}

// tryLogin runs pbmb login, and is the person who types the code at the screen.
func (d *demo) tryLogin(config, email string) error {
	c := exec.Command(bin, "login", "--url", d.URL)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+config)
	var out bytes.Buffer
	c.Stdout = &out
	said, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer c.Process.Kill() // where it has not ended
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if code, found := strings.CutPrefix(lines.Text(), "Type   "); found {
			if err := d.allow(email, code); err != nil {
				return err
			}
		}
	}
	if err := c.Wait(); err != nil {
		return fmt.Errorf("pbmb login: %w", err)
	}
	if want := "Signed in at " + d.URL + "\n"; out.String() != want {
		return fmt.Errorf("pbmb login printed %q", out.String())
	}
	return nil
}

// allow signs in by the dev sign-in and allows a code.
func (d *demo) allow(email, code string) error {
	send := func(path string, body any, cookie string) (*http.Response, error) {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequest(http.MethodPost, d.URL+path, bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", d.URL)
		r.Header.Set("Cookie", cookie)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s as %s: %s %s", path, email, response.Status, text)
		}
		return response, nil
	}
	signedIn, err := send("/api/auth/dev-sign-in", map[string]string{"email": email}, "")
	if err != nil {
		return err
	}
	cookie, _, _ := strings.Cut(signedIn.Header.Get("Set-Cookie"), ";")
	_, err = send("/api/v1/oauth/device", map[string]any{"user_code": code, "allow": true}, cookie)
	return err
}

func pbmb(config string, args ...string) *exec.Cmd {
	c := exec.Command(bin, args...)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+config, "NO_COLOR=", "PAGER=", "TERM=xterm")
	return c
}

// CLI-07: what --output json prints is what the document of the API says.
func (d *demo) checkJSON(t *testing.T, config string) {
	raw, err := os.ReadFile("../restapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	schemas := jsonschema.NewCompiler()
	schemas.DefaultDraft(jsonschema.Draft2020)
	if err := schemas.AddResource("api.json", document); err != nil {
		t.Fatal(err)
	}
	args := map[string][]string{
		"whoami": {}, "list_my_grants": {}, "search": {"net", "sales"}, "list_datasets": {}, "get_dataset": {"Sales"}, "list_columns": {"--dataset", "Sales"},
		"list_measures": {"--dataset", "Sales"}, "execute_dax": {"Sales", "EVALUATE ROW(\"a\", 1, \"b\", BLANK())"}, "list_pii_rules": {},
		"list_audit": {"--limit", "5"}, "list_role_assignments": {}, "list_settings": {},
	}
	for _, op := range catalogue.All(catalogue.Stores{}) {
		own, looked := args[op.Name]
		if !looked {
			continue
		}
		delete(args, op.Name)
		path := strings.ReplaceAll("/api/v1"+op.Path, "/", "~1")
		schema, err := schemas.Compile("api.json#/paths/" + path + "/" + strings.ToLower(op.Method) + "/responses/200/content/application~1json/schema")
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		line, _, _ := strings.Cut(op.Command, " <")
		out, err := pbmb(config, slices.Concat(strings.Fields(line), own, []string{"--output", "json"})...).Output()
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v in %s", op.Name, err, out)
		}
	}
	for name := range args {
		t.Errorf("no operation is named %s", name)
	}
}

// onTerminal runs a command on a terminal of that many columns.
func onTerminal(t *testing.T, c *exec.Cmd, columns uint16) string {
	t.Helper()
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var out bytes.Buffer
	// A terminal whose program has gone ends reading with an error.
	_, _ = io.Copy(&out, terminal)
	if err := c.Wait(); err != nil {
		t.Errorf("%q: %v\n%s", c.Args, err, out.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

func (d *demo) checkTerminal(t *testing.T, config string) {
	t.Run("CLI-07 a table as wide as the terminal", func(t *testing.T) {
		for _, columns := range []uint16{50, 120} {
			out := onTerminal(t, pbmb(config, "search", "sales", "--limit", "8", "--no-color"), columns)
			if !strings.HasPrefix(out, "KIND") || strings.Contains(out, "\x1b") {
				t.Errorf("no plain table: %q", out)
			}
			for line := range strings.Lines(out) {
				if got := runewidth.StringWidth(strings.TrimRight(line, "\n")); got > int(columns) {
					t.Errorf("%d columns: %q is %d wide", columns, line, got)
				}
			}
		}
	})
	t.Run("CLI-07 colours, unless they are not wanted", func(t *testing.T) {
		if out := onTerminal(t, pbmb(config, "datasets", "list"), 80); !strings.Contains(out, "\x1b[1m") {
			t.Errorf("no colours: %q", out)
		}
		c := pbmb(config, "datasets", "list")
		c.Env = append(c.Env, "NO_COLOR=1")
		if out := onTerminal(t, c, 80); strings.Contains(out, "\x1b") {
			t.Errorf("colours: %q", out)
		}
	})
	t.Run("CLI-07 long output goes through PAGER", func(t *testing.T) {
		c := pbmb(config, "measures", "list", "--dataset", "Sales", "--no-color")
		c.Env = append(c.Env, "PAGER=sed s/^/paged:/")
		if out := onTerminal(t, c, 80); !strings.HasPrefix(out, "paged:TABLE") {
			t.Errorf("not paged: %q", out)
		}
		c = pbmb(config, "measures", "list", "--dataset", "Sales")
		c.Env = append(c.Env, "PAGER=sed s/^/paged:/")
		if out, err := c.Output(); err != nil || strings.Contains(string(out), "paged:") {
			t.Errorf("a pipe is paged: %v %q", err, out)
		}
	})
	t.Run("CLI-01 CLI-09 a login counts down", func(t *testing.T) {
		c := pbmb(t.TempDir(), "login", "--url", d.URL)
		terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			t.Fatal(err)
		}
		defer terminal.Close()
		stuck := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
		defer stuck.Stop()
		var said bytes.Buffer
		part, counts := make([]byte, 1<<10), regexp.MustCompile(`waiting for you, (9m5\ds) left(?s:.*)waiting for you, (9m5\ds) left`)
		for {
			n, err := terminal.Read(part)
			said.Write(part[:n])
			if m := counts.FindStringSubmatch(said.String()); m != nil && m[1] != m[2] {
				break
			}
			if err != nil {
				t.Fatalf("no countdown: %q", said.String())
			}
		}
		if !strings.Contains(said.String(), "Open   "+d.URL+"/device\r\nType   ") {
			t.Errorf("it printed %q", said.String())
		}
		c.Process.Signal(os.Interrupt)
		// Reads what is left, until the terminal's program has gone.
		_, _ = io.Copy(&said, terminal)
		if err := c.Wait(); err == nil || !strings.Contains(said.String(), "nobody has signed in") {
			t.Errorf("after Ctrl-C: %v %q", err, said.String())
		}
	})
	t.Run("CLI-09 what takes long shows that something goes on", func(t *testing.T) {
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(1500 * time.Millisecond):
			}
			w.Write([]byte(`{"items":[],"total":0}`))
		}))
		defer slow.Close()
		run := func() *exec.Cmd {
			c := pbmb(config, "datasets", "list", "--url", slow.URL)
			c.Env = append(c.Env, "PBMB_TOKEN=key")
			return c
		}
		out := onTerminal(t, run(), 80)
		if !strings.Contains(out, "waiting for "+slow.URL) || !strings.HasSuffix(out, "\r\x1b[K") {
			t.Errorf("on a terminal: %q", out)
		}
		var said bytes.Buffer
		c := run()
		c.Stderr = &said
		if err := c.Run(); err != nil || said.Len() > 0 {
			t.Errorf("in a pipe: %v %q", err, said.String())
		}
	})
}

// SECRET-20, OAUTH-19: commands of their own processes, all with an old token,
// spend one refresh token once.
func (d *demo) checkSideBySide(t *testing.T, config string) {
	path := filepath.Join(config, "pbmb", "credentials.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	entry := file["deployments"].(map[string]any)[d.URL].(map[string]any)
	before := entry["refresh_token"]
	entry["expires_at"] = time.Now().Add(-time.Hour)
	if raw, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	failures := make(chan error)
	const commands = 8
	for range commands {
		go func() {
			out, err := pbmb(config, "whoami", "--output", "json").CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			failures <- err
		}()
	}
	for range commands {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if raw, err = os.ReadFile(path); err != nil || strings.Contains(string(raw), fmt.Sprint(before)) {
		t.Errorf("the refresh token was not replaced: %v", err)
	}
	if out, err := pbmb(config, "whoami").CombinedOutput(); err != nil {
		t.Errorf("afterwards: %v %s", err, out)
	}
}
