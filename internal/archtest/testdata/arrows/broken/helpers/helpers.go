package helpers

import (
	_ "github.com/pbmb/pbmb/internal/archtest/testdata/arrows/broken/policies" // want "in none of the project's folders"
)
