package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/policies"
)

const (
	maxBody  = 1 << 20
	maxBatch = 20
)

// JSON-RPC error codes.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// ServeHTTP takes a request through host, origin, token, method, content type and
// size, in this order, and then through the protocol.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != h.cfg.Host {
		// A page that had its name resolved to this address would come with its own.
		http.Error(w, "This deployment answers at "+h.cfg.Origin+" alone.", http.StatusForbidden)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != h.cfg.Origin {
		http.Error(w, "Requests of other origins are refused.", http.StatusForbidden)
		return
	}
	// The token comes before the method: clients probe with GET and expect 401.
	p, err := h.cfg.Auth.Request(r, protocol.ResourceMCP)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "Only POST is served here.", http.StatusMethodNotAllowed)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		rpcError(w, http.StatusUnsupportedMediaType, invalidRequest, "Content-Type must be application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			rpcError(w, http.StatusRequestEntityTooLarge, invalidRequest, "the request body is over 1 MiB")
		} else {
			rpcError(w, http.StatusBadRequest, parseError, "the request body could not be read")
		}
		return
	}
	h.cfg.Seen(r.Context(), p)
	r = r.WithContext(policies.NewContext(r.Context(), p))
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		h.batch(w, r, trimmed)
		return
	}
	h.single(w, r, body)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := authn.Status(err)
	if challenge := h.cfg.Auth.Challenge(protocol.ResourceMCP, err); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	if status == http.StatusServiceUnavailable {
		unexpected.Log(r.Context(), h.cfg.Log, "looking up a token", err)
		w.Header().Set("Retry-After", "2")
	}
	http.Error(w, http.StatusText(status), status)
}

// envelope is what must be known of a message before it is passed on.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// isNotification reports whether a message asks for no answer. Such are
// acknowledged and never passed on.
func (e envelope) isNotification() bool {
	return e.Method != "" && (len(e.ID) == 0 || string(e.ID) == "null")
}

func (h *Handler) single(w http.ResponseWriter, r *http.Request, body []byte) {
	var e envelope
	if json.Unmarshal(body, &e) == nil {
		if e.isNotification() {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if e.Method == "subscriptions/listen" {
			h.listen(w, r, e.ID, body)
			return
		}
	}
	h.handle(r, body).writeTo(w)
}

func (h *Handler) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	var messages []json.RawMessage
	if err := json.Unmarshal(body, &messages); err != nil {
		rpcError(w, http.StatusBadRequest, parseError, "the request body is not valid JSON")
		return
	}
	if mcp.IsModernProtocol(r.Header.Get("MCP-Protocol-Version")) {
		rpcError(w, http.StatusBadRequest, invalidRequest, "this protocol version has no batches: send one message")
		return
	}
	if len(messages) == 0 || len(messages) > maxBatch {
		rpcError(w, http.StatusBadRequest, invalidRequest, "a batch holds 1 to 20 messages")
		return
	}
	envelopes := make([]envelope, len(messages))
	for i, m := range messages {
		if json.Unmarshal(m, &envelopes[i]) == nil && envelopes[i].Method == "initialize" {
			rpcError(w, http.StatusBadRequest, invalidRequest, "initialize stands alone, not in a batch")
			return
		}
	}
	answers := []json.RawMessage{}
	for i, m := range messages {
		if envelopes[i].isNotification() {
			continue
		}
		if body := bytes.TrimSpace(h.handle(r, m).body.Bytes()); len(body) > 0 {
			answers = append(answers, body)
		}
	}
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// The client has gone where this fails, and there is nobody to tell.
	_ = json.NewEncoder(w).Encode(answers)
}

// handle runs one message and returns its whole answer.
func (h *Handler) handle(r *http.Request, message []byte) *answer {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	h.http.Handle(a, &server.HTTPRequest{
		Method: http.MethodPost, URL: r.URL, Header: stateless(r.Header), Body: message, Context: r.Context(),
	})
	return a
}

// stateless returns the headers without a session's id: none is issued, and the
// library would let two callers share one.
func stateless(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Mcp-Session-Id")
	return h
}

// An answer collects what the library writes. It does not stream, so that an
// answer is one JSON document.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) Flush()                      {}
func (a *answer) CanStream() bool             { return false }

func (a *answer) writeTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	// The client has gone where this fails, and there is nobody to tell.
	_, _ = w.Write(a.body.Bytes())
}

func rpcError(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client has gone where this fails, and there is nobody to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
}
