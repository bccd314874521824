package connection

import (
	_ "filippo.io/age" // want "internal/vault's alone"
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/age/broken/internal/vault"
)
