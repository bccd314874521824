package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
)

// A check is what the analysis of a query for personal data leaves for its answer.
type check struct {
	coverage *pii.Coverage    // nil where nothing is checked
	model    *knowledge.Model // as it was analysed
	dax      string
	read     []string // personal data that the query uses, where the asker may read it
}

// analyse refuses a query that could read personal data, except of those who may
// read it: of theirs it says what they read. What of the model the check depends on
// and nobody has read yet is read at once, under the asker's own token first.
func (r *Runner) analyse(ctx context.Context, q Request, model *knowledge.Model, values setting.PII) (check, error) {
	rules, err := r.Models.Rules(ctx)
	if err != nil {
		return check{}, fmt.Errorf("reading the rules on personal data: %w", err)
	}
	coverage := cover(rules, model, values)
	if !coverage.Any() {
		return check{}, nil // PII-94
	}
	if q.Principal.Kind == policies.Person && q.Principal.Has(policies.RolePIIReader) {
		return check{read: uses(q.DAX, model, coverage)}, nil
	}
	if model.Unread() {
		if q.Principal.Kind != policies.Person {
			return check{}, ErrServiceAccount // there is nobody's token to read them under
		}
		err := r.Reader.ReadModel(ctx, q.Principal.ID, q.Dataset.ID)
		if errors.Is(err, ErrNotConnected) || errors.Is(err, ErrNeedsReconnect) {
			return check{}, err // the query could not run either
		}
		// Where it failed otherwise, the analysis refuses and says why.
		if model, err = r.Models.Model(ctx, q.Dataset.ID); err != nil {
			return check{}, fmt.Errorf("reading the model of a dataset: %w", err)
		}
		coverage = cover(rules, model, values)
	}
	if refusal := pii.Check(q.DAX, model, coverage); refusal != nil {
		return check{}, refused(refusal)
	}
	return check{coverage: coverage, model: model, dax: q.DAX}, nil
}

// uses is what of a query is personal data, for the audit of those who may read it.
// What cannot be read with certainty is said so, since it may be.
func uses(dax string, model *knowledge.Model, coverage *pii.Coverage) []string {
	refusal := pii.Check(dax, model, coverage)
	if refusal == nil {
		return nil
	}
	if elements := refusal.PII(); len(elements) > 0 {
		return elements
	}
	return refusal.Elements
}

// cover lays the rules over the model, as the deployment wants measures judged.
func cover(rules []pii.Rule, model *knowledge.Model, values setting.PII) *pii.Coverage {
	c := pii.Cover(rules, model)
	c.AllowValueMeasures = values.ValueMeasures == setting.AllowValueMeasures
	return c
}

func refused(r *pii.Refusal) error {
	return &RefusedError{Elements: r.Elements, Sentence: r.Sentence(), Cause: string(r.Cause)}
}

const unexpectedHeader = "The answer is withheld because it has columns that the query was not seen to give, which may be personal data; " +
	"name the columns that you need, or ask an admin to grant you the role pii_reader."

// header compares the columns of an answer with what the query was found to give.
func (c check) header(keys []string) error {
	if c.coverage == nil {
		return nil
	}
	if refusal := pii.CheckHeader(keys, c.dax, c.model, c.coverage); refusal != nil {
		// The names are the answer's and not the query's, so no sentence has them (MCP-17).
		return &RefusedError{Elements: refusal.Elements, Sentence: unexpectedHeader, Cause: string(refusal.Cause)}
	}
	return nil
}

// quotedValues is everything from the first quotation mark of one of Power BI's
// sentences to its last, or to its end where there is only one. A value may hold
// marks of its own, so where one ends cannot be told.
var quotedValues = regexp.MustCompile(`(?s)['"](.*['"]|.*)`)

// clean takes what Power BI quotes out of its sentence, where it may be personal
// data (PII-124).
func (c check) clean(err error) error {
	up, ok := errors.AsType[*UpstreamError](err)
	if c.coverage == nil || !ok {
		return err
	}
	masked := *up
	masked.Message = quotedValues.ReplaceAllString(up.Message, "'…'")
	return &masked
}
