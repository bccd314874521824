// Package search has operations of the connector that come to what they must not.
package search

import (
	"context"
	"os/exec"

	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/knowledge/mended"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/knowledge/store"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/knowledge/visibility"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/policies"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/tools/operation"
)

type kept = store.Store

var aliased = (*kept).Aliased // want "Store.Aliased"

type writer interface{ ByInterface() }

var byName = map[string]func(*store.Store){"x": func(s *store.Store) { s.ByMap() }} // want "Store.ByMap"

func Direct(s *store.Store) operation.Operation {
	return operation.Operation{Surfaces: operation.Connector, Handle: func() { s.SetRule() }} // want "Store.SetRule"
}

func Alias(s *store.Store) operation.Operation {
	return operation.Operation{Surfaces: operation.Connector | operation.API, Handle: func() { aliased(s) }}
}

func Interface(w writer) operation.Operation {
	return operation.Operation{Surfaces: operation.Connector, Handle: func() { w.ByInterface() }} // want "Store.ByInterface"
}

func Others(s *store.Store, h policies.Hook, l policies.Later) operation.Operation {
	value := s.ByValue // want "Store.ByValue"
	return operation.Operation{Surfaces: operation.Connector, Handle: func() {
		visibility.View(s)
		h.Run()
		l.Run()
		value()
		byName["x"](s)
		mended.Mend() // want "knowledge/mended, which is not on the list"
		_ = s.ListTables(context.Background())
		_ = exec.Command("x") // want "os/exec"
	}}
}

// Unknown has surfaces that nobody can tell.
func Unknown(surfaces operation.Surface) operation.Operation {
	return operation.Operation{Surfaces: surfaces, Handle: func() { mended.Mend() }}
}
