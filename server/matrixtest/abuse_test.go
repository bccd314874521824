package matrixtest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
)

// hostile are values that no argument expects.
var hostile = []any{
	nil, true, -1, 0, 1.5, json.RawMessage("9999999999999999999999"), json.RawMessage("1e400"), "", " ", "\x00", "../../admin/audit", "%2e%2e%2f", "';--",
	"\u202e\ufeff", "𝕊𝕒𝕝𝕖𝕤", strings.Repeat("é", 5000), none, "https://app.powerbi.com/groups/me/datasets/%zz",
	[]any{}, []any{nil, map[string]any{}}, map[string]any{"$ne": ""}, json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)),
	page("after:9223372036854775807"), page("after:-1"), page("after:99999999999999999999"), page("after:0x10"),
}

func page(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// bodies are requests' bodies of which none is one JSON object with known fields.
var bodies = []string{
	"", "null", "[]", "0", `""`, "{", `{"a":`, "{}{}", `{"a":1}`, `{"a":1,"a":2}`, "\xff\xfe", `{"` + "\xff" + `":1}`, `{"\ud800":"\udfff"}`,
	strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000), `{"__proto__":{"admin":true}}`, strings.Repeat(" ", 1<<20), `{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
}

// broken reports what no request may be answered with: an error of our own.
func broken(a answer) bool {
	return a.status == http.StatusInternalServerError || a.status == http.StatusServiceUnavailable || strings.Contains(a.text, `"kind":"internal"`)
}

// Nothing that is sent is answered with an error of our own, and what is
// malformed is told so: TOOLS-05, NET-02 over the whole surface.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	admin := d.person("admin@sample.example")
	declared := operations()
	var group errgroup.Group
	group.SetLimit(8)
	sent := make(chan struct{}, 1<<16)
	send := func(c caller, method, path string, body any, headers ...string) {
		group.Go(func() error {
			a, err := c.try(method, path, body, headers...)
			if sent <- struct{}{}; err == nil && broken(a) {
				t.Errorf("%s %.200s %.200v %q: %d %.300s", method, path, body, headers, a.status, a.text)
			}
			return nil // one that does not get through, as a broken path, is refused
		})
	}
	seen := map[string]bool{}
	for _, r := range matrix {
		o := declared[r.name]
		method, path, body, err := r.request(o, none)
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.name] || r.last || slices.Contains([]string{"test_sign_in_provider", "set_setting", "set_secret"}, r.name) && o == nil {
			continue
		}
		seen[r.name] = true
		bare, _, _ := strings.Cut(path, "?")
		for _, text := range bodies {
			for _, kind := range []string{"application/json", "text/plain", "application/json; charset=utf-16", "multipart/form-data", "application/x-www-form-urlencoded", ""} {
				if len(text) < 100 || kind == "application/json" {
					send(admin, method, bare, text, "Content-Type", kind)
				}
			}
		}
		for _, query := range []string{"?limit=1&limit=2", "?limit=1;limit=2", "?%zz", "?limit=%ff", "?=&&=", "?limit[]=1", "?" + strings.Repeat("a=b&", 5000), "?LIMIT=1", "?dataset=%00"} {
			send(admin, method, bare+query, body)
		}
		for _, header := range [][]string{
			{"Content-Encoding", "gzip"}, {"Transfer-Encoding", "identity"}, {"Accept", "\x01"}, {"Range", "bytes=0-0,1-1,-5"}, {"If-None-Match", "*"}, {"If-Match", "\"\""},
			{"Expect", "200-maybe"}, {"X-Request-Id", strings.Repeat("x", 5000)}, {"Accept-Language", strings.Repeat("x,", 5000)}, {"Cookie", "__Host-pbmb=%00; __Host-pbmb=x"},
			{"Authorization", "Bearer"}, {"Authorization", "Bearer \xff"}, {"Authorization", "Bearer pbmb_key_" + strings.Repeat("x", 5000)}, {"Authorization", "Negotiate x"},
		} {
			send(admin, method, path, body, header...)
		}
		if o == nil {
			continue
		}
		args := map[string]any{}
		if r.args != "" {
			if err := json.Unmarshal([]byte(strings.ReplaceAll(r.args, "@sales", none)), &args); err != nil {
				t.Fatal(err)
			}
		}
		for name := range o.Input.Properties {
			for _, value := range hostile {
				changed := map[string]any{}
				for k, v := range args {
					changed[k] = v
				}
				changed[name] = value
				raw, err := json.Marshal(changed)
				if err != nil {
					continue // what is no JSON is among the bodies
				}
				shape := row{name: r.name, args: string(raw)}
				if text, ok := value.(string); !ok || text != "" || !slices.Contains(o.PathParams, name) {
					method, path, body, err := shape.request(o, none)
					if err == nil {
						send(admin, method, path, body)
					}
				}
			}
		}
	}
	agent := admin.connector()
	for _, text := range append(slices.Clone(bodies),
		`{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, `{"id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, `{"jsonrpc":"2.0","id":[],"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1e400,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":1}`, `{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"a","query":1}}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"SEARCH","arguments":{"query":"a"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"a"},"task":{"ttl":-1},"_meta":{"progressToken":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[],"capabilities":1,"clientInfo":""}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\u0000"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{}}`, `[1,2]`, `[null]`, `[[]]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
	) {
		for _, version := range []string{"2025-06-18", "2026-07-28", "9999-99-99", "\u00e9"} {
			send(agent, http.MethodPost, "/api/mcp", text, "Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", version)
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(sent) < 3000 {
		t.Errorf("only %d requests were sent", len(sent))
	}
	if a := admin.send(http.MethodGet, "/api/v1/me", nil); a.status != http.StatusOK {
		t.Errorf("the admin after all that: %d %s", a.status, a.text)
	}
}

// AUTHZ-28, NET-02: however a path is written, nothing is opened that the matrix
// keeps shut, to nobody and to a viewer; what is answered is the browser's shell or
// a refusal.
func TestPathsWrittenOtherwise(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, nil)
	callers := map[string]caller{"nobody": d.nobody(), "a viewer": d.person("viewer@sample.example")}
	key := d.person("admin@sample.example").account("a key")
	callers["a key"], callers["a connector"] = key, callers["a viewer"].connector()
	shell := d.nobody().send(http.MethodGet, "/", nil).text
	targets := []string{"/api/v1/admin/audit", "/api/v1/admin/secrets", "/api/v1/admin/roles", "/api/v1/datasets/" + d.dataset("Finance")}
	var answered atomic.Int32
	var group errgroup.Group
	group.SetLimit(8)
	try := func(name, method, path string, headers ...string) {
		group.Go(func() error {
			a, err := callers[name].try(method, path, nil, headers...)
			if err != nil {
				return nil // no request at all
			}
			answered.Add(1)
			if broken(a) || a.status < 300 && a.status != http.StatusNoContent && a.text != shell {
				t.Errorf("%s %s %q by %s: %d %.300s", method, path, headers, name, a.status, a.text)
			}
			return nil
		})
	}
	for _, target := range targets {
		last := target[strings.LastIndex(target, "/")+1:]
		upper := strings.ToUpper(target)
		for name := range callers {
			for _, path := range []string{
				target, target + "/", target + "//", target + "/.", target + "/..;/", target + ";a=b", target + "%20", target + "%00", target + "%2f", target + ".json", target + "#x", target + "?", target + "/x/..",
				upper, strings.Replace(target, "/api", "/API", 1), strings.Replace(target, "admin", "Admin", 1), strings.Replace(target, "a", "%61", 1), "/" + target, "//localhost" + target,
				strings.Replace(target, "/v1", "/v1/", 1), strings.Replace(target, "/v1", "//v1", 1), strings.Replace(target, "/v1", "/./v1", 1), strings.Replace(target, "/v1", "/x/../v1", 1), strings.Replace(target, "/v1", "/%2e/v1", 1),
				strings.ReplaceAll(target, "/", "%2f"), strings.ReplaceAll(target, "/", "%5c"), strings.ReplaceAll(target, "/", "\\"), strings.Replace(target, "/v1/", "/v1%2f", 1), "/api/v1%2f.." + target,
				"/healthz/.." + target, "/healthz%2f.." + target, "/assets/.." + target, "/assets/..%2f" + strings.TrimPrefix(target, "/"), "/assets/%2e%2e" + target, "/catalog/categories/../.." + target, "/catalog/categories/x/..%2f..%2f.." + target,
				"/api/auth/.." + strings.TrimPrefix(target, "/api"), "/api/mcp/.." + strings.TrimPrefix(target, "/api"), "/api/mcp/" + last, "/.well-known/.." + target, "/api/auth/config/../.." + strings.TrimPrefix(target, "/api"),
			} {
				try(name, http.MethodGet, path)
			}
			for _, header := range [][]string{
				{"X-HTTP-Method-Override", "GET"}, {"X-Original-URL", target}, {"X-Rewrite-URL", target}, {"X-Forwarded-Prefix", target}, {"X-Forwarded-Path", target}, {"X-Forwarded-For", "127.0.0.1"},
				{"X-Real-Ip", "127.0.0.1"}, {"X-Forwarded-User", "admin@sample.example"}, {"X-Remote-User", "admin@sample.example"}, {"Forwarded", "for=127.0.0.1"}, {"X-Original-Method", "GET"}, {"Via", "1.1 localhost"},
			} {
				for _, path := range []string{target, "/healthz"} {
					try(name, http.MethodGet, path, header...)
					if path == target {
						try(name, http.MethodPost, path, header...)
					}
				}
			}
			for _, method := range []string{"HEAD", "OPTIONS", "TRACE", "PATCH", "PROPFIND", "get", "GET ", "CONNECT", "ADMIN"} {
				try(name, method, target)
			}
			for _, query := range []string{"?access_token=x", "?_method=GET", "?" + url.Values{"callback": {"x"}}.Encode()} {
				try(name, http.MethodGet, target+query)
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if answered.Load() < 800 {
		t.Errorf("only %d requests were answered", answered.Load())
	}
	if a := callers["a viewer"].send(http.MethodGet, "/api/v1/datasets", nil); a.status != http.StatusOK {
		t.Errorf("the viewer after all that: %d %s", a.status, fmt.Sprint(a.text))
	}
}
