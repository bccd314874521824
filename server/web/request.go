package web

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/policies"
)

type requestKey struct{}

// request is what the edge knows of a request.
type request struct {
	address   string
	route     string              // pattern of the handler that served it, which holds no value of it
	principal *policies.Principal // who sent it, once that is known
}

func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// ClientAddress returns the address that the request of ctx is counted against.
func ClientAddress(ctx context.Context) string { return requestOf(ctx).address }

// Seen notes who sent the request of ctx, for its log line and their audit rows.
func Seen(ctx context.Context, p *policies.Principal) {
	known := requestOf(ctx)
	known.principal, p.Address = p, known.address
}

// identify gives each request its id and its client's address, and logs it in one
// line when it is done: no query string, no body, no token.
func identify(log *slog.Logger, address func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := requestid.New()
		w.Header().Set("X-Request-Id", id)
		known := &request{address: address(r), route: "none"}
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		r = r.WithContext(context.WithValue(requestid.NewContext(r.Context(), id), requestKey{}, known))
		serve(log, recorder, r, next)
		attributes := []any{
			"request_id", id, "method", r.Method, "route", known.route, "status", recorder.status,
			"milliseconds", time.Since(start).Milliseconds(),
		}
		if p := known.principal; p != nil {
			attributes = append(attributes, "principal_kind", p.Kind, "principal_id", p.ID, "client_id", p.ClientID)
		}
		log.InfoContext(r.Context(), "request", attributes...)
	})
}

// serve answers in the place of a handler that panics, where it has not begun to
// itself; otherwise the connection is all that there is to break off.
func serve(log *slog.Logger, w *statusRecorder, r *http.Request, next http.Handler) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if value == http.ErrAbortHandler {
			panic(value)
		}
		unexpected.Log(r.Context(), log, "serving a request", unexpected.Recovered(value))
		if w.wrote {
			panic(http.ErrAbortHandler)
		}
		problem(w, r, http.StatusInternalServerError)
	}()
	next.ServeHTTP(w, r)
}

type statusRecorder struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status, s.wrote = status, true
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusRecorder) Write(b []byte) (int, error) {
	s.wrote = true
	return s.ResponseWriter.Write(b)
}

// Flush lets a handler that streams ask for it by type, as mcp-go does.
func (s *statusRecorder) Flush() {
	// What cannot be flushed is sent when the handler returns.
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach what is beneath.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
