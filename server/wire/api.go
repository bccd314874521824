// Package wire puts the processes together: one function for each builds all that
// it stands on, top to bottom, and nothing else in the product builds anything.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/clientaddr"
	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/ratelimit"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/knowledge/store"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/authorize"
	"github.com/pbmb/pbmb/oauth/consent"
	"github.com/pbmb/pbmb/oauth/device"
	"github.com/pbmb/pbmb/oauth/document"
	"github.com/pbmb/pbmb/oauth/metadata"
	"github.com/pbmb/pbmb/oauth/passkey"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	"github.com/pbmb/pbmb/oauth/register"
	"github.com/pbmb/pbmb/oauth/session"
	"github.com/pbmb/pbmb/oauth/signin"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/oauth/token"
	"github.com/pbmb/pbmb/policies/cerbos"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/mcpserver"
	"github.com/pbmb/pbmb/server/restapi"
	"github.com/pbmb/pbmb/server/web"
	"github.com/pbmb/pbmb/sync/worker"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/ui"
)

// Version is the program's, as the connector and the API tell it.
const Version = "0.1.0"

// An APIProcess is the api, ready to serve.
type APIProcess struct {
	handler  http.Handler
	routes   []string
	listener net.Listener
	jobs     *worker.Runner
	decider  *cerbos.Decider
	closers  []func()
	log      *slog.Logger
}

// AwaitDecisions returns once Cerbos answers this api.
func (p *APIProcess) AwaitDecisions(ctx context.Context) error { return p.decider.Await(ctx) }

// API builds the api, which will serve on listener. The dev sign-in, where it is
// open, asks known who an email belongs to; it may be nil. The addresses that
// strangers choose are fetched with outside, which only tests fill: its zero
// value is the internet.
func API(ctx context.Context, cfg config.Config, listener net.Listener, known func(email string) (signin.Known, bool), outside fetch.Options, log *slog.Logger) (p *APIProcess, err error) {
	if err := cfg.CheckAPI(); err != nil {
		return nil, err
	}
	if cfg.DatabaseMigrator != "" {
		if err := postgres.Migrate(ctx, cfg.DatabaseMigrator); err != nil {
			return nil, fmt.Errorf("migrating the database: %w", err)
		}
	}
	p = &APIProcess{listener: listener, log: log}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	now := time.Now

	// What everything stands on.
	pool, err := postgres.Open(ctx, cfg.DatabaseAPI, postgres.API)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, pool.Close)
	identity, err := openVault(cfg.APIIdentity, identityFile(cfg, vault.API))
	if err != nil {
		return nil, err
	}
	if err := settleIdentity(ctx, pool, vault.API, identity); err != nil {
		return nil, err
	}
	secrets := secret.New(pool, vault.API, identity)
	decider, err := cerbos.New(cfg.CerbosAddress, cerbos.WithLogger(log))
	if err != nil {
		return nil, err
	}
	p.decider = decider
	p.closers = append(p.closers, func() { _ = decider.Close() }) // the process is ending
	microsoft, err := fetch.NewFixed([]string{cfg.Authority, cfg.GraphURL}, fetch.Options{
		Environment: string(cfg.Environment), Timeout: 2 * time.Minute, MaxBytes: 32 << 20,
	})
	if err != nil {
		return nil, err
	}
	// How long a query may take is a setting; here is only what no value of it passes.
	queries, err := fetch.NewFixed([]string{cfg.APIURL}, fetch.Options{
		Environment: string(cfg.Environment), Timeout: setting.MaxQueryTimeout, MaxBytes: 32 << 20,
	})
	if err != nil {
		return nil, err
	}
	var documents *http.Client // nil where clients have none
	if cfg.ClientDocuments != "off" {
		documents, err = fetch.NewUntrusted(nil, outside) // no origin is trusted, so the environment means nothing
		if err != nil {
			return nil, err
		}
	}
	addresses, err := clientaddr.New(cfg.TrustedProxy, cfg.ClientAddressHeader)
	if err != nil {
		return nil, err
	}
	limits := ratelimit.New(pool, now)
	settings := setting.New(pool, cfg.Settings)

	// Who is calling.
	site, err := protocol.NewSite(cfg.PublicBaseURL)
	if err != nil {
		return nil, err
	}
	people := oauthstore.New(pool, cfg.Settings)
	if err := checkBinding(ctx, people, settings, cfg); err != nil {
		return nil, err
	}
	if !cfg.DevSignIn() {
		if err := signin.CheckDevShut(ctx, people); err != nil {
			return nil, err
		}
	}
	keys, err := provider.LoadKeys(ctx, people, identity, now)
	if err != nil {
		return nil, err
	}
	issuer := provider.New(site, people, document.New(people, limits, documents, now, log), keys, now, log)
	callers := authn.New(site, people, issuer, now)
	signer, err := consent.NewSigner([]byte(cfg.AuthSecret), now)
	if err != nil {
		return nil, err
	}
	devices, err := device.New(device.Config{
		Site: site, Store: people, Sessions: callers, Limits: limits, Address: web.ClientAddress,
		AuthSecret: []byte(cfg.AuthSecret), Now: now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	clients := newMicrosoft(cfg, microsoft, queries, secrets, now)
	passkeys, err := passkey.New(passkey.Config{
		Site: site, Deployment: cfg.Deployment, Store: people, Sessions: callers, DevSignIn: cfg.DevSignIn(),
		Address: func(r *http.Request) string { return web.ClientAddress(r.Context()) }, Now: now, Log: log,
	})
	if err != nil {
		return nil, err
	}
	signingIn := newProviders(cfg, site, people, identity, secrets, microsoft, clients, known, passkeys.Usable(), outside, now, log)
	accounts, connecting := newConnections(pool, settings, identity, clients, callers, site, now, log)
	routes := []protocol.Route{}
	for _, served := range []interface{ Routes() []protocol.Route }{
		metadata.New(site, documents != nil),
		register.New(people, now, log),
		authorize.New(issuer, people, signer, now, log),
		consent.New(issuer, callers, signer, log),
		token.New(issuer),
		devices,
		session.New(people, now, log),
		signingIn.signIn,
		passkeys,
		connecting,
	} {
		routes = append(routes, served.Routes()...)
	}

	// What the product knows, and what callers can do with it.
	book := store.New(pool)
	views := visibility.New(decider, log)
	reader, kept := newModelReader(pool, clients, accounts, log)
	guard := &operation.Guard{
		Decider: decider, Visibility: views, Datasets: book, Limits: limits, Audit: auditor{audit.NewWriter(pool)}, Log: log,
	}
	operations := catalogue.All(catalogue.Stores{
		Me:       myAccount{book, accounts, people, now},
		Search:   book,
		Datasets: book,
		Columns:  book,
		Measures: book,
		Queries: &query.Runner{
			Models: book, Reader: models{reader}, Tokens: tokens{accounts}, PowerBI: powerBI{clients.powerBI}, Log: book,
			Settings: settings, Now: now,
		},
		PII:   book,
		Views: views, Values: settings,
		Audit: book,
		Roles: roles{people, now}, Policies: policyFolder(cfg.PoliciesFolder), Settings: settings, Accounts: serviceAccounts{people, addresses.IsProven()},
		Providers: signingIn,
		Secrets:   secrets, Status: status{pool, secrets, accounts, people, decider, decider, cfg.PoliciesFolder}, Checks: checks{pool},
		Deployment: cfg.Deployment, Version: Version, Now: now,
		Grants: grants{people, now}, Connections: connections{accounts}, Syncs: syncs{pool, decider},
	})

	// The ways in.
	connector, err := mcpserver.New(mcpserver.Config{
		Name: cfg.Deployment, Version: Version, Host: hostOf(cfg.PublicBaseURL), Origin: cfg.PublicBaseURL,
		Operations: operations, Guard: guard, Auth: callers, Seen: web.Seen,
		Guide: func(context.Context) string { return "" }, Log: log,
	})
	if err != nil {
		return nil, err
	}
	rest := restapi.New(restapi.Config{Version: Version, BaseURL: cfg.PublicBaseURL, Operations: operations, Guard: guard})
	edge := web.New(web.Config{
		Site: site, Origin: cfg.PublicBaseURL, HTTPS: isHTTPS(cfg.PublicBaseURL), Shell: ui.FS(), Screens: ui.Paths(), Routes: routes,
		API: rest, MCP: connector, Auth: callers, Limits: limits, Log: log,
		Keys: &authn.APIKeys{
			Callers: people, Limits: limits, Settings: settings, AddressIsProven: addresses.IsProven(),
		},
		Ready: func(ctx context.Context) error {
			if err := pool.Ping(ctx); err != nil {
				return postgres.Translate(err)
			}
			return ready(ctx, decider)
		},
		Address: func(r *http.Request) string {
			a, err := addresses.Address(r)
			if err != nil {
				return "unknown" // one count for all of them
			}
			return a.String()
		},
	})
	p.handler, p.routes = edge, append(edge.Routes(), rest.Routes()...)
	made, err := newAPIChecks(pool, decider, secrets, clients.entra, accounts, now, log)
	if err != nil {
		return nil, err
	}
	p.jobs, err = worker.NewAPI(pool, worker.APIJobs{
		Models: reader, Used: kept, Rekeyer: rekeyer{pool, identity, accounts}, Connections: renewer{accounts, people, now}, Checks: made,
	}, func(ctx context.Context) error { return checkBinding(ctx, people, settings, cfg) }, log)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Routes lists what is served, each as its method, where it has one, and its path.
func (p *APIProcess) Routes() []string { return p.routes }

// Run serves until ctx ends, and then finishes what is in flight.
func (p *APIProcess) Run(ctx context.Context) error {
	defer p.close()
	server := &http.Server{
		Handler: p.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return server.Shutdown(finish)
	})
	group.Go(func() error { return runJobs(ctx, p.jobs) })
	return group.Wait()
}

func (p *APIProcess) close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
	p.closers = nil
}
