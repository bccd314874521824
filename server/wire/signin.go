package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/signin"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/web"
	"github.com/pbmb/pbmb/tools/provider"
)

// providers has the sign-in providers: Microsoft as the environment configures it,
// and those that admins added.
type providers struct {
	cfg     config.Config
	people  *oauthstore.Store
	vault   *vault.Vault
	secrets *secret.Store
	signIn  *signin.Handler
	now     func() time.Time
	log     *slog.Logger
}

func newProviders(cfg config.Config, site protocol.Site, people *oauthstore.Store, identity *vault.Vault, secrets *secret.Store, h *http.Client, clients microsoft, known func(string) (signin.Known, bool), passkeys bool, outside fetch.Options, now func() time.Time, log *slog.Logger) *providers {
	p := &providers{cfg: cfg, people: people, vault: identity, secrets: secrets, now: now, log: log}
	c := signin.Config{
		Site: site, Store: people, Groups: clients.graph, Passkeys: passkeys, Now: now, Log: log,
		Address:   func(r *http.Request) string { return web.ClientAddress(r.Context()) },
		Providers: p.configured,
		Client:    func(to signin.Provider) (*http.Client, error) { return providerClient(cfg, to, h, outside, log) },
		Trials:    &signin.Trials{Vault: identity, GoogleIssuer: cfg.GoogleIssuer, Relaxed: cfg.Environment.Relaxed()},
	}
	if cfg.DevSignIn() {
		c.Dev = &signin.Dev{Known: known}
	}
	p.signIn = signin.New(c)
	return p
}

// providerClient gives the client for a provider's own addresses. Microsoft's the
// operator configured, at private ones too; all others somebody typed, and are
// reached with outside, as [API] says.
func providerClient(cfg config.Config, p signin.Provider, microsoft *http.Client, outside fetch.Options, log *slog.Logger) (*http.Client, error) {
	if p.Kind == signin.Microsoft {
		return microsoft, nil
	}
	if outside.Environment == "" {
		outside.Environment = string(cfg.Environment)
	}
	outside.Failed = func(ctx context.Context, cause error) {
		unexpected.Refused(ctx, log, "a request to a sign-in provider failed", cause, "provider", p.ID)
	}
	return fetch.NewIssuer(p.Addresses(), outside)
}

// microsoft is usable where its registration is known and its secret can be opened.
func (p *providers) microsoft(ctx context.Context) (m signin.Provider, ok bool, err error) {
	m = signin.NewMicrosoft(p.cfg.Authority, p.cfg.TenantID, p.cfg.ClientID, func(ctx context.Context) (string, error) {
		return p.secrets.Open(ctx, secret.AppClient)
	})
	if p.cfg.ClientID == "" {
		return m, false, nil
	}
	_, err = m.Secret(ctx)
	switch {
	case errors.Is(err, secret.ErrNotSet):
		return m, false, nil
	case errors.Is(err, vault.ErrNotReader):
		unexpected.Log(ctx, p.log, "opening the app registration's secret, which has to be set again", err)
		return m, false, nil
	}
	return m, err == nil, err
}

// configured lists the providers that are usable now.
func (p *providers) configured(ctx context.Context) ([]signin.Provider, error) {
	var list []signin.Provider
	m, ok, err := p.microsoft(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		list = append(list, m)
	}
	added, err := p.people.Providers(ctx)
	for _, a := range added {
		list = append(list, signin.Provider{
			ID: a.ID, Kind: signin.Kind(a.Kind), Name: a.Name, Issuer: a.Issuer, ClientID: a.ClientID,
			Secret: func(ctx context.Context) (string, error) { return p.secrets.Open(ctx, secret.OfProvider(a.ID)) },
		})
	}
	return list, err
}

// List is for the operations on providers.
func (p *providers) List(ctx context.Context) ([]provider.Provider, error) {
	var list []provider.Provider
	m, ok, err := p.microsoft(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		list = append(list, provider.Provider{
			ID: m.ID, Kind: string(m.Kind), Name: m.Name, Issuer: m.Issuer, ClientID: m.ClientID, Callback: p.signIn.Site.URL(m.Callback()), Fixed: true,
		})
	}
	added, err := p.people.Providers(ctx)
	for _, a := range added {
		list = append(list, p.describe(a))
	}
	return list, err
}

func (p *providers) describe(a oauthstore.Provider) provider.Provider {
	return provider.Provider{
		ID: a.ID, Kind: a.Kind, Name: a.Name, Issuer: a.Issuer, ClientID: a.ClientID, AddedAt: a.AddedAt, AddedBy: a.AddedBy, TestedAs: a.TestedAs,
		Callback: p.signIn.Site.URL(signin.Provider{Kind: signin.Kind(a.Kind)}.Callback()),
	}
}

// Test starts the test sign-in through a provider that is not added yet.
func (p *providers) Test(ctx context.Context, by *policies.Principal, candidate provider.Provider, secret string) (provider.Trial, error) {
	id, address, err := p.signIn.Try(ctx, by, signin.Provider{
		ID: candidate.ID, Kind: signin.Kind(candidate.Kind), Name: candidate.Name, Issuer: candidate.Issuer, ClientID: candidate.ClientID,
	}, secret)
	if invalid, ok := errors.AsType[*signin.InvalidError](err); ok {
		return provider.Trial{}, &provider.InvalidError{Problem: invalid.Error()}
	}
	if errors.Is(err, signin.ErrUnreachable) {
		return provider.Trial{}, provider.ErrUnreachable
	}
	return provider.Trial{ID: id, Address: address}, err
}

// Add adds the provider of a test that succeeded.
func (p *providers) Add(ctx context.Context, by *policies.Principal, trialID string) (provider.Provider, error) {
	added, err := p.people.AddProvider(ctx, by, trialID, oauthstore.SealedSecrets{Store: p.secrets}, p.vault.Open, p.now())
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		err = knowledge.ErrNotFound
	case errors.Is(err, oauthstore.ErrLastAdmin):
		err = provider.ErrLastAdmin
	}
	return p.describe(added), err
}

// Remove takes a provider away.
func (p *providers) Remove(ctx context.Context, by *policies.Principal, id string) (provider.Provider, error) {
	gone, err := p.people.RemoveProvider(ctx, by, id, oauthstore.SealedSecrets{Store: p.secrets}, p.now())
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		err = knowledge.ErrNotFound
	case errors.Is(err, oauthstore.ErrLastAdmin):
		err = provider.ErrLastAdmin
	}
	return p.describe(gone), err
}
