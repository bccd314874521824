// Package search has an operation of the connector, and one of the API that writes.
package search

import (
	"context"

	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/ok/knowledge/store"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/ok/tools/operation"
)

func Search(s *store.Store) operation.Operation {
	return operation.Operation{Surfaces: operation.Connector | operation.API, Handle: func() { s.Search() }}
}

func SetRule(s *store.Store) operation.Operation {
	return operation.Operation{Surfaces: operation.API, Handle: func() { _ = s.SetRule(context.Background()) }}
}
