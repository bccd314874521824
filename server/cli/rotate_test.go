package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/server/cli"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// SECRET-21: the command, in either container.
func TestRotateIdentity(t *testing.T) {
	db := postgrestest.New(t)
	folder := t.TempDir()
	t.Setenv("IDENTITY_DIR", folder)
	for name, tt := range map[string]struct {
		api, worker bool
		args        []string
		code        int
		says        string
		rotated     string
	}{
		"in the api's container":      {api: true, says: "The api has the new identity age1", rotated: "api"},
		"in the worker's":             {worker: true, says: "The worker has the new identity age1", rotated: "worker"},
		"where both are":              {api: true, worker: true, code: 2, says: "say which"},
		"where both are, of one":      {api: true, worker: true, args: []string{"worker"}, says: "The worker has", rotated: "worker"},
		"where neither is":            {code: 1, says: "DATABASE_URL_API or DATABASE_URL_WORKER"},
		"of a container there is not": {api: true, args: []string{"both"}, code: 2, says: "api and worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DATABASE_URL_API", "")
			t.Setenv("DATABASE_URL_WORKER", "")
			if tt.api {
				t.Setenv("DATABASE_URL_API", db.URL(postgres.API))
			}
			if tt.worker {
				t.Setenv("DATABASE_URL_WORKER", db.URL(postgres.Worker))
			}
			before, _ := os.ReadFile(filepath.Join(folder, tt.rotated)) // there may be none yet
			var out bytes.Buffer
			code := cli.Main(t.Context(), append([]string{"server", "rotate-identity"}, tt.args...), strings.NewReader(""), &out, &out)
			if code != tt.code || !strings.Contains(out.String(), tt.says) || strings.Contains(out.String(), "AGE-SECRET-KEY") {
				t.Errorf("exit %d, %q, want %d and %q", code, out.String(), tt.code, tt.says)
			}
			if tt.rotated == "" {
				return
			}
			after, err := vault.FromFile(filepath.Join(folder, tt.rotated))
			if err != nil || bytes.Contains(before, []byte(after.Recipient())) {
				t.Errorf("%v; the identity is the old one", err)
			}
			var published vault.Recipient
			db.QueryRow("select recipient from container_identity where container = $1", []any{tt.rotated}, &published)
			if published != after.Recipient() {
				t.Errorf("published is %s, want %s", published, after.Recipient())
			}
		})
	}
}
