// Package restapi goes past the operations.
package restapi

import (
	_ "github.com/jackc/pgx/v5" // want "asks a database itself"

	"github.com/pbmb/pbmb/internal/archtest/testdata/transport/broken/knowledge/store" // want "reaches data through operations"
)

var Kept store.Store
