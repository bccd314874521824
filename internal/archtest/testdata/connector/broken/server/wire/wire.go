// Package wire puts together; nothing of the connector calls it.
package wire

import (
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/knowledge/store"
	"github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/policies"
)

func Build(s *store.Store) (policies.Hook, policies.Later) {
	return policies.Hook{After: func() { s.ByField() }}, // want "Store.ByField"
		policies.NewLater(func() { s.ByParameter() }) // want "Store.ByParameter"
}
