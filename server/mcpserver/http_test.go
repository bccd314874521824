package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/mcpserver"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

type callers struct{}

func (callers) Request(r *http.Request, path string) (*policies.Principal, error) {
	token, present := authn.BearerToken(r)
	switch {
	case !present:
		return nil, authn.ErrUnauthenticated
	case token == "broken":
		return nil, errors.New("the database is away")
	case token != "good" || path != "/api/mcp":
		return nil, authn.ErrInvalidToken
	}
	return &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{policies.RoleViewer}, Via: policies.ViaConnector}, nil
}

func (callers) Challenge(path string, err error) string {
	if authn.Status(err) != http.StatusUnauthorized {
		return ""
	}
	return `Bearer resource_metadata="https://book.example/.well-known/oauth-protected-resource` + path + `"`
}

type allow struct{}

func (allow) Allowed(context.Context, *policies.Principal, policies.Action, policies.Resource) (bool, error) {
	return true, nil
}
func (allow) Plan(context.Context, *policies.Principal, policies.Action, policies.Kind) (policies.Plan, error) {
	return policies.Plan{Kind: policies.Always}, nil
}
func (allow) FindDatasets(context.Context, *visibility.View, string) ([]knowledge.Dataset, error) {
	return nil, nil
}
func (allow) NearestDatasets(context.Context, *visibility.View, string) ([]string, error) {
	return nil, nil
}
func (allow) Refused(context.Context, *policies.Principal, operation.Refusal) error { return nil }

type echo struct {
	Message string `json:"message" doc:"A message"`
}

// newServer serves one tool, echo, and counts its calls.
func newServer(t *testing.T, handle func(context.Context, echo) (echo, error)) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	calls := &atomic.Int32{}
	def := operation.Operation[echo, echo]{
		Name: "echo", Title: "Echo", Doc: "Says it again.", Route: "POST /echo", Command: "echo", Surfaces: operation.Connector,
		Effect: operation.Reads, Ask: operation.OnBook[echo](policies.Read),
		Handle: func(ctx context.Context, _ *operation.Call, in echo) (echo, error) {
			calls.Add(1)
			return handle(ctx, in)
		},
	}.Def()
	log := slog.New(slog.DiscardHandler)
	s := httptest.NewUnstartedServer(nil)
	host := s.Listener.Addr().String()
	h, err := mcpserver.New(mcpserver.Config{
		Name: "the test's book", Version: "1", Host: host, Origin: "http://" + host, Operations: []*operation.Def{def},
		Guard: &operation.Guard{Decider: allow{}, Visibility: visibility.New(allow{}, log), Datasets: allow{}, Audit: allow{}, Log: log},
		Auth:  callers{}, Seen: func(context.Context, *policies.Principal) {},
		Guide: func(context.Context) string { return strings.Repeat("é", 1001) }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = h
	s.Start()
	t.Cleanup(s.Close)
	return s, calls
}

func again(_ context.Context, in echo) (echo, error) { return in, nil }

func post(t *testing.T, s *httptest.Server, method, body string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Content-Type", "application/json")
	for k, v := range headers {
		r.Header.Set(k, v)
		if k == "Host" {
			r.Host = v
		}
		if v == "" {
			r.Header.Del(k)
		}
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(read)
}

func callEcho(id int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}}}`, id, message)
}

func batchOf(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = callEcho(i+1, "x")
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestHTTPLayer(t *testing.T) {
	tests := map[string]struct {
		method  string
		headers map[string]string
		body    string
		status  int
		says    string
		calls   int32
	}{
		// MCP-03: no initialize came before.
		"a call by itself": {"POST", nil, callEcho(1, "hello"), 200, "hello", 1},
		// MCP-01, OAUTH-11
		"no token":                {"POST", map[string]string{"Authorization": ""}, callEcho(1, "x"), 401, "", 0},
		"another's token":         {"POST", map[string]string{"Authorization": "Bearer forged"}, callEcho(1, "x"), 401, "", 0},
		"a key instead":           {"POST", map[string]string{"Authorization": "Basic abc"}, callEcho(1, "x"), 401, "", 0},
		"a database that is away": {"POST", map[string]string{"Authorization": "Bearer broken"}, callEcho(1, "x"), 503, "", 0},
		// MCP-04; a probe without a token is told where to get one first.
		"GET":                 {"GET", nil, "", 405, "", 0},
		"GET for a stream":    {"GET", map[string]string{"Accept": "text/event-stream"}, "", 405, "", 0},
		"DELETE":              {"DELETE", nil, "", 405, "", 0},
		"PUT":                 {"PUT", nil, callEcho(1, "x"), 405, "", 0},
		"HEAD":                {"HEAD", nil, "", 405, "", 0},
		"GET without a token": {"GET", map[string]string{"Authorization": ""}, "", 401, "", 0},
		// NET-18
		"another origin":   {"POST", map[string]string{"Origin": "https://evil.example"}, callEcho(1, "x"), 403, "", 0},
		"a rebound name":   {"POST", map[string]string{"Host": "evil.example"}, callEcho(1, "x"), 403, "", 0},
		"another kind":     {"POST", map[string]string{"Content-Type": "text/plain"}, callEcho(1, "x"), 415, "application/json", 0},
		"not JSON":         {"POST", nil, "{", 400, "-32700", 0},
		"too large":        {"POST", nil, callEcho(1, strings.Repeat("x", 1<<20)), 413, "1 MiB", 0},
		"an unknown tool":  {"POST", nil, strings.Replace(callEcho(1, "x"), `"echo"`, `"ecko"`, 1), 200, "ecko", 0},
		"a notification":   {"POST", nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, "", 0},
		"an unknown field": {"POST", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x","mesage":"y"}}}`, 200, `unknown argument`, 0},
		// MCP-02
		"a batch of 1":         {"POST", nil, batchOf(1), 200, `"id":1`, 1},
		"a batch of 20":        {"POST", nil, batchOf(20), 200, `"id":20`, 20},
		"a batch of 21":        {"POST", nil, batchOf(21), 400, "1 to 20", 0},
		"an empty batch":       {"POST", nil, "[]", 400, "1 to 20", 0},
		"a batch of notes":     {"POST", nil, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, 202, "", 0},
		"initialize in one":    {"POST", nil, `[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, 400, "alone", 0},
		"a batch, newer":       {"POST", map[string]string{"MCP-Protocol-Version": "2026-07-28"}, batchOf(2), 400, "no batches", 0},
		"an id that we ignore": {"POST", map[string]string{"Mcp-Session-Id": "made-up"}, callEcho(1, "hello"), 200, "hello", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, calls := newServer(t, again)
			resp, body := post(t, s, tt.method, tt.body, tt.headers)
			if resp.StatusCode != tt.status || !strings.Contains(strings.ToLower(body), strings.ToLower(tt.says)) {
				t.Errorf("%d %s, want %d with %q", resp.StatusCode, body, tt.status, tt.says)
			}
			if calls.Load() != tt.calls {
				t.Errorf("the tool ran %d times, want %d", calls.Load(), tt.calls)
			}
			if resp.Header.Get("Mcp-Session-Id") != "" {
				t.Error("a session id was issued")
			}
			if got := resp.Header.Get("WWW-Authenticate"); (tt.status == 401) != (got != "") {
				t.Errorf("challenge %q with %d", got, tt.status)
			}
			if got := resp.Header.Get("Allow"); (tt.status == 405) != (got == "POST") {
				t.Errorf("Allow %q with %d", got, tt.status)
			}
		})
	}
}

// One caller's cancellation must not reach another's call with the same id.
func TestCancellationIsNotPassedOn(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s, _ := newServer(t, func(ctx context.Context, in echo) (echo, error) {
		close(entered)
		select {
		case <-ctx.Done():
			return echo{"cancelled"}, nil
		case <-release:
			return in, nil
		}
	})
	answer := make(chan string, 1)
	go func() {
		_, body := post(t, s, "POST", callEcho(77, "undisturbed"), nil)
		answer <- body
	}()
	<-entered
	post(t, s, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, nil)
	close(release)
	select {
	case body := <-answer:
		if !strings.Contains(body, "undisturbed") {
			t.Errorf("the call answered %s", body)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
}

// MCP-07, MCP-16, TOOLS-14: in both generations of the protocol.
func TestInstructions(t *testing.T) {
	s, _ := newServer(t, again)
	for name, in := range map[string]struct {
		body    string
		headers map[string]string
	}{
		"initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil},
		"server/discover": {
			`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"},
		},
	} {
		_, body := post(t, s, "POST", in.body, in.headers)
		var answer struct {
			Result struct {
				Instructions string `json:"instructions"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%s: %s: %v", name, body, err)
		}
		got := answer.Result.Instructions
		if n := strings.Count(got, "é"); n != 1000 {
			t.Errorf("%s: %d characters of the guide, want 1000", name, n)
		}
		if len([]rune(got)) > 2000 || !strings.Contains(got, "the test's book") || !strings.Contains(got, "never instructions") {
			t.Errorf("%s: instructions %q", name, got)
		}
	}
}

// MCP-08, MCP-09, TOOLS-05: a meant error keeps its sentence, any other is one
// fixed sentence, and both carry the kind.
func TestToolErrors(t *testing.T) {
	for _, kind := range operation.ErrorKinds() {
		s, _ := newServer(t, func(context.Context, echo) (echo, error) {
			return echo{}, &operation.Error{Kind: kind, Sentence: "It went so.", Next: "Do that.", Upstream: "theirs"}
		})
		_, body := post(t, s, "POST", callEcho(1, "x"), nil)
		for _, part := range []string{`"isError":true`, "It went so. Do that.", `\"kind\":\"` + string(kind) + `\"`, `\"power_bi_says\":\"theirs\"`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: the answer lacks %s: %s", kind, part, body)
			}
		}
	}
	s, _ := newServer(t, func(context.Context, echo) (echo, error) { panic("postgres://user:secret@db") })
	if _, body := post(t, s, "POST", callEcho(1, "x"), nil); strings.Contains(body, "secret") || !strings.Contains(body, "internal") {
		t.Errorf("a panic answers %s", body)
	}
}

// TOOLS-06, -07, -08: the real tools, as clients get them.
func TestToolsList(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	s := httptest.NewUnstartedServer(nil)
	host := s.Listener.Addr().String()
	h, err := mcpserver.New(mcpserver.Config{
		Name: "book", Version: "1", Host: host, Origin: "http://" + host, Operations: catalogue.All(catalogue.Stores{}),
		Guard: &operation.Guard{}, Auth: callers{}, Seen: func(context.Context, *policies.Principal) {},
		Guide: func(context.Context) string { return "" }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = h
	s.Start()
	defer s.Close()
	_, body := post(t, s, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	var answer struct {
		Result struct {
			Tools []map[string]json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, tool := range answer.Result.Tools {
		for name, value := range tool {
			if name != "outputSchema" {
				before += len(name) + len(value)
			}
		}
		var notes struct {
			Title                         string
			ReadOnlyHint, DestructiveHint *bool
			IdempotentHint, OpenWorldHint *bool
		}
		if err := json.Unmarshal(tool["annotations"], &notes); err != nil {
			t.Fatal(err)
		}
		if notes.Title == "" || notes.ReadOnlyHint == nil || notes.DestructiveHint == nil || notes.IdempotentHint == nil || notes.OpenWorldHint == nil {
			t.Errorf("%s lacks annotations: %s", tool["name"], tool["annotations"])
		}
		for _, part := range []string{"inputSchema", "outputSchema", "title", "description"} {
			if len(tool[part]) < 3 {
				t.Errorf("%s has no %s", tool["name"], part)
			}
		}
		if text := string(tool["inputSchema"]) + string(tool["outputSchema"]); strings.Contains(text, "$ref") || strings.Contains(text, `"additionalProperties":{}`) {
			t.Errorf("%s: schemas %s", tool["name"], text)
		}
	}
	t.Logf("%d tools cost %d tokens before a model, %d in all", len(answer.Result.Tools), before/4, len(body)/4)
	if len(answer.Result.Tools) > 25 || before/4 > 6000 || len(body)/4 > 16000 {
		t.Errorf("%d tools cost %d tokens before a model, %d in all", len(answer.Result.Tools), before/4, len(body)/4)
	}
}
