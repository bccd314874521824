package operation_test

import (
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
