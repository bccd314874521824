package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// echoEnv makes the test's binary a bare mcp-go echo server at the address that
// it holds, so that each server that is measured is a process of its own.
const echoEnv = "PBMB_BENCH_ECHO"

func serveBareEcho(address string) {
	s := server.NewMCPServer("echo", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("Echo"), mcp.WithString("message", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.GetString("message", "")), nil
		})
	h := server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithDisableStreaming(true))
	log.Fatal(http.ListenAndServe(address, h))
}

// A target is a server and the call that is made of it.
type target struct {
	name, url, token, body string
	contains               string // of every answer
}

func echoCall(url string) target {
	return target{
		url: url, contains: "hello",
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`,
	}
}

// A figure is what one target reached.
type figure struct {
	perSecond float64
	p50, p99  time.Duration
}

const (
	benchCallers = 16
	benchTime    = 4 * time.Second
)

// measure makes calls from [benchCallers] connections at once.
func measure(t *testing.T, to target, d time.Duration) figure {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchCallers, MaxConnsPerHost: benchCallers}}
	defer client.CloseIdleConnections()
	var failed atomic.Pointer[string]
	one := func() {
		r, err := http.NewRequest(http.MethodPost, to.url, strings.NewReader(to.body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-06-18")
		if to.token != "" {
			r.Header.Set("Authorization", "Bearer "+to.token)
		}
		resp, err := client.Do(r)
		if err != nil {
			failed.CompareAndSwap(nil, new(err.Error()))
			return
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(to.contains)) {
			failed.CompareAndSwap(nil, new(fmt.Sprintf("%d %.300s %v", resp.StatusCode, body, err)))
		}
	}
	run := func(d time.Duration) []time.Duration {
		var mu sync.Mutex
		var all []time.Duration
		var wg sync.WaitGroup
		end := time.Now().Add(d)
		for range benchCallers {
			wg.Go(func() {
				var own []time.Duration
				for time.Now().Before(end) && failed.Load() == nil {
					start := time.Now()
					one()
					own = append(own, time.Since(start))
				}
				mu.Lock()
				all = append(all, own...)
				mu.Unlock()
			})
		}
		wg.Wait()
		return all
	}
	run(time.Second)
	start := time.Now()
	all := run(d)
	took := time.Since(start)
	if reason := failed.Load(); reason != nil {
		t.Fatalf("%s: %s", to.name, *reason)
	}
	slices.Sort(all)
	at := func(p float64) time.Duration { return all[int(float64(len(all)-1)*p)].Round(10 * time.Microsecond) }
	return figure{float64(len(all)) / took.Seconds(), at(0.5), at(0.99)}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// start runs a server of the comparison and waits until it listens.
func start(t *testing.T, port string, c *exec.Cmd) {
	t.Helper()
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("%v does not listen", c.Args)
}

// guardFigures measures a guarded call beside bare echo tools, over the same
// transport. Rounds are interleaved and the median counts, since other work on the
// machine comes and goes.
func guardFigures(t *testing.T) section {
	d := newDemo(t, newData(t))
	s := d.connect(t, "v1", "viewer@sample.example")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bare, v1, v2 := freePort(t), freePort(t), freePort(t)
	echo := exec.Command(self)
	echo.Env = append(os.Environ(), echoEnv+"=127.0.0.1:"+bare)
	start(t, bare, echo)
	start(t, v1, exec.Command("node", "echo-v1.mjs", v1))
	start(t, v2, exec.Command("node", "echo-v2.mjs", v2))

	guarded := target{
		name: "pbmb `list_measures`, guarded", url: d.MCPURL, token: s.AccessToken, contains: "Active customers",
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_measures","arguments":{"dataset":"Sales","limit":3}}}`,
	}
	goEcho := echoCall("http://127.0.0.1:" + bare + "/mcp")
	goEcho.name = "bare mcp-go echo"
	olderEcho := echoCall("http://127.0.0.1:" + v1 + "/mcp")
	olderEcho.name = "bare TypeScript SDK echo, older generation"
	newerEcho := echoCall("http://127.0.0.1:" + v2 + "/mcp")
	newerEcho.name = "bare TypeScript SDK echo, newer generation"
	targets := []target{guarded, goEcho, olderEcho, newerEcho}

	const rounds = 3
	got := make([][]figure, len(targets))
	for range rounds {
		for i, to := range targets {
			got[i] = append(got[i], measure(t, to, benchTime))
		}
	}
	median := make([]figure, len(targets))
	for i := range got {
		slices.SortFunc(got[i], func(a, b figure) int { return int(a.perSecond - b.perSecond) })
		median[i] = got[i][rounds/2]
	}
	var f section
	f.printf("%d callers at once, the median of %d interleaved rounds of %v. Token verified, policies asked, visibility applied, output cut. Grant, roles, reach and the list are those that were read before, after the database was asked whether any of them changed, as docs/architecture.md says in section 4. At least a quarter of bare mcp-go, and more than every bare TypeScript server.\n\n",
		benchCallers, rounds, benchTime)
	f.printf("| server and call | calls per second | p50 | p99 | pbmb compared |\n| --- | ---: | ---: | ---: | ---: |\n")
	for i, to := range targets {
		compared := ""
		if i > 0 {
			compared = fmt.Sprintf("%.2f", median[0].perSecond/median[i].perSecond)
		}
		f.printf("| %s | %.0f | %v | %v | %s |\n", to.name, median[i].perSecond, median[i].p50, median[i].p99, compared)
	}
	if ratio := median[0].perSecond / median[1].perSecond; ratio < 0.25 {
		f.miss("A guarded call reaches %.2f of bare mcp-go, not 0.25.", ratio)
	}
	for i := 2; i < len(targets); i++ {
		if median[0].perSecond < median[i].perSecond {
			f.miss("A guarded call is slower than %s.", targets[i].name)
		}
	}
	return f
}

// demoFigures measures the demo's start.
func demoFigures(t *testing.T) section {
	d := newDemo(t, newData(t))
	var f section
	f.printf("Ready %.1f s after its start on an empty data folder; 15 s at most.\n", d.ReadyIn.Seconds())
	if d.ReadyIn > 15*time.Second {
		f.miss("The demo was ready after %v, not 15 s.", d.ReadyIn)
	}
	return f
}
