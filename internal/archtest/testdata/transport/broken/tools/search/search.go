// Package search takes a store as it is.
package search

import "github.com/pbmb/pbmb/internal/archtest/testdata/transport/broken/knowledge/store" // want "declares the interface"

var Kept store.Store
