package postgres_test

import (
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
