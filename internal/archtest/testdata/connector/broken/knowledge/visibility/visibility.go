// Package visibility is on the list, and calls what is not.
package visibility

import "github.com/pbmb/pbmb/internal/archtest/testdata/connector/broken/knowledge/store"

func View(s *store.Store) { s.ByAnother() } // want "Store.ByAnother"
