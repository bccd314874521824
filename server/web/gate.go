package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/restapi"
	"github.com/pbmb/pbmb/tools/operation"
)

// An Authenticator finds out who sent a request; see [authn.Authn], whose errors
// it returns.
type Authenticator interface {
	Session(r *http.Request) (*policies.Principal, error)
	Bearer(ctx context.Context, token, resourcePath string) (*policies.Principal, error)
	Challenge(resourcePath string, err error) string
}

// Keys finds out whose API key a request brings; see [authn.APIKeys].
type Keys interface {
	Resolve(ctx context.Context, key, address string) (*policies.Principal, error)
}

// A Limiter counts requests against a limit.
type Limiter interface {
	Count(ctx context.Context, rule, subject string, most int, per time.Duration) (ok bool, retry time.Duration, err error)
}

// Config is what the edge stands on.
type Config struct {
	Site    protocol.Site
	Origin  string
	HTTPS   bool
	Shell   fs.FS            // the built SPA
	Screens []string         // paths of its screens, each of which serves the same bytes
	Routes  []protocol.Route // of the packages of oauth
	API     http.Handler     // everything else under /api/v1
	MCP     http.Handler     // /api/mcp, which checks its own token
	Auth    Authenticator
	Keys    Keys
	Limits  Limiter
	Ready   func(context.Context) error
	Address func(*http.Request) string
	Log     *slog.Logger
}

// An Edge is the whole api behind its gate.
type Edge struct {
	http.Handler
	routes []string
}

// Routes lists what is registered behind the gate, each as its method, where it
// has one, and its path.
func (e *Edge) Routes() []string { return e.routes }

// New returns the whole api behind its gate.
func New(cfg Config) *Edge {
	g := &gate{cfg: cfg, mux: http.NewServeMux(), routes: map[string]protocol.Route{}}
	e := &Edge{Handler: identify(cfg.Log, cfg.Address, secure(cfg.HTTPS, limitBody(http.HandlerFunc(g.serve))))}
	handle := func(route string, h http.Handler) {
		g.mux.Handle(pattern(route), h)
		e.routes = append(e.routes, route)
	}

	shell, asset := serveShell(cfg.Shell)
	for _, path := range append([]string{categories}, cfg.Screens...) {
		handle("GET "+path, shell)
	}
	handle("GET /assets/:file", asset)
	handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	handle("GET /readyz", http.HandlerFunc(g.ready))
	for _, r := range cfg.Routes {
		if listed := isPublic(nil, r.Method, r.Path); listed != (r.Access == protocol.Anyone) {
			panic(fmt.Sprintf("web: %s %s is on the public list: %v; its own declaration says otherwise", r.Method, r.Path, listed))
		}
		g.routes[r.Method+" "+r.Path] = r
		handle(r.Method+" "+r.Path, r.Handler)
	}
	handle(restapi.Prefix+"/", cfg.API)
	handle(protocol.ResourceMCP, cfg.MCP)
	g.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { problem(w, r, http.StatusNotFound) })
	return e
}

// pattern is a route as http.ServeMux has it.
func pattern(route string) string {
	parts := strings.Split(route, "/")
	for i, p := range parts {
		if name, found := strings.CutPrefix(p, ":"); found {
			parts[i] = "{" + name + "}"
		} else if p == "*" {
			parts[i] = "{below...}"
		}
	}
	if joined := strings.Join(parts, "/"); joined != "GET /" {
		return joined
	}
	return "GET /{$}"
}

type gate struct {
	cfg    Config
	mux    *http.ServeMux
	routes map[string]protocol.Route
}

// serve lets a request through to its handler, or answers in its stead.
func (g *gate) serve(w http.ResponseWriter, r *http.Request) {
	own, isOwn := g.routes[r.Method+" "+r.URL.Path]
	if !g.originAllowed(r, own, isOwn) {
		problem(w, r, http.StatusForbidden)
		return
	}
	if !g.withinLimit(w, r, own, isOwn) {
		return
	}
	switch {
	case isPublic(g.cfg.Screens, r.Method, r.URL.Path), r.URL.Path == protocol.ResourceMCP:
		// The connector checks its own token, since its order of refusals is MCP's.
	case strings.HasPrefix(r.URL.Path, "/api/auth/") && !isOwn:
		problem(w, r, http.StatusNotFound)
		return
	default:
		p := g.authenticate(w, r, own, isOwn)
		if p == nil {
			return
		}
		Seen(r.Context(), p)
		r = r.WithContext(policies.NewContext(r.Context(), p))
	}
	g.mux.ServeHTTP(w, r)
	if r.Pattern != "" {
		requestOf(r.Context()).route = r.Pattern
	}
}

// authenticate returns who sent r, or answers and returns nil.
func (g *gate) authenticate(w http.ResponseWriter, r *http.Request, own protocol.Route, isOwn bool) *policies.Principal {
	isAPI := strings.HasPrefix(r.URL.Path, restapi.Prefix+"/")
	p, err := g.who(r, isAPI && !isOwn)
	if errors.Is(err, authn.ErrNoRole) && isOwn && own.Access == protocol.WithSession {
		err = nil // SIGNIN-26: a session may look at and end itself
	}
	if err == nil {
		return p
	}
	if limited, ok := errors.AsType[*authn.RateLimitError](err); ok {
		Seen(r.Context(), p)
		restapi.WriteProblem(w, r, &operation.Error{
			Kind: operation.RateLimited, Sentence: fmt.Sprintf("This service account may make %d requests a minute.", limited.PerMinute),
			Next: "Try again in a while.", RetryAfter: limited.RetryAfter,
		})
		return nil
	}
	status := authn.Status(err)
	switch {
	case errors.Is(r.Context().Err(), context.Canceled):
		// Whoever asked has gone, as a browser does that leaves a page.
	case status == http.StatusServiceUnavailable:
		unexpected.Log(r.Context(), g.cfg.Log, "finding out who sent a request", err)
		w.Header().Set("Retry-After", "2")
	case isAPI:
		if challenge := g.cfg.Auth.Challenge(protocol.ResourceAPI, err); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
	}
	if errors.Is(err, authn.ErrInvalidKey) {
		// Why is for the log: whoever found a key learns nothing of it.
		unexpected.Refused(r.Context(), g.cfg.Log, "refusing an API key", err)
		restapi.WriteProblem(w, r, &operation.Error{
			Kind: operation.Unauthenticated, Sentence: "This API key opens nothing.",
			Next: "It may be over, or not be meant for this address: ask an admin.",
		})
		return nil
	}
	problem(w, r, status)
	return nil
}

// who resolves r. A token decides alone, and a cookie beside it is not looked at
// (OAUTH-10); where tokens are not taken, one opens nothing (OAUTH-47).
func (g *gate) who(r *http.Request, takesTokens bool) (*policies.Principal, error) {
	token, isBearer := authn.BearerToken(r)
	switch {
	case !isBearer:
		return g.cfg.Auth.Session(r)
	case takesTokens && authn.IsAPIKey(token):
		return g.cfg.Keys.Resolve(r.Context(), token, ClientAddress(r.Context()))
	case takesTokens:
		return g.cfg.Auth.Bearer(r.Context(), token, protocol.ResourceAPI)
	}
	return nil, authn.ErrInvalidToken
}

// originAllowed is the origin check (NET-15 to NET-19): what changes state must
// come from a page of this deployment, unless nothing that a browser adds by
// itself decides it.
func (g *gate) originAllowed(r *http.Request, own protocol.Route, isOwn bool) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	if isOwn && own.AnyOrigin || r.URL.Path == protocol.ResourceMCP {
		return true // the connector has a check of its own
	}
	if _, isBearer := authn.BearerToken(r); isBearer && r.Header.Get("Cookie") == "" {
		return true
	}
	return r.Header.Get("Origin") == g.cfg.Origin
}

// withinLimit counts r against its route's limit by client address.
func (g *gate) withinLimit(w http.ResponseWriter, r *http.Request, own protocol.Route, isOwn bool) bool {
	limit := own.Limit
	if limit.Max == 0 {
		if !strings.HasPrefix(r.URL.Path, "/api/auth/") {
			return true
		}
		limit = protocol.AuthLimit
	}
	ok, retry, err := g.cfg.Limits.Count(r.Context(), limit.Rule, ClientAddress(r.Context()), limit.Max, limit.Per)
	if err != nil {
		unexpected.Log(r.Context(), g.cfg.Log, "counting a request", err)
		w.Header().Set("Retry-After", "2")
		problem(w, r, http.StatusServiceUnavailable)
		return false
	}
	if !ok {
		restapi.WriteProblem(w, r, &operation.Error{
			Kind: operation.RateLimited, Sentence: "Too many requests from this address.", Next: "Try again in a while.", RetryAfter: retry,
		})
	}
	return ok
}

func (g *gate) ready(w http.ResponseWriter, r *http.Request) {
	if err := g.cfg.Ready(r.Context()); err != nil {
		unexpected.Refused(r.Context(), g.cfg.Log, "not ready", err)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// problem answers with what the edge itself refuses.
func problem(w http.ResponseWriter, r *http.Request, status int) {
	e := &operation.Error{}
	switch status {
	case http.StatusUnauthorized:
		e.Kind, e.Sentence, e.Next = operation.Unauthenticated, "You are not signed in.", "Sign in first."
	case http.StatusForbidden:
		e.Kind, e.Sentence, e.Next = operation.Forbidden, "This request is refused.", "Send it from this deployment's own pages, as somebody whom a role reaches."
	case http.StatusNotFound:
		e.Kind, e.Sentence = operation.NotFound, "There is nothing at this path."
	case http.StatusRequestEntityTooLarge:
		e.Kind, e.Sentence, e.Next = operation.TooLarge, "The request body is over 1 MiB.", "Send less."
	case http.StatusInternalServerError:
		e.Kind, e.Sentence, e.Next = operation.Internal, "Something went wrong on our side.", "Try again; if it stays, tell an admin the request id."
	case http.StatusServiceUnavailable:
		e.Kind, e.Sentence, e.Next = operation.Unavailable, "This cannot be answered just now.", "Try again in a few seconds."
	}
	restapi.WriteProblem(w, r, e)
}
