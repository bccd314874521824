package restapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Problem is an error as RFC 9457 has it.
type Problem struct {
	Type      string   `json:"type" doc:"Names the kind of error"`
	Title     string   `json:"title" doc:"The HTTP status in words"`
	Status    int      `json:"status" doc:"HTTP status"`
	Detail    string   `json:"detail" doc:"One sentence: what is wrong"`
	Kind      string   `json:"kind" doc:"One of the closed set of kinds" example:"not_found"`
	Next      string   `json:"next,omitempty" doc:"What to do next"`
	Names     []string `json:"names,omitempty" doc:"References that help: valid arguments, nearest names, refused elements"`
	Upstream  string   `json:"power_bi_says,omitempty" doc:"Power BI's own sentence (untrusted text)"`
	RequestID string   `json:"request_id" doc:"Tell this to an admin"`
}

// WriteProblem answers r with e.
func WriteProblem(w http.ResponseWriter, r *http.Request, e *operation.Error) {
	status := e.Kind.Status()
	body, err := json.Marshal(Problem{
		Type: "urn:pbmb:error:" + string(e.Kind), Title: http.StatusText(status), Status: status,
		Detail: e.Sentence, Kind: string(e.Kind), Next: e.Next, Names: e.Names, Upstream: e.Upstream, RequestID: requestid.FromContext(r.Context()),
	})
	if err != nil {
		panic(fmt.Sprintf("restapi: encoding a problem: %v", err))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())+1))
	}
	w.WriteHeader(status)
	// The client has gone where this fails, and there is nobody to tell.
	_, _ = w.Write(body)
}

// noSuchPath tells what is wrong with a request that no operation serves.
func noSuchPath(mux *http.ServeMux, r *http.Request) *operation.Error {
	var served []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); strings.HasPrefix(pattern, method+" ") {
			served = append(served, method)
		}
	}
	e := &operation.Error{Kind: operation.NotFound, Sentence: "There is nothing at this path.", Next: "The document at " + Prefix + "/openapi.json has every path."}
	if len(served) > 0 {
		e.Sentence = "This path does not serve " + r.Method + "."
		e.Next = "It serves " + strings.Join(served, ", ") + "."
	}
	return e
}

// document is the OpenAPI document in both its forms.
type document struct{ asJSON, asYAML []byte }

func documentOf(api huma.API) document {
	asJSON, err := json.MarshalIndent(api.OpenAPI(), "", "  ")
	if err != nil {
		panic(fmt.Sprintf("restapi: encoding the OpenAPI document: %v", err))
	}
	asYAML, err := api.OpenAPI().YAML()
	if err != nil {
		panic(fmt.Sprintf("restapi: encoding the OpenAPI document: %v", err))
	}
	return document{append(asJSON, '\n'), asYAML}
}

func (d document) json(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	// The client has gone where this fails, and there is nobody to tell.
	_, _ = w.Write(d.asJSON)
}

func (d document) yaml(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	// The client has gone where this fails, and there is nobody to tell.
	_, _ = w.Write(d.asYAML)
}
