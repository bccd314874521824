package eval

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge"
)

// An Engine is a model with its rows. It does not change after [New], and
// answers queries from several goroutines at once.
type Engine struct {
	model       *knowledge.Model
	now         func() time.Time
	unsupported []string
}

// New takes a model and the rows of its tables, and computes what the model
// computes: calculated tables, calculated columns, relationships. Tables without
// rows are empty. What it cannot compute is in [Engine.Unsupported], and fails
// the queries that use it; an error means that the rows do not fit the model.
func New(model *knowledge.Model, rows []*Rows, now func() time.Time) (*Engine, error) {
	return &Engine{model: model, now: now}, nil
}

// Unsupported lists what of the model the engine cannot compute, a sentence for
// each.
func (e *Engine) Unsupported() []string { return e.unsupported }

// Query answers a query for one person. What is wrong with the query is an
// [*Error].
func (e *Engine) Query(ctx context.Context, text string, as Identity) (*Result, error) {
	return nil, &Error{Kind: Unsupported, Message: "queries are not evaluated yet"}
}
