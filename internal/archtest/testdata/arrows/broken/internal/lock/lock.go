package lock

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies" // want "internal/lock imports policies"
)
