package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/wire"
	"github.com/pbmb/pbmb/sync/sample"
)

// A deployment is the whole api over a database of its own, a Cerbos of its own
// and the sample tenant, with the sample company's roles.
type deployment struct {
	t   *testing.T
	url string
	db  *postgrestest.Database
	log *syncBuffer
}

// options differ from test to test.
type options struct {
	policies []fs.FS
	outside  fetch.Options // how addresses are reached that somebody else chose
	change   func(*config.Config)
}

func newDeployment(t *testing.T, o options) *deployment {
	t.Helper()
	d := &deployment{t: t, db: postgrestest.New(t), log: &syncBuffer{}}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	tenant, err := sample.New(sample.Config{Unlimited: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	microsoft := httptest.NewServer(tenant.Handler())
	t.Cleanup(microsoft.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.url = strings.Replace("http://"+listener.Addr().String(), "127.0.0.1", "localhost", 1)
	cfg := config.Config{
		Environment: config.Test, Listen: listener.Addr().String(), PublicBaseURL: d.url, Deployment: "test",
		AuthSecret: "thirty-two bytes of a test secret", IdentityFolder: t.TempDir(),
		DatabaseAPI: d.db.URL(postgres.API), DatabaseWorker: d.db.URL(postgres.Worker), CerbosAddress: cerbostest.Start(t, o.policies...),
		TenantID: sample.TenantID, Authority: microsoft.URL + sample.LoginPath,
		GraphURL: microsoft.URL + sample.GraphPath + "/v1.0", APIURL: microsoft.URL + sample.PowerBIPath + "/v1.0/myorg",
		ClientID: sample.AppID, GoogleIssuer: microsoft.URL + sample.GooglePath, AllowDevSignIn: true,
	}
	if o.change != nil {
		o.change(&cfg)
	}
	if err := wire.SetUpSample(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	api, err := wire.API(ctx, cfg, listener, wire.KnownInSample(tenant), o.outside, log)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the api ended with %v", err)
		}
	})
	return d
}

// allowing has the policies of a deployment that allow every action on a kind to
// everybody.
func allowing(kinds ...string) fs.FS {
	files := fstest.MapFS{}
	for _, kind := range kinds {
		files[kind+".yaml"] = &fstest.MapFile{Data: []byte(`apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: ` + kind + `
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
    - actions: ["*"]
      effect: EFFECT_ALLOW
      roles: ["*"]
`)}
	}
	return files
}

// An answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   string
}

// field is a field of a JSON object, or nil.
func (a answer) field(name string) any {
	var object map[string]any
	_ = json.Unmarshal([]byte(a.body), &object) // no JSON has no fields
	return object[name]
}

func (a answer) text(name string) string {
	s, _ := a.field(name).(string)
	return s
}

// A caller sends requests with the same headers each time.
type caller struct {
	d       *deployment
	headers []string
}

// anybody brings these headers, each "Name: value".
func (d *deployment) anybody(headers ...string) caller { return caller{d, headers} }

// bearer brings a token or key.
func (d *deployment) bearer(token string) caller { return d.anybody("Authorization: Bearer " + token) }

// person signs somebody in.
func (d *deployment) person(email string) caller {
	d.t.Helper()
	a := d.anybody("Origin: "+d.url).do(http.MethodPost, "/api/auth/dev-sign-in", map[string]string{"email": email})
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == session.Cookie {
			return d.anybody("Origin: "+d.url, "Cookie: "+session.Cookie+"="+c.Value)
		}
	}
	d.t.Fatalf("signing %s in: %d %s", email, a.status, a.body)
	return caller{}
}

func (c caller) with(headers ...string) caller {
	return caller{c.d, append(append([]string{}, c.headers...), headers...)}
}

// do sends one request; a body is sent as JSON.
func (c caller) do(method, path string, body any) answer {
	c.d.t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			c.d.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(c.d.t.Context(), method, c.d.url+path, bytes.NewReader(raw))
	if err != nil {
		c.d.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	client := http.Client{Transport: fetchtest.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		c.d.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.d.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func (c caller) get(path string) answer { c.d.t.Helper(); return c.do(http.MethodGet, path, nil) }

// must is do for what has to go well.
func (c caller) must(method, path string, body any) answer {
	c.d.t.Helper()
	a := c.do(method, path, body)
	if a.status != http.StatusOK {
		c.d.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return a
}

// A syncBuffer keeps what several goroutines write.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
