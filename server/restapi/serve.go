package restapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/pbmb/pbmb/tools/operation"
)

// serve binds one operation: its arguments are read from the path, the query or
// the body, and handed to the guard as one JSON object.
func serve(cfg Config, d *operation.Def) func(huma.Context) {
	return func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		args, err := arguments(d, r)
		if err != nil {
			WriteProblem(w, r, err)
			return
		}
		out, failure := cfg.Guard.Call(r.Context(), d, args)
		if failure != nil {
			WriteProblem(w, r, failure)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		// The client has gone where this fails, and there is nobody to tell.
		_, _ = w.Write(out.JSON)
	}
}

func arguments(d *operation.Def, r *http.Request) (json.RawMessage, *operation.Error) {
	args := map[string]json.RawMessage{}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, operation.Invalidf("Percent-encode its values.", "The query string cannot be read.")
	}
	if inQuery(d) {
		for name, values := range query {
			if len(values) != 1 {
				return nil, operation.Invalidf("Send it once.", "The parameter %q is repeated.", name)
			}
			args[name] = typed(d.Input.Properties[name], values[0])
		}
	} else {
		if len(query) > 0 {
			return nil, operation.Invalidf("Send them as one JSON object in the body.", "Arguments in the query string are not read here.")
		}
		if failure := readBody(r, &args); failure != nil {
			return nil, failure
		}
		for _, name := range d.PathParams {
			if _, twice := args[name]; twice {
				return nil, operation.Invalidf("Leave it out of the body.", "%q is in the path already.", name)
			}
		}
	}
	for _, name := range d.PathParams {
		args[name] = typed(d.Input.Properties[name], r.PathValue(name))
	}
	whole, err := json.Marshal(args)
	if err != nil {
		return nil, operation.Invalidf("Send valid JSON.", "The arguments cannot be read.")
	}
	return whole, nil
}

func readBody(r *http.Request, args *map[string]json.RawMessage) *operation.Error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return &operation.Error{Kind: operation.TooLarge, Sentence: "The request body is over 1 MiB.", Next: "Send less."}
		}
		return operation.Invalidf("Send it again.", "The request body could not be read.")
	}
	if len(body) == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return operation.Invalidf("Send Content-Type: application/json.", "The body is not declared as JSON.")
	}
	if err := json.Unmarshal(body, args); err != nil || *args == nil {
		return operation.Invalidf("Send one JSON object.", "The body is not a JSON object.")
	}
	return nil
}

// typed makes the text of a parameter the JSON value that its schema asks for. A
// text that is none stays a text, which validation then refuses by name.
func typed(s *huma.Schema, text string) json.RawMessage {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(fmt.Sprintf("restapi: encoding a string: %v", err))
	}
	if s == nil {
		return quoted
	}
	switch s.Type {
	case huma.TypeInteger, huma.TypeNumber:
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case huma.TypeBoolean:
		if slices.Contains([]string{"true", "false"}, text) {
			return json.RawMessage(text)
		}
	}
	return quoted
}
