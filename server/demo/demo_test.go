package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/sync/sample"
)

// TestMain lets this test binary be a demo that a test kills.
func TestMain(m *testing.M) {
	if data := os.Getenv("DEMO_TEST_DATA"); data != "" {
		parts := parts(func(context.Context, config.Config) error { return nil })
		if err := demo.Run(context.Background(), options(data, filepath.Join(data, "ready.json"), io.Discard), parts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	postgrestest.Main(m)
}

func options(data, readyFile string, out io.Writer) demo.Options {
	return demo.Options{
		Data: data, Listen: "127.0.0.1:0", SampleListen: "127.0.0.1:0", ReadyFile: readyFile,
		Out: out, Log: slog.New(slog.DiscardHandler),
	}
}

// parts stand in for the product's processes: the api answers every request,
// the worker waits.
func parts(setup func(context.Context, config.Config) error) demo.Parts {
	return demo.Parts{
		Setup: func(ctx context.Context, c config.Config, _ *sample.Tenant) error { return setup(ctx, c) },
		API: func(_ context.Context, _ config.Config, l net.Listener) (demo.Service, error) {
			return service(func(ctx context.Context) error {
				s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
				stop := context.AfterFunc(ctx, func() { s.Close() })
				defer stop()
				s.Serve(l)
				return nil
			}), nil
		},
		Worker: func(context.Context, config.Config) (demo.Service, error) {
			return service(func(ctx context.Context) error { <-ctx.Done(); return nil }), nil
		},
		Fill: func(context.Context, config.Config, *sample.Tenant) ([]demo.Person, error) {
			return []demo.Person{{Email: "viewer@sample.example", Roles: []string{"viewer"}}}, nil
		},
	}
}

type service func(context.Context) error

func (s service) Run(ctx context.Context) error { return s(ctx) }

// newData is a folder that the programs' account can reach.
func newData(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "pbmb-demo-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "data")
}

type readyFile struct {
	URL       string        `json:"url"`
	MCPURL    string        `json:"mcp_url"`
	SampleURL string        `json:"sample_url"`
	People    []demo.Person `json:"people"`
	PID       int           `json:"pid"`
}

// running is a demo in this process.
type running struct {
	data   string
	ready  readyFile
	config config.Config
	out    *printed
	stop   func() error // ends it and returns what Run returned
}

// printed is what a demo told people so far.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func startDemo(t *testing.T, data string, setup func(context.Context, config.Config) error) *running {
	t.Helper()
	r := &running{data: data, out: &printed{}}
	path := filepath.Join(filepath.Dir(data), "ready.json")
	ctx, cancel := context.WithCancel(context.Background())
	var ended error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended = demo.Run(ctx, options(data, path, r.out), parts(func(ctx context.Context, c config.Config) error {
			r.config = c
			return setup(ctx, c)
		}))
	}()
	r.stop = func() error {
		cancel()
		<-done
		return ended
	}
	t.Cleanup(func() { r.stop() })
	waitFor(t, "the ready file", func() bool {
		select {
		case <-done:
			t.Fatalf("the demo ended: %v", ended)
		default:
		}
		content, err := os.ReadFile(path)
		return err == nil && json.Unmarshal(content, &r.ready) == nil
	})
	return r
}

func nothing(context.Context, config.Config) error { return nil }

// waitFor waits for what other processes do, which nothing tells.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 2 minutes for %s", what)
		}
	}
}

// programsOf are the processes whose command line has a path below data, which
// is how PostgreSQL and Cerbos are started.
func programsOf(t *testing.T, data string) map[int]string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, line := range lines {
		content, err := os.ReadFile(line) // it may have ended since
		if err != nil || !bytes.Contains(content, []byte(data+"/")) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(line, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		found[pid] = strings.ReplaceAll(string(content), "\x00", " ")
	}
	return found
}

func program(t *testing.T, data, name string) int {
	t.Helper()
	for pid, line := range programsOf(t, data) {
		if strings.Contains(strings.Fields(line)[0], name) {
			return pid
		}
	}
	return 0
}

// OPS-03, OPS-04
func TestRunLeavesNothingBehindAndKeepsItsData(t *testing.T) {
	t.Parallel()
	data := newData(t)
	began := time.Now()
	first := startDemo(t, data, func(ctx context.Context, c config.Config) error {
		pool, err := postgres.Open(ctx, c.DatabaseAPI, postgres.API)
		if err != nil {
			return err
		}
		defer pool.Close()
		_, err = pool.Exec(ctx, "insert into setting (key, value) values ('kept', 'true')")
		return err
	})
	t.Logf("ready after %s on an empty folder", time.Since(began).Round(10*time.Millisecond))

	if got := first.ready; !strings.HasPrefix(got.URL, "http://localhost:") || got.MCPURL != got.URL+"/api/mcp" ||
		!strings.HasPrefix(got.SampleURL, "http://127.0.0.1:") || got.PID != os.Getpid() || len(got.People) != 1 {
		t.Errorf("the ready file has %+v", got)
	}
	// The file is there before the words are.
	waitFor(t, "the last words", func() bool { return strings.Contains(first.out.String(), "Ctrl+C") })
	for _, want := range []string{first.ready.URL, first.ready.MCPURL, "viewer@sample.example"} {
		if !strings.Contains(first.out.String(), want) {
			t.Errorf("nobody is told of %s:\n%s", want, first.out)
		}
	}
	if response, err := http.Get(first.ready.URL); err != nil {
		t.Error(err)
	} else {
		response.Body.Close()
	}
	programs := programsOf(t, data)
	if len(programs) < 2 {
		t.Errorf("running: %v, want PostgreSQL and Cerbos", programs)
	}
	for pid, line := range programs {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if err == nil && info.Sys().(*syscall.Stat_t).Uid == 0 {
			t.Errorf("runs as root: %s", line)
		}
	}
	runtime := filepath.Dir(filepath.Dir(strings.TrimPrefix(first.config.CerbosAddress, "unix:")))
	if err := first.stop(); err != nil {
		t.Errorf("stopping it gives %v", err)
	}
	if left := programsOf(t, data); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if _, err := os.Stat(runtime); err == nil {
		t.Errorf("%s is left", runtime)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(data), "ready.json")); err == nil {
		t.Error("the ready file is left")
	}

	began = time.Now()
	var kept bool
	startDemo(t, data, func(ctx context.Context, c config.Config) error {
		if c.AuthSecret != first.config.AuthSecret {
			t.Error("the secret changed between two starts")
		}
		pool, err := postgres.Open(ctx, c.DatabaseAPI, postgres.API)
		if err != nil {
			return err
		}
		defer pool.Close()
		return pool.QueryRow(ctx, "select value::boolean from setting where key = 'kept'").Scan(&kept)
	})
	t.Logf("ready after %s on the same folder", time.Since(began).Round(10*time.Millisecond))
	if !kept {
		t.Error("the second start does not see what the first wrote")
	}
}

// OPS-03
func TestRunRecoversFromAKill(t *testing.T) {
	t.Parallel()
	data := newData(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "DEMO_TEST_DATA="+data)
	victim.Stderr = os.Stderr
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the demo to be killed", func() bool {
		_, err := os.Stat(filepath.Join(data, "ready.json"))
		return err == nil
	})
	old := programsOf(t, data)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait()               // it was killed: the error says so
	startDemo(t, data, nothing) // at once, while the programs may still be ending
	waitFor(t, "the killed demo's programs to end", func() bool {
		for pid := range programsOf(t, data) {
			if _, stillThere := old[pid]; stillThere {
				return false
			}
		}
		return true
	})
}

// OPS-12
func TestRunStartsAProgramAgainThatEnded(t *testing.T) {
	t.Parallel()
	r := startDemo(t, newData(t), nothing)
	for name, signal := range map[string]syscall.Signal{"cerbos": syscall.SIGKILL, "postgres": syscall.SIGQUIT} {
		old := program(t, r.data, name)
		if old == 0 {
			t.Fatalf("%s does not run: %v", name, programsOf(t, r.data))
		}
		if err := syscall.Kill(old, signal); err != nil {
			t.Fatal(err)
		}
		waitFor(t, name+" to be started again", func() bool {
			now := program(t, r.data, name)
			return now != 0 && now != old
		})
	}
	waitFor(t, "the database to answer at its old address", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pool, err := postgres.Open(ctx, r.config.DatabaseAPI, postgres.API)
		if err != nil {
			return false
		}
		pool.Close()
		return true
	})
	if err := r.stop(); err != nil {
		t.Errorf("stopping it gives %v", err)
	}
	if left := programsOf(t, r.data); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// OPS-03
func TestRunSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	used := startDemo(t, newData(t), nothing)

	for name, c := range map[string]struct {
		change func(*demo.Options)
		want   []string
	}{
		"a taken port": {
			func(o *demo.Options) { o.Listen = taken.Addr().String() },
			[]string{"--listen", taken.Addr().String(), "address already in use"}},
		"a taken port of the sample tenant": {
			func(o *demo.Options) { o.SampleListen = taken.Addr().String() },
			[]string{"--sample-listen", taken.Addr().String()}},
		"an address that others reach": {
			func(o *demo.Options) { o.Listen = "0.0.0.0:0" },
			[]string{"--listen", "127.0.0.1"}},
		"no port": {
			func(o *demo.Options) { o.Listen = "localhost" },
			[]string{"--listen", "127.0.0.1:8080"}},
		"a data folder that is a file": {
			func(o *demo.Options) {
				if err := os.WriteFile(o.Data, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"--data", "not a directory"}},
		"a data folder with other things in it": {
			func(o *demo.Options) {
				if err := os.MkdirAll(filepath.Join(o.Data, "policies", "mine"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"--data", "other things in it"}},
		"a data folder without a name": {
			func(o *demo.Options) { o.Data = "" },
			[]string{"--data names no folder"}},
		"a data folder in use": {
			func(o *demo.Options) { o.Data = used.data },
			[]string{"another pbmb demo", used.data}},
		"a database of another version": {
			func(o *demo.Options) {
				if err := os.MkdirAll(filepath.Join(o.Data, "postgres"), 0o711); err != nil {
					t.Fatal(err)
				}
				for file, content := range map[string]string{"lock": "", "postgres/PG_VERSION": "9\n"} {
					if err := os.WriteFile(filepath.Join(o.Data, file), []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			},
			[]string{"made by PostgreSQL 9"}},
		"a missing Cerbos": {
			func(o *demo.Options) {
				o.Getenv = func(name string) string { return map[string]string{"PBMB_CERBOS": "/nowhere/cerbos"}[name] }
			},
			[]string{"PBMB_CERBOS", "/nowhere/cerbos"}},
		"half of the database's addresses": {
			func(o *demo.Options) {
				o.Getenv = func(name string) string {
					return map[string]string{"DATABASE_URL_API": "postgres://api_rw@/x"}[name]
				}
			},
			[]string{"DATABASE_URL_WORKER"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := newData(t)
			o := options(data, "", io.Discard)
			c.change(&o)
			err := demo.Run(t.Context(), o, parts(nothing))
			if err == nil {
				t.Fatal("it ran")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			if left := programsOf(t, data); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
}

// OPS-04
func TestRunFromAFolderThatIsClosedToOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root runs its programs as somebody else")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(cerbostest.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(closed, "cerbos")
	if err := os.WriteFile(name, program, 0o755); err != nil {
		t.Fatal(err)
	}
	data := newData(t)
	o := options(data, "", io.Discard)
	o.Getenv = func(variable string) string { return map[string]string{"PBMB_CERBOS": name}[variable] }
	ctx, cancel := context.WithCancel(t.Context())
	reached := parts(nothing)
	reached.Fill = func(context.Context, config.Config, *sample.Tenant) ([]demo.Person, error) {
		cancel()
		return nil, nil
	}
	if err := demo.Run(ctx, o, reached); err != nil {
		t.Error(err)
	}
	if ctx.Err() == nil {
		t.Error("it never came up")
	}
}

// OPS-04
func TestRunStartsNoProgramWhereTheEnvironmentNamesThem(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	environment := map[string]string{
		"DATABASE_URL_MIGRATOR": db.URL(postgres.Migrator),
		"DATABASE_URL_API":      db.URL(postgres.API),
		"DATABASE_URL_WORKER":   db.URL(postgres.Worker),
		"CERBOS_ADDRESS":        cerbostest.Start(t),
	}
	data := newData(t)
	o := options(data, "", io.Discard)
	o.Getenv = func(name string) string { return environment[name] }
	ctx, cancel := context.WithCancel(t.Context())
	observed := parts(func(ctx context.Context, c config.Config) error {
		if c.DatabaseAPI != environment["DATABASE_URL_API"] || c.DatabaseWorker != environment["DATABASE_URL_WORKER"] || c.CerbosAddress != environment["CERBOS_ADDRESS"] {
			t.Errorf("it uses %s, %s and %s instead", c.DatabaseAPI, c.DatabaseWorker, c.CerbosAddress)
		}
		if version, err := postgres.Version(ctx, db.API()); err != nil || version != postgres.Expected() {
			t.Errorf("the database is at version %d, %v, want %d", version, err, postgres.Expected())
		}
		return nil
	})
	observed.Fill = func(context.Context, config.Config, *sample.Tenant) ([]demo.Person, error) {
		if started := programsOf(t, data); len(started) > 0 {
			t.Errorf("started: %v", started)
		}
		cancel()
		return nil, nil
	}
	if err := demo.Run(ctx, o, observed); err != nil {
		t.Error(err)
	}
}

// OPS-03
func TestRunEndsWithAPartThatFails(t *testing.T) {
	t.Parallel()
	data := newData(t)
	failing := parts(nothing)
	failing.Worker = func(context.Context, config.Config) (demo.Service, error) {
		return service(func(context.Context) error { return fmt.Errorf("out of ideas") }), nil
	}
	err := demo.Run(t.Context(), options(data, "", io.Discard), failing)
	if err == nil || !strings.Contains(err.Error(), "the worker ended") || !strings.Contains(err.Error(), "out of ideas") {
		t.Errorf("got %v, want that the worker ended and why", err)
	}
	if left := programsOf(t, data); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}
