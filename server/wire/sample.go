package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/signin"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/tools/provider"
)

// The sample people with a role of their own. Everybody else of the tenant is a
// viewer by default.
var sampleRoles = []struct{ email, role string }{
	{"admin@sample.example", policies.RoleAdmin},
	{"curator@sample.example", policies.RoleCurator},
	{"viewer@sample.example", policies.RoleViewer},
}

// DemoParts are the processes of the demo. The addresses that strangers choose are
// fetched with outside, as [API] says.
func DemoParts(outside fetch.Options, log *slog.Logger) demo.Parts {
	var known func(string) (signin.Known, bool)
	return demo.Parts{
		Setup: func(ctx context.Context, cfg config.Config, tenant *sample.Tenant) error {
			known = KnownInSample(tenant)
			return SetUpSample(ctx, cfg)
		},
		API: func(ctx context.Context, cfg config.Config, l net.Listener) (demo.Service, error) {
			return API(ctx, cfg, l, known, outside, log)
		},
		Worker: func(ctx context.Context, cfg config.Config) (demo.Service, error) {
			return Worker(ctx, cfg, log)
		},
		Fill: FillSample,
	}
}

// KnownInSample tells the dev sign-in who the sample people are, so that it makes
// the same account as a Microsoft sign-in would.
func KnownInSample(tenant *sample.Tenant) func(email string) (signin.Known, bool) {
	return func(email string) (signin.Known, bool) {
		for _, p := range tenant.People() {
			if strings.EqualFold(p.Email, email) && !p.Disabled {
				return signin.Known{ObjectID: p.ObjectID, Name: p.Name}, true
			}
		}
		return signin.Known{}, false
	}
}

// SetUpSample makes a migrated database a deployment of the sample tenant on the
// first start, through the function that a setup's confirm calls, and leaves one
// that is set up alone.
func SetUpSample(ctx context.Context, cfg config.Config) error {
	pool, err := postgres.Open(ctx, cfg.DatabaseAPI, postgres.API)
	if err != nil {
		return err
	}
	defer pool.Close()
	people := oauthstore.New(pool, cfg.Settings)
	now := time.Now()
	if err := sealSampleSecrets(ctx, cfg, pool); err != nil {
		return err
	}
	err = people.BindFirstAdmin(ctx, oauthstore.FirstAdmin{
		Email: sampleRoles[0].email, TenantID: cfg.TenantID, Mock: cfg.MockAuthority(), DevSignIn: cfg.AllowDevSignIn && cfg.Environment.Relaxed(),
	}, now)
	if errors.Is(err, oauthstore.ErrHasAdmin) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range sampleRoles[1:] {
		if _, err := people.AssignRole(ctx, oauthstore.Assignment{Role: r.role, Kind: oauthstore.ToPerson, Subject: r.email, By: "setup"}, now); err != nil {
			return err
		}
	}
	// For whoever comes by another provider: Power BI's tenant is nothing to it.
	_, err = people.AssignRole(ctx, oauthstore.Assignment{Role: policies.RoleViewer, Kind: oauthstore.ToDomain, Subject: sample.Domain, By: "setup"}, now)
	return err
}

// sealSampleSecrets sets the sample tenant's secrets where they are missing, as an
// admin would. Both processes start for the first time here, for their identities.
func sealSampleSecrets(ctx context.Context, cfg config.Config, pool *pgxpool.Pool) error {
	own, err := openVault(cfg.APIIdentity, identityFile(cfg, vault.API))
	if err != nil {
		return err
	}
	if err := settleIdentity(ctx, pool, vault.API, own); err != nil {
		return err
	}
	if err := publishWorker(ctx, cfg); err != nil {
		return err
	}
	secrets := secret.New(pool, vault.API, own)
	setup := &policies.Principal{Kind: policies.System, ID: "setup", Name: "setup", Via: policies.ViaSystem}
	for name, value := range map[secret.Name]string{secret.AppClient: sample.AppSecret, secret.ScannerClient: sample.ScannerSecret} {
		if set, err := secrets.IsSet(ctx, name); err != nil || set {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := secrets.Set(ctx, setup, name, value, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

func publishWorker(ctx context.Context, cfg config.Config) error {
	pool, err := postgres.Open(ctx, cfg.DatabaseWorker, postgres.Worker)
	if err != nil {
		return err
	}
	defer pool.Close()
	identity, err := openVault(cfg.WorkerIdentity, identityFile(cfg, vault.Worker))
	if err != nil {
		return err
	}
	return settleIdentity(ctx, pool, vault.Worker, identity)
}

// FillSample returns when there is something to see: the first sync is done, and
// the sample people's Power BI accounts are connected through the flow that a
// browser would take, and the other sign-in providers are added as an admin adds
// them. It returns the people whom a role reaches.
func FillSample(ctx context.Context, cfg config.Config, tenant *sample.Tenant) ([]demo.Person, error) {
	pool, err := postgres.Open(ctx, cfg.DatabaseAPI, postgres.API)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	h, err := fetch.NewFixed([]string{cfg.PublicBaseURL, cfg.Authority}, fetch.Options{
		Environment: string(cfg.Environment), KeepRedirects: true,
	})
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return waitForSync(ctx, pool) })
	everybody := tenant.People()
	found := make([]*demo.Person, len(everybody))
	group.Go(func() error {
		// One after another: the rate limits count by address, and this is one.
		for i, p := range everybody {
			if p.Disabled || p.Guest {
				continue
			}
			var err error
			if found[i], err = (&visitor{http: h, base: cfg.PublicBaseURL, person: p}).connect(ctx); err != nil {
				return fmt.Errorf("connecting the Power BI account of %s: %w", p.Email, err)
			}
		}
		return addSampleProviders(ctx, h, cfg, everybody)
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var people []demo.Person
	for _, p := range found {
		if p != nil {
			people = append(people, *p)
		}
	}
	return people, nil
}

// addSampleProviders adds Google and the company's own provider as an admin does:
// after a test sign-in. Those that an earlier start added stay, unless the sample
// tenant has moved since.
func addSampleProviders(ctx context.Context, h *http.Client, cfg config.Config, everybody []sample.Person) error {
	i := slices.IndexFunc(everybody, func(p sample.Person) bool { return p.Email == sampleRoles[0].email })
	if i < 0 {
		return errors.New("the sample tenant has no admin")
	}
	v := &visitor{http: h, base: cfg.PublicBaseURL, person: everybody[i]}
	if _, err := v.signIn(ctx); err != nil {
		return err
	}
	var there operation.Page[provider.Item]
	if err := v.call(ctx, http.MethodGet, "/admin/sign-in/providers", nil, &there); err != nil {
		return err
	}
	for _, p := range []provider.TestInput{
		{Kind: "google", Name: "Google", Issuer: cfg.GoogleIssuer, ClientID: sample.GoogleClientID, ClientSecret: sample.GoogleClientSecret},
		{
			Kind: "oidc", ID: "tarnwick", Name: "Tarnwick", Issuer: strings.TrimSuffix(cfg.Authority, sample.LoginPath) + sample.OpenIDPath,
			ClientID: sample.OpenIDClientID, ClientSecret: sample.OpenIDClientSecret,
		},
	} {
		if slices.ContainsFunc(there.Items, func(old provider.Item) bool { return old.Issuer == p.Issuer }) {
			continue
		}
		if err := v.addProvider(ctx, p); err != nil {
			return fmt.Errorf("adding the sign-in provider %s: %w", p.Name, err)
		}
	}
	return nil
}

// addProvider signs in through a provider once and adds it.
func (v *visitor) addProvider(ctx context.Context, p provider.TestInput) error {
	var test provider.TestOutput
	if err := v.call(ctx, http.MethodPost, "/admin/sign-in/tests", p, &test); err != nil {
		return err
	}
	choice := url.Values{"person": {v.person.Email}}.Encode()
	chosen, err := v.send(ctx, http.MethodPost, test.Address, "application/x-www-form-urlencoded", []byte(choice))
	if err != nil {
		return err
	}
	back, err := v.send(ctx, http.MethodGet, chosen.location, "", nil)
	if err != nil {
		return err
	}
	if !strings.Contains(back.location, "trial="+test.Test) {
		return fmt.Errorf("the test sign-in ended at %q with status %d", back.location, back.status)
	}
	return v.call(ctx, http.MethodPost, "/admin/sign-in/providers", provider.AddInput{Test: test.Test}, &provider.Item{})
}

// call calls an operation of the API.
func (v *visitor) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	kind := ""
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
		kind = "application/json"
	}
	answer, err := v.send(ctx, method, v.base+"/api/v1"+path, kind, body)
	if err != nil {
		return err
	}
	if answer.status != http.StatusOK {
		return fmt.Errorf("%s %s answered %d %s", method, path, answer.status, answer.body)
	}
	return json.Unmarshal(answer.body, out)
}

func waitForSync(ctx context.Context, pool *pgxpool.Pool) error {
	for {
		_, done, err := mirror.Last(ctx, pool, []mirror.Kind{mirror.Full, mirror.Incremental}, []mirror.State{mirror.Succeeded})
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A visitor is a sample person's browser.
type visitor struct {
	http   *http.Client
	base   string
	person sample.Person
	cookie string
}

// connect signs in and connects the person's own account. One that an earlier
// start connected is connected anew: the sample tenant is made afresh each time
// and takes none of the tokens that it gave before. It returns nil for somebody
// whom no role reaches.
func (v *visitor) connect(ctx context.Context) (*demo.Person, error) {
	person, err := v.signIn(ctx)
	if err != nil || person == nil {
		return nil, err
	}
	start, err := v.send(ctx, http.MethodGet, v.base+connection.StartPath, "", nil)
	if err != nil {
		return nil, err
	}
	if start.location == "" {
		return nil, fmt.Errorf("starting a connection answered %d", start.status)
	}
	choice := url.Values{"person": {v.person.UPN}}.Encode()
	chosen, err := v.send(ctx, http.MethodPost, start.location, "application/x-www-form-urlencoded", []byte(choice))
	if err != nil {
		return nil, err
	}
	back, err := v.send(ctx, http.MethodGet, chosen.location, "", nil)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(back.location, "power_bi=connected") {
		return nil, fmt.Errorf("the connection ended at %q with status %d", back.location, back.status)
	}
	return person, nil
}

// signIn gives the browser a session. It returns nil for somebody whom no role
// reaches.
func (v *visitor) signIn(ctx context.Context) (*demo.Person, error) {
	body, err := json.Marshal(map[string]string{"email": v.person.Email})
	if err != nil {
		return nil, err
	}
	answer, err := v.send(ctx, http.MethodPost, v.base+"/api/auth/dev-sign-in", "application/json", body)
	if err != nil {
		return nil, err
	}
	if answer.status == http.StatusForbidden {
		return nil, nil
	}
	if answer.status != http.StatusOK || v.cookie == "" {
		return nil, fmt.Errorf("the dev sign-in answered %d", answer.status)
	}
	var who struct {
		Roles []string `json:"roles"`
	}
	answer, err = v.send(ctx, http.MethodGet, v.base+"/api/v1/me", "", nil)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer.body, &who); err != nil || answer.status != http.StatusOK {
		return nil, fmt.Errorf("whoami answered %d", answer.status)
	}
	return &demo.Person{Email: v.person.Email, Roles: who.Roles}, nil
}

// send makes one request of the browser's. Where the deployment has had too many
// of this address, as after a few starts in one minute, it waits as it is told to.
func (v *visitor) send(ctx context.Context, method, address, kind string, body []byte) (*visited, error) {
	for {
		answer, err := v.once(ctx, method, address, kind, body)
		if err != nil || answer.status != http.StatusTooManyRequests {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(answer.retryAfter):
		}
	}
}

type visited struct {
	status     int
	location   string
	body       []byte
	retryAfter time.Duration // of a 429
}

// once makes one request, with the session's cookie where it goes to the deployment.
func (v *visitor) once(ctx context.Context, method, address, kind string, body []byte) (*visited, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(address, v.base+"/") {
		r.Header.Set("Origin", v.base)
		if v.cookie != "" {
			r.Header.Set("Cookie", session.Cookie+"="+v.cookie)
		}
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := v.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	for _, c := range answer.Cookies() {
		if c.Name == session.Cookie {
			v.cookie = c.Value
		}
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		seconds = 1
	}
	return &visited{answer.StatusCode, answer.Header.Get("Location"), read, time.Duration(seconds) * time.Second}, nil
}
