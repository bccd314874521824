// Package restapi serves.
package restapi

import "github.com/pbmb/pbmb/internal/archtest/testdata/transport/ok/tools/operation"

var Served []operation.Def
