package store_test

import (
	"errors"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/store"
)

// Whatever somebody sends for an id, one that is no client's is unknown.
func TestUnknownClients(t *testing.T) {
	s := store.New(postgrestest.New(t).API(), setting.Base{})
	for _, id := range []string{"", "client_X", "a\x00", "a\xff"} {
		if _, err := s.Client(t.Context(), id); !errors.Is(err, postgres.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
