// Package query has the operations that run DAX.
package query

import (
	"context"

	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Runner runs queries under the asking person's own rights.
type Runner interface {
	Run(context.Context, query.Request) (*query.Result, error)
}

// Operations returns every operation that runs DAX.
func Operations(r Runner) []*operation.Def {
	return []*operation.Def{Execute(r)}
}
