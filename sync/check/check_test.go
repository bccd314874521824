package check_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	kcheck "github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/sync/check"
	"github.com/pbmb/pbmb/sync/entra"
	"github.com/pbmb/pbmb/sync/powerbi"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/sync/scan"
)

// A fixture is the sample tenant over HTTP and the clients of both registrations.
type fixture struct {
	*testing.T
	tenant       *sample.Tenant
	url          string
	app, scanner *entra.Client
	powerBI      *powerbi.Client
}

func newFixture(t *testing.T, appSecret, scannerSecret string) *fixture {
	t.Helper()
	tenant, err := sample.New(sample.Config{NeededOnly: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(tenant.Handler())
	t.Cleanup(srv.Close)
	h, err := fetch.NewFixed([]string{srv.URL}, fetch.Options{Environment: "test"})
	if err != nil {
		t.Fatal(err)
	}
	client := func(id, secret string) *entra.Client {
		return entra.New(srv.URL+sample.LoginPath, sample.TenantID, entra.Registration{ClientID: id, Secret: func(context.Context) (string, error) {
			if secret == "" {
				return "", errors.New("it is not set")
			}
			return secret, nil
		}}, h, time.Now)
	}
	return &fixture{
		T: t, tenant: tenant, url: srv.URL, app: client(sample.AppID, appSecret), scanner: client(sample.ScannerID, scannerSecret),
		powerBI: powerbi.New(srv.URL+sample.PowerBIPath+"/v1.0/myorg", h),
	}
}

// change makes a change of the tenant.
func (f *fixture) change(path, body string) {
	f.Helper()
	resp, err := http.Post(f.url+"/_sample/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		f.Fatalf("%s answered %d", path, resp.StatusCode)
	}
}

// ends compares how a check ends with a code, or with nothing where it passes.
func ends(t *testing.T, name string, ask kcheck.Ask, want kcheck.Code) *kcheck.Error {
	t.Helper()
	err := ask(t.Context())
	e, _ := errors.AsType[*kcheck.Error](err)
	switch {
	case want == "" && err != nil, want != "" && (e == nil || e.Code != want):
		t.Errorf("%s: ends with %v, want %q", name, err, want)
	}
	return e
}

// SYNC-01: a member of the security group without any permission passes, and one
// whose token has a role does not, whatever the role.
func TestTheScannerHasNoPermission(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sample.AppSecret, sample.ScannerSecret)
	ask := check.Scanner(f.scanner, f.powerBI)
	ends(t, "as it should be", ask, "")
	f.change("applications/give", `{"application": "scanner", "permission": "Tenant.Read.All"}`)
	ends(t, "with a permission", ask, kcheck.HasRoles)
	f.change("applications/take", `{"application": "scanner", "permission": "Tenant.Read.All"}`)
	ends(t, "without it again, at once", ask, "")

	ends(t, "another application", check.Scanner(f.app, f.powerBI), kcheck.MayNotScan)
	ends(t, "a wrong secret", check.Scanner(newFixture(t, "", "wrong").scanner, f.powerBI), kcheck.WrongSecret)
	ends(t, "no secret", check.Scanner(newFixture(t, "", "").scanner, f.powerBI), kcheck.NoSecret)
	f.tenant.Break(sample.Fault{Path: sample.PowerBIPath, Status: 429})
	ends(t, "too many requests", ask, kcheck.Throttled)
	f.tenant.Mend()
	f.tenant.Break(sample.Fault{Path: sample.LoginPath, Status: 503})
	ends(t, "Entra has a fault", ask, kcheck.Unreachable)
}

func TestWhatThereIsToSync(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sample.AppSecret, sample.ScannerSecret)
	ask := check.WhatToSync(f.scanner, f.powerBI, scan.Sleep)
	ends(t, "the company", ask, "")
	f.change("scans/fail", `{"count": 1}`)
	ends(t, "a scan that fails", ask, kcheck.Unfinished)
	ends(t, "another application", check.WhatToSync(f.app, f.powerBI, scan.Sleep), kcheck.MayNotScan)
	ends(t, "none", check.WhatToSync(f.scanner, tenantOf{}, scan.Sleep), kcheck.NoWorkspace)
	dataset := powerbi.Dataset{ID: "d"}
	ends(t, "without tables", check.WhatToSync(f.scanner, tenantOf{"w", dataset}, scan.Sleep), kcheck.NoMetadata)
	dataset.Tables = []powerbi.Table{{Name: "T", Measures: []powerbi.Measure{{Name: "M"}}}}
	ends(t, "without expressions", check.WhatToSync(f.scanner, tenantOf{"w", dataset}, scan.Sleep), kcheck.NoExpression)
	dataset.Tables[0].Measures[0].Expression = "1"
	ends(t, "with all", check.WhatToSync(f.scanner, tenantOf{"w", dataset}, scan.Sleep), "")
}

// tenantOf is a tenant with one workspace, or none, whose scan gives one dataset.
// The sample tenant's settings cannot be switched off.
type tenantOf struct {
	id      string
	dataset powerbi.Dataset
}

func (o tenantOf) ModifiedWorkspaces(context.Context, string, time.Time) ([]string, error) {
	if o.id == "" {
		return nil, nil
	}
	return []string{o.id}, nil
}

func (o tenantOf) StartScan(context.Context, string, []string) (powerbi.Scan, error) {
	return powerbi.Scan{ID: "s", Status: "Running"}, nil
}

func (o tenantOf) ScanStatus(context.Context, string, string) (powerbi.Scan, error) {
	return powerbi.Scan{ID: "s", Status: "Succeeded"}, nil
}

func (o tenantOf) ScanResult(_ context.Context, _, _ string, each func(*powerbi.Workspace) error) error {
	return each(&powerbi.Workspace{ID: o.id, Datasets: []powerbi.Dataset{o.dataset}})
}

// consents are the delegated permissions that somebody's connection shows.
type consents struct {
	powerBI, graph []string
	err            error
}

func (c consents) Consented(context.Context) (powerBI, graph []string, err error) {
	return c.powerBI, c.graph, c.err
}

// FETCH-25, FETCH-26 (with permissions as a connection's tokens name them, see
// oauth/connection), FETCH-27.
func TestTheAppRegistrationMayReadAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sample.AppSecret, sample.ScannerSecret)
	exact := consents{powerBI: []string{"Dataset.Read.All"}, graph: []string{"openid", "profile", "email", "offline_access", "User.Read"}}
	with := func(names ...string) consents {
		c := exact
		c.powerBI = append([]string{"Dataset.Read.All"}, names...)
		return c
	}
	for name, c := range map[string]struct {
		consents consents
		want     kcheck.Code
	}{
		"the exact set":                {exact, ""},
		"as Entra lists it":            {consents{powerBI: []string{"Dataset.Read.All"}, graph: []string{"User.Read"}}, ""},
		"one more":                     {with("Report.Read.All"), kcheck.TooMuch},
		"a write":                      {with("Dataset.ReadWrite.All"), kcheck.TooMuch},
		"one more of Graph's":          {consents{powerBI: exact.powerBI, graph: []string{"User.Read", "GroupMember.Read.All"}}, kcheck.TooMuch},
		"the tenant, to read":          {with("Tenant.Read.All", "Report.Read.All"), kcheck.TenantRead},
		"the tenant, to write":         {with("Tenant.ReadWrite.All"), kcheck.TenantWrite},
		"the tenant, both":             {with("Tenant.Read.All", "Tenant.ReadWrite.All"), kcheck.TenantWrite},
		"one less":                     {consents{powerBI: exact.powerBI}, kcheck.TooLittle},
		"nobody has connected":         {consents{err: check.ErrNoOne}, kcheck.NoOne},
		"the connection has a fault":   {consents{err: errors.New("reset")}, kcheck.Unreachable},
		"Entra answers in another way": {consents{err: &entra.Error{Status: 400, Code: "invalid_scope"}}, kcheck.OddAnswer},
	} {
		e := ends(t, name, check.AppRegistration(f.app, c.consents), c.want)
		if c.want == kcheck.TooMuch && e != nil {
			extra := append(append([]string{}, c.consents.powerBI...), c.consents.graph...)
			if len(e.Names) != 1 || !strings.Contains(strings.Join(extra, " "), e.Names[0]) || e.Names[0] == "User.Read" || e.Names[0] == "Dataset.Read.All" {
				t.Errorf("%s: names %q", name, e.Names)
			}
		}
	}
	ask := check.AppRegistration(f.app, exact)
	f.change("applications/give", `{"application": "app", "permission": "Dataset.Read.All"}`)
	ends(t, "with an application permission", ask, kcheck.HasRoles)
	f.change("applications/take", `{"application": "app", "permission": "Dataset.Read.All"}`)
	ends(t, "without it", ask, "")
	ends(t, "a wrong secret", check.AppRegistration(newFixture(t, "wrong", "").app, exact), kcheck.WrongSecret)
}
