package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/scan"
	"github.com/pbmb/pbmb/sync/worker"
)

// models records which datasets it was asked to read.
type models chan string

func (m models) ReadAsAnybody(_ context.Context, datasetID string) error {
	m <- datasetID
	return nil
}

// rekeyed records that tokens were resealed.
type rekeyed chan struct{}

func (r rekeyed) RekeyTokens(context.Context) error {
	r <- struct{}{}
	return nil
}

// The worker's start syncs the tenant and cleans up, and the api is asked to read
// what changed.
//
// JOBS-01, JOBS-24, SYNC-03, NET-23
func TestTheFirstSyncAndWhatFollows(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	tenant, err := sample.New(sample.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	h, err := fetch.NewFixed([]string{srv.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	app := entra.New(srv.URL+sample.LoginPath, sample.TenantID, entra.Registration{
		ClientID: sample.ScannerID, Secret: func(context.Context) (string, error) { return sample.ScannerSecret, nil },
	}, h, time.Now)
	began := time.Now().Add(-time.Minute)
	db.Exec("insert into request_rate (rule, subject, window_start, count) values ('r', 'old', now() - interval '25 hours', 1), ('r', 'young', now() - interval '23 hours', 1)")
	w, err := worker.NewWorker(db.Worker(), &scan.Scanner{
		Source: powerbi.New(srv.URL+sample.PowerBIPath+"/v1.0/myorg", h),
		Token:  func(ctx context.Context) (string, error) { return app.AppToken(ctx, powerbi.AppScope) },
		Mirror: mirror.New(db.Worker()), Log: log, Wait: scan.Sleep,
	}, nil, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	run, err := mirror.Await(t.Context(), db.API(), began)
	if err != nil || run.State != mirror.Succeeded || run.Counts.Datasets == 0 {
		t.Fatalf("got %+v, %v", run, err)
	}
	for left, deadline := 2, time.Now().Add(time.Minute); left != 1; { // each look is a connection of its own
		db.QueryRow("select count(*) from request_rate", nil, &left)
		if time.Now().After(deadline) {
			t.Fatalf("%d rate counts are left, want the young one", left)
		}
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	read := models(make(chan string, 100))
	api, err := worker.NewAPI(db.API(), worker.APIJobs{Models: read, Used: relationship.New(db.API()), Rekeyer: rekeyed(make(chan struct{}, 10))}, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var withSchema int
	db.QueryRow("select count(*) from powerbi_dataset where schema_error = ''", nil, &withSchema)
	got := map[string]bool{}
	for range withSchema {
		got[<-read] = true
	}
	if err := api.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got) != withSchema || !got[tenant.DatasetID("Sales")] {
		t.Errorf("read %d of %d models, Sales among them: %v", len(got), withSchema, got[tenant.DatasetID("Sales")])
	}
	if n := tenant.Requests("*executeQueries"); n > 0 {
		t.Errorf("the worker ran %d queries", n)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 250*time.Millisecond, errors.New("patience"))
	defer cancel()
	if _, err := mirror.Await(ctx, db.API(), time.Time{}); err == nil {
		t.Error("no error")
	}
}
