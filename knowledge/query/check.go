package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
)

// A check is what the analysis of a query for personal data leaves for its answer.
type check struct {
	coverage *pii.Coverage    // nil where nothing is checked
	model    *knowledge.Model // as it was analysed
	dax      string
}

// analyse refuses a query that could read personal data. Where the check depends
// on relationships that nobody has read yet, they are read at once, under the
// asker's own token.
func (r *Runner) analyse(ctx context.Context, q Request, model *knowledge.Model) (check, error) {
	if q.Principal.Kind == policies.Person && q.Principal.Has(policies.RolePIIReader) {
		return check{}, nil
	}
	rules, err := r.Models.Rules(ctx)
	if err != nil {
		return check{}, fmt.Errorf("reading the rules on personal data: %w", err)
	}
	coverage := pii.Cover(rules, model)
	if !coverage.Any() {
		return check{}, nil // PII-94
	}
	if !coverage.RelationshipsKnown() {
		if q.Principal.Kind != policies.Person {
			return check{}, ErrServiceAccount // there is nobody's token to read them under
		}
		err := r.Relationships.ReadRelationships(ctx, q.Principal.ID, q.Dataset.ID)
		if errors.Is(err, ErrNotConnected) || errors.Is(err, ErrNeedsReconnect) {
			return check{}, err // the query could not run either
		}
		// Where it failed otherwise, the analysis refuses and says why.
		if model, err = r.Models.Model(ctx, q.Dataset.ID); err != nil {
			return check{}, fmt.Errorf("reading the model of a dataset: %w", err)
		}
		coverage = pii.Cover(rules, model)
	}
	if refusal := pii.Check(q.DAX, model, coverage); refusal != nil {
		return check{}, refused(refusal)
	}
	return check{coverage, model, q.DAX}, nil
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
