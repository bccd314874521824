package operation_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// PostgreSQL keeps no NUL, so a text with one is wrong before anything reads it.
func TestTextWithNULIsInvalid(t *testing.T) {
	r := &recorder{found: []knowledge.Dataset{{ID: "d1", Name: "Sales"}}}
	def := newDef(r, func(input) (answer, error) { return answer{}, errors.New("the handler was reached") })
	_, failure := newGuard(r).Call(policies.NewContext(t.Context(), viewer()), def, json.RawMessage(`{"dataset":"Sa\u0000les"}`))
	if failure == nil || failure.Kind != operation.Invalid || !strings.Contains(failure.Sentence, `"dataset": expected no NUL`) {
		t.Errorf("failure %+v", failure)
	}
	if len(r.steps) != 1 {
		t.Errorf("steps %q, want the limit alone", r.steps)
	}
}

// What is valid JSON and means nothing to us is the caller's mistake, and null is what
// is left out.
func TestNumbersBeyondAnyListAndNull(t *testing.T) {
	type numbers struct {
		operation.PageInput
		Version int    `json:"version,omitempty" doc:"A version"`
		Kind    string `json:"kind,omitempty" doc:"A kind" default:"all"`
	}
	r := &recorder{}
	var got numbers
	def := operation.Operation[numbers, answer]{
		Name: "count", Title: "Count", Doc: "Counts.", Route: "GET /count", Command: "count", Surfaces: operation.Connector,
		Effect: operation.Reads, Ask: operation.OnBook[numbers](policies.Read),
		Handle: func(_ context.Context, _ *operation.Call, in numbers) (answer, error) {
			got = in
			_, err := in.Offset()
			return answer{}, err
		},
	}.Def()
	cursor := func(text string) string {
		return `{"cursor":"` + base64.RawURLEncoding.EncodeToString([]byte(text)) + `"}`
	}
	for args, want := range map[string]string{
		`{"version":99999999999999999999}`:      `Argument "version": number 100000000000000000000 is out of range.`,
		cursor("after:9223372036854775807"):     "is not one of ours",
		cursor("after:2147483649"):              "is not one of ours",
		cursor("after:-1"):                      "is not one of ours",
		cursor("after:2147483648"):              "",
		`{"version":null,"kind":null}`:          "",
		`{"version":null,"kind":null,"x":null}`: `unknown argument "x"`,
	} {
		_, failure := newGuard(r).Call(policies.NewContext(t.Context(), viewer()), def, json.RawMessage(args))
		switch {
		case want == "" && (failure != nil || got.Kind != "all" || got.Limit != 50 || got.Version != 0):
			t.Errorf("%s: %v, read as %+v", args, failure, got)
		case want != "" && (failure == nil || failure.Kind != operation.Invalid || !strings.Contains(strings.ToLower(failure.Sentence), strings.ToLower(want))):
			t.Errorf("%s: %+v, want %q", args, failure, want)
		}
	}
}
