// Package config reads the environment, once, into one typed [Config], and says
// everything that is wrong with it at once.
package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/signin"
)

// An Environment says how strict the process is.
type Environment string

const (
	Production  Environment = "production"
	Development Environment = "development"
	Test        Environment = "test"
)

// Relaxed reports whether plain http and the dev sign-in may be allowed at all.
func (e Environment) Relaxed() bool { return e == Development || e == Test }

// A Config is what a process is started with. Defaults stand in [Read].
type Config struct {
	Environment Environment // PBMB_ENV

	Listen        string // LISTEN: host and port of the api
	PublicBaseURL string // PUBLIC_BASE_URL: scheme and host that people and clients use
	Deployment    string // DEPLOYMENT_NAME: what clients are told this is
	AuthSecret    string // AUTH_SECRET: keys what goes through the browser and comes back

	DatabaseMigrator string // DATABASE_URL_MIGRATOR: only where the api migrates at its start
	DatabaseAPI      string // DATABASE_URL_API
	DatabaseWorker   string // DATABASE_URL_WORKER

	CerbosAddress  string // CERBOS_ADDRESS: host:port or unix:/path
	PoliciesFolder string // POLICIES_DIR: the deployment's own policies, as Cerbos is given them; only read, for the names of their roles

	IdentityFolder string // IDENTITY_DIR: where the process keeps its age identity
	APIIdentity    string // API_AGE_IDENTITY: instead of the file
	WorkerIdentity string // WORKER_AGE_IDENTITY: instead of the file

	TenantID  string // POWERBI_TENANT_ID
	Authority string // POWERBI_AUTHORITY: Entra's address, without the tenant
	APIURL    string // POWERBI_API_URL
	GraphURL  string // POWERBI_GRAPH_URL

	// The secrets of both registrations are kept in the database (knowledge/secret).
	ClientID        string // POWERBI_CLIENT_ID: the app registration of sign-in and connections
	ScannerClientID string // SCANNER_CLIENT_ID: the scanner's own registration; worker only

	GoogleIssuer string // GOOGLE_ISSUER: who signs Google's ID tokens; another one only on the sample tenant

	AllowDevSignIn bool // ALLOW_DEV_SIGN_IN=1

	ClientDocuments string // CLIENT_METADATA_DOCUMENTS: on, which is the default, or off, which is for deployments without a way to the internet

	TrustedProxy        string // TRUSTED_PROXY: an address or a range
	ClientAddressHeader string // CLIENT_ADDRESS_HEADER: empty or x-real-ip

	// Settings are what the settings hold while nothing is saved for them.
	Settings    setting.Base
	settingsErr error
}

// Read returns the configuration that getenv gives, without having checked it.
func Read(getenv func(string) string) Config {
	or := func(name, otherwise string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return otherwise
	}
	settings, err := setting.FromEnvironment(getenv)
	return Config{
		Settings:            settings,
		settingsErr:         err,
		Environment:         Environment(or("PBMB_ENV", string(Production))),
		Listen:              or("LISTEN", "127.0.0.1:8080"),
		PublicBaseURL:       strings.TrimSuffix(getenv("PUBLIC_BASE_URL"), "/"),
		Deployment:          or("DEPLOYMENT_NAME", "Power BI Metrics Book"),
		AuthSecret:          getenv("AUTH_SECRET"),
		DatabaseMigrator:    getenv("DATABASE_URL_MIGRATOR"),
		DatabaseAPI:         getenv("DATABASE_URL_API"),
		DatabaseWorker:      getenv("DATABASE_URL_WORKER"),
		CerbosAddress:       getenv("CERBOS_ADDRESS"),
		PoliciesFolder:      getenv("POLICIES_DIR"),
		IdentityFolder:      or("IDENTITY_DIR", "/var/lib/pbmb/identity"),
		APIIdentity:         getenv("API_AGE_IDENTITY"),
		WorkerIdentity:      getenv("WORKER_AGE_IDENTITY"),
		TenantID:            getenv("POWERBI_TENANT_ID"),
		Authority:           or("POWERBI_AUTHORITY", "https://login.microsoftonline.com"),
		APIURL:              or("POWERBI_API_URL", "https://api.powerbi.com/v1.0/myorg"),
		GraphURL:            or("POWERBI_GRAPH_URL", "https://graph.microsoft.com/v1.0"),
		ClientID:            getenv("POWERBI_CLIENT_ID"),
		GoogleIssuer:        or("GOOGLE_ISSUER", signin.GoogleIssuer),
		ScannerClientID:     getenv("SCANNER_CLIENT_ID"),
		AllowDevSignIn:      getenv("ALLOW_DEV_SIGN_IN") == "1",
		ClientDocuments:     getenv("CLIENT_METADATA_DOCUMENTS"),
		TrustedProxy:        getenv("TRUSTED_PROXY"),
		ClientAddressHeader: getenv("CLIENT_ADDRESS_HEADER"),
	}
}

// MockAuthority reports whether sign-in goes to the sample tenant (TENANT-17).
func (c Config) MockAuthority() bool { return signin.IsMock(c.Authority) }

// DevSignIn reports whether the dev sign-in is open: both locks, and a mock.
func (c Config) DevSignIn() bool {
	return c.Environment.Relaxed() && c.AllowDevSignIn && c.MockAuthority()
}

// problems collects what is wrong with a configuration.
type problems struct{ found []error }

func (p *problems) add(name, rule, example string) {
	p.found = append(p.found, fmt.Errorf("%s %s, such as %s", name, rule, example))
}

func (p *problems) address(name, value string, relaxed bool) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "https" && !(relaxed && u.Scheme == "http")) {
		rule := "must be an https address"
		if relaxed {
			rule = "must be an http or https address"
		}
		p.add(name, rule, "https://example.com")
	}
}

func (p *problems) database(name, value, role string) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// The value is not repeated: it holds a password.
		p.add(name, "must be a PostgreSQL address for the role "+role, "postgres://"+role+":…@db/pbmb")
	}
}

// CheckAPI returns everything that keeps the api from starting.
func (c Config) CheckAPI() error {
	p := c.common()
	p.address("PUBLIC_BASE_URL", c.PublicBaseURL, c.Environment.Relaxed())
	p.database("DATABASE_URL_API", c.DatabaseAPI, "api_rw")
	if len(c.AuthSecret) < 32 {
		p.add("AUTH_SECRET", "must have at least 32 characters", "the output of openssl rand -base64 32")
	}
	if c.CerbosAddress == "" {
		p.add("CERBOS_ADDRESS", "must name the Cerbos process", "unix:/run/cerbos/cerbos.sock")
	}
	if c.ClientID == "" {
		p.add("POWERBI_CLIENT_ID", "must be the app registration's client id", "00000000-0000-0000-0000-000000000000")
	}
	if c.GoogleIssuer != signin.GoogleIssuer && !(c.Environment.Relaxed() && signin.IsMock(c.GoogleIssuer)) {
		p.add("GOOGLE_ISSUER", "must be Google's own unless the sample tenant plays it", signin.GoogleIssuer)
	}
	if !slices.Contains([]string{"", "on", "off"}, c.ClientDocuments) {
		p.add("CLIENT_METADATA_DOCUMENTS", "must be on or off", "on")
	}
	if c.TrustedProxy != "" {
		prefix, err := netip.ParsePrefix(c.TrustedProxy)
		_, addrErr := netip.ParseAddr(c.TrustedProxy)
		if addrErr != nil && (err != nil || prefix.Bits() == 0) {
			p.add("TRUSTED_PROXY", "must be one address or one range smaller than everything", "10.0.0.5 or 10.0.0.0/24")
		}
	}
	if !slices.Contains([]string{"", "x-real-ip"}, c.ClientAddressHeader) {
		p.add("CLIENT_ADDRESS_HEADER", "must be empty or x-real-ip", "x-real-ip")
	}
	if c.TrustedProxy != "" && c.ClientAddressHeader != "" {
		p.add("TRUSTED_PROXY and CLIENT_ADDRESS_HEADER", "must not both be set", "TRUSTED_PROXY alone")
	}
	return errors.Join(p.found...)
}

// CheckWorker returns everything that keeps the worker from starting.
func (c Config) CheckWorker() error {
	p := c.common()
	p.database("DATABASE_URL_WORKER", c.DatabaseWorker, "worker_rw")
	if c.ScannerClientID == "" {
		p.add("SCANNER_CLIENT_ID", "must be the client id of the scanner's app registration", "00000000-0000-0000-0000-000000000000")
	}
	return errors.Join(p.found...)
}

func (c Config) common() *problems {
	p := &problems{}
	if !slices.Contains([]Environment{Production, Development, Test}, c.Environment) {
		p.add("PBMB_ENV", "must be production, development or test", "production")
	}
	p.address("POWERBI_AUTHORITY", c.Authority, c.Environment.Relaxed())
	p.address("POWERBI_API_URL", c.APIURL, c.Environment.Relaxed())
	p.address("POWERBI_GRAPH_URL", c.GraphURL, c.Environment.Relaxed())
	if c.TenantID == "" {
		p.add("POWERBI_TENANT_ID", "must be the Microsoft tenant's id", "00000000-0000-0000-0000-000000000000")
	}
	if c.settingsErr != nil {
		p.found = append(p.found, c.settingsErr)
	}
	if c.AllowDevSignIn && c.Environment.Relaxed() && !c.MockAuthority() {
		p.add("ALLOW_DEV_SIGN_IN", "must not be set while POWERBI_AUTHORITY is a real one", "POWERBI_AUTHORITY=http://localhost:8090/login")
	}
	return p
}
