package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Config is what the connector stands on.
type Config struct {
	Name    string // of the deployment
	Version string
	Host    string // the deployment's host and port, as its public address has them
	Origin  string // the deployment's origin

	Operations []*operation.Def
	Guard      *operation.Guard

	// Auth finds out who sent a request.
	Auth Authenticator

	// Seen is told who sent each request, before anything is done for them.
	Seen func(context.Context, *policies.Principal)

	// Guide returns the conventions' opening, which begins the instructions.
	Guide func(context.Context) string

	Log *slog.Logger
}

// An Authenticator resolves requests; see [authn.Authn], whose errors it returns.
type Authenticator interface {
	Request(r *http.Request, resourcePath string) (*policies.Principal, error)
	Challenge(resourcePath string, err error) string
}

// Handler answers POST /api/mcp.
type Handler struct {
	cfg  Config
	http *server.StreamableHTTPServer
}

// New returns the connector over every operation of cfg that it serves.
func New(cfg Config) (*Handler, error) {
	hooks := &server.Hooks{}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, r *mcp.InitializeResult) {
		r.Instructions = instructions(cfg.Name, cfg.Guide(ctx))
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.Instructions = instructions(cfg.Name, cfg.Guide(ctx))
	})
	s := server.NewMCPServer("pbmb", cfg.Version,
		server.WithTitle("Power BI Metrics Book"),
		server.WithToolCapabilities(false), // with changes to listen to, Handler.listen would never end
		server.WithCacheHints(60_000, mcp.CacheScopePrivate),
		server.WithInstructions("set for each request"),
		server.WithHooks(hooks),
	)
	h := &Handler{cfg: cfg}
	for _, d := range cfg.Operations {
		if d.Surfaces&operation.Connector == 0 {
			continue
		}
		tool, err := newTool(d)
		if err != nil {
			return nil, fmt.Errorf("describing the tool %s: %w", d.Name, err)
		}
		s.AddTool(tool, h.call(d))
	}
	h.http = server.NewStreamableHTTPServer(s,
		server.WithStateLess(true), server.WithDisableStreaming(true), server.WithDisableLocalhostProtection(true))
	return h, nil
}

func newTool(d *operation.Def) (mcp.Tool, error) {
	in, err := json.Marshal(closed(d.Input))
	if err != nil {
		return mcp.Tool{}, err
	}
	out, err := json.Marshal(closed(d.Output))
	if err != nil {
		return mcp.Tool{}, err
	}
	tool := mcp.NewToolWithRawSchema(d.Name, d.Doc, in)
	tool.Title, tool.RawOutputSchema = d.Title, out
	tool.Annotations = mcp.ToolAnnotation{
		Title:           d.Title,
		ReadOnlyHint:    new(d.Effect == operation.Reads),
		DestructiveHint: new(d.Effect == operation.Removes),
		IdempotentHint:  new(d.Effect != operation.Adds),
		OpenWorldHint:   new(false),
	}
	return tool, nil
}

// closed returns the schema as clients get it: without examples, which cost
// context, and with an object's properties closed.
func closed(s *huma.Schema) *huma.Schema {
	flat := *s
	flat.Examples = nil
	if flat.Properties != nil {
		flat.Properties = make(map[string]*huma.Schema, len(s.Properties))
		for name, p := range s.Properties {
			flat.Properties[name] = closed(p)
		}
	}
	if s.Items != nil {
		flat.Items = closed(s.Items)
	}
	if flat.Type == huma.TypeInteger || flat.Type == huma.TypeNumber {
		flat.Format = ""
	}
	return &flat
}

func (h *Handler) call(d *operation.Def) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, failure := h.cfg.Guard.Call(ctx, d, r.Params.RawArguments)
		if failure != nil {
			return toolError(failure, requestid.FromContext(ctx)), nil
		}
		return &mcp.CallToolResult{
			Content:           []mcp.Content{mcp.NewTextContent(out.Text)},
			StructuredContent: out.JSON,
		}, nil
	}
}

// errorData is the machine-readable half of a tool's error. Power BI's own words
// stand in a field of their own.
type errorData struct {
	Kind       operation.ErrorKind `json:"kind"`
	Names      []string            `json:"names,omitempty"`
	Upstream   string              `json:"power_bi_says,omitempty"`
	RetryAfter int                 `json:"retry_after_seconds,omitempty"`
	RequestID  string              `json:"request_id"`
}

func toolError(e *operation.Error, requestID string) *mcp.CallToolResult {
	data := errorData{Kind: e.Kind, Names: e.Names, Upstream: e.Upstream, RequestID: requestID, RetryAfter: int(e.RetryAfter.Seconds())}
	content := []mcp.Content{mcp.NewTextContent(e.Text(requestID))}
	if raw, err := json.Marshal(data); err == nil { // strings and a number: it does not fail
		content = append(content, mcp.NewTextContent(string(raw)))
	}
	result := &mcp.CallToolResult{IsError: true, Content: content}
	result.Meta = mcp.NewMetaFromMap(map[string]any{"kind": string(e.Kind), "request_id": requestID})
	return result
}
