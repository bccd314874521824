package worker_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/sync/worker"
)

// JOBS-24: the daily job has every dataset read that somebody queried in the last
// month, all parts of it, unless that was tried half a day ago or less.
func TestModelsInUseAreReadDaily(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ids := map[string]string{}
	for i, name := range []string{"queried", "queried long ago", "never queried", "read today", "read yesterday", "partly read", "refused today", "gone"} {
		id := "00000000-0000-4000-8000-00000000000" + string(rune('1'+i))
		ids[id] = name
		if i == 0 {
			db.Exec("insert into powerbi_workspace (id, name, folded) values ($1, 'W', 'w')", id)
		}
		db.Exec("insert into powerbi_dataset (id, workspace_id, name, folded) select $1, id, $2, $2 from powerbi_workspace", id, name)
		if name != "never queried" {
			age := "1 day"
			if name == "queried long ago" {
				age = "31 days"
			}
			db.Exec("insert into query_log (principal_id, via, dataset_id, dax, outcome, milliseconds, at) values ('p', 'browser', $1, 'x', 'done', 1, now() - $2::interval)", id, age)
		}
		read := func(state, age string, parts ...string) {
			db.Exec("insert into model_read (dataset_id, part, state, read_at) select $1, unnest($2::text[]), $3, now() - $4::interval", id, parts, state, age)
		}
		all := []string{"relationships", "calculation_groups", "calculation_items", "functions"}
		switch name {
		case "read today":
			read("read", "1 hour", all...)
		case "read yesterday":
			read("read", "23 hours", all...)
		case "partly read":
			read("read", "1 hour", all[0])
		case "refused today":
			read("refused", "1 hour", all...)
		case "gone":
			db.Exec("update powerbi_dataset set removed_at = now() where id = $1", id)
		}
	}
	read := models(make(chan string, 100))
	api, err := worker.NewAPI(db.API(), worker.APIJobs{Models: read, Used: relationship.New(db.API()), Rekeyer: rekeyed(make(chan struct{}, 10))}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := api.Queue(t.Context(), worker.ReadModelsArgs{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		select {
		case id := <-read:
			got = append(got, ids[id])
		case <-time.After(30 * time.Second):
			t.Fatalf("read only %q", got)
		}
	}
	if err := api.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(read)
	for id := range read {
		got = append(got, ids[id])
	}
	slices.Sort(got)
	if want := []string{"partly read", "queried", "read yesterday"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}
