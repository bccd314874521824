// Package check has the operations on the deployment's checks: whether it can do
// what it is for, and what to do where it cannot.
package check

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store knows how checks ended, and has them made.
type Store interface {
	// List returns every check with its last outcome.
	List(context.Context) ([]Standing, error)

	// Start has every check made again, and audits who asked for it.
	Start(ctx context.Context, by *policies.Principal) error
}

// A Standing is a check and how it ended last.
type Standing struct {
	check.Definition
	Outcome check.Outcome // the zero value where it was never made
	Pending bool          // it is being made, or will be
}

// Operations returns every operation on checks.
func Operations(s Store) []*operation.Def { return []*operation.Def{List(s), Run(s)} }

// An Item is a check as callers see it.
type Item struct {
	ID        string    `json:"id" doc:"Its name"`
	About     string    `json:"about" doc:"What it asks"`
	State     string    `json:"state" doc:"passed, failed, unknown where it could not be told, pending while it is being made, or none where it never was"`
	Answer    string    `json:"answer,omitempty" doc:"How it ended last, and what to do"`
	CheckedAt time.Time `json:"checked_at,omitzero" doc:"When it ended last"`
}

// Output is the output of the operations on checks.
type Output struct {
	Checks []Item `json:"checks" doc:"Every check"`
}

func list(ctx context.Context, s Store) (Output, error) {
	all, err := s.List(ctx)
	if err != nil {
		return Output{}, err
	}
	out := Output{Checks: make([]Item, len(all))}
	for i, c := range all {
		item := Item{ID: string(c.ID), About: c.About, State: string(c.Outcome.State), Answer: c.Outcome.Answer}
		switch {
		case c.Pending:
			item.State = "pending"
		case item.State == "":
			item.State = "none"
		}
		if !c.Outcome.CheckedAt.IsZero() {
			item.CheckedAt = c.Outcome.CheckedAt.UTC()
		}
		out.Checks[i] = item
	}
	return out, nil
}
