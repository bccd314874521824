package restapi

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/pbmb/pbmb/tools/operation"
)

// Prefix is where the API stands.
const Prefix = "/api/v1"

// Config is what the API stands on.
type Config struct {
	Version    string
	BaseURL    string // the deployment's public address
	Operations []*operation.Def
	Guard      *operation.Guard
}

// A Handler serves everything under /api/v1 that the catalogue declares, the
// OpenAPI document included.
type Handler struct {
	http.Handler
	routes []string
}

// Routes lists what is served, each as its method and its path.
func (h *Handler) Routes() []string { return h.routes }

// New returns the Handler of the operations of cfg.
func New(cfg Config) *Handler {
	mux := http.NewServeMux()
	h := &Handler{Handler: mux}
	api := newAPI(mux, cfg)
	for _, d := range cfg.Operations {
		if d.Surfaces&(operation.API|operation.Browser) == 0 {
			continue
		}
		op := describe(api, d)
		api.OpenAPI().AddOperation(op)
		api.Adapter().Handle(op, serve(cfg, d))
		h.routes = append(h.routes, op.Method+" "+op.Path)
	}
	document := documentOf(api)
	for path, handle := range map[string]http.HandlerFunc{"/openapi.json": document.json, "/openapi.yaml": document.yaml} {
		mux.HandleFunc("GET "+Prefix+path, handle)
		h.routes = append(h.routes, "GET "+Prefix+path)
	}
	mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		WriteProblem(w, r, noSuchPath(mux, r))
	})
	return h
}

// Document returns the OpenAPI document of the operations, as JSON.
func Document(operations []*operation.Def) ([]byte, error) {
	api := newAPI(http.NewServeMux(), Config{Version: "1", BaseURL: "/"})
	for _, d := range operations {
		if d.Surfaces&(operation.API|operation.Browser) != 0 {
			api.OpenAPI().AddOperation(describe(api, d))
		}
	}
	return documentOf(api).asJSON, nil
}

func newAPI(mux *http.ServeMux, cfg Config) huma.API {
	config := huma.DefaultConfig("pbmb, the Power BI Metrics Book", cmp.Or(cfg.Version, "1"))
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil // no $schema links in answers
	config.Info.Description = "Every operation of the book, each within the caller's own Power BI rights. " +
		"Sign in by a browser session, or send a token issued for " + Prefix + "."
	config.Components.Schemas = operation.NewTypes()
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"session": {Type: "apiKey", In: "cookie", Name: "__Host-pbmb"},
		"bearer":  {Type: "http", Scheme: "bearer"},
	}
	config.Security = []map[string][]string{{"session": {}}, {"bearer": {}}}
	return humago.New(mux, config)
}

// describe says in OpenAPI what d is.
func describe(api huma.API, d *operation.Def) *huma.Operation {
	types := api.OpenAPI().Components.Schemas
	op := &huma.Operation{
		OperationID: d.Name, Method: d.Method, Path: Prefix + d.Path, Summary: d.Title, Description: d.Doc,
		Tags: []string{strings.Split(strings.TrimPrefix(d.Path, "/"), "/")[0]},
		Responses: map[string]*huma.Response{
			"200":     {Description: "Done", Content: content("application/json", operation.SchemaOf(types, d.Out))},
			"default": {Description: "Refused or failed", Content: content("application/problem+json", operation.SchemaOf(types, reflect.TypeFor[Problem]()))},
		},
	}
	body := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	for _, name := range slices.Sorted(maps.Keys(d.Input.Properties)) {
		s, required := d.Input.Properties[name], slices.Contains(d.Input.Required, name)
		switch {
		case slices.Contains(d.PathParams, name):
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: s, Description: s.Description})
		case inQuery(d):
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Required: required, Schema: s, Description: s.Description})
		default:
			body.Properties[name] = s
			if required {
				body.Required = append(body.Required, name)
			}
		}
	}
	if !inQuery(d) && len(body.Properties) > 0 {
		op.RequestBody = &huma.RequestBody{Required: len(body.Required) > 0, Content: content("application/json", body)}
	}
	return op
}

// inQuery reports whether what is not in the path comes as query parameters.
func inQuery(d *operation.Def) bool {
	return d.Method == http.MethodGet || d.Method == http.MethodDelete
}

func content(kind string, s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: s}}
}
