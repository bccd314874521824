package sample

import (
	"log/slog"
	"time"
)

// The tenant's ids and credentials. They open nothing but the sample tenant.
const (
	Domain   = "sample.example" // of everybody who works there
	TenantID = "5a3b1c00-7e57-4000-8000-0000000c0de5"

	// The app registration through which people sign in and connect Power BI.
	AppID     = "5a3b1c00-7e57-4000-8000-000000000a99"
	AppSecret = "sample-app-credential"

	// The scanner's registration: no API permission, member of the group that
	// the tenant's settings allow on the read-only admin API.
	ScannerID     = "5a3b1c00-7e57-4000-8000-00000005ca22"
	ScannerSecret = "sample-scanner-credential"
)

// The clients of the sign-in providers that are not Microsoft's.
const (
	GoogleClientID     = "5a3b1c00.apps.sample.example"
	GoogleClientSecret = "sample-google-credential"

	OpenIDClientID     = "pbmb"
	OpenIDClientSecret = "sample-openid-credential"
)

// EmbeddingsKey is the API key of the embeddings endpoint, and of nothing else.
const EmbeddingsKey = "sample-embeddings-key"

// The paths that take the place of login.microsoftonline.com,
// graph.microsoft.com and api.powerbi.com; of accounts.google.com and the
// company's own OpenID Connect provider, where they are the issuers as well; and
// of api.openai.com.
const (
	LoginPath   = "/login"
	GraphPath   = "/graph"
	PowerBIPath = "/powerbi"
	GooglePath  = "/google"
	OpenIDPath  = "/openid"
	OpenAIPath  = "/openai"
)

// The audiences of access tokens.
const (
	GraphAudience   = "https://graph.microsoft.com"
	PowerBIAudience = "https://analysis.windows.net/powerbi/api"
)

// A Config says how the tenant behaves. The zero value is the tenant as the demo
// shows it.
type Config struct {
	// URL is how clients reach the tenant, such as http://127.0.0.1:8090. Empty
	// means whatever host a request names.
	URL string

	// RedirectURIs are the reply addresses of the app registration, compared
	// exactly. None means any http address on the loopback interface.
	RedirectURIs []string

	// EmbeddedBy are the origins whose pages may embed reports, written as for the
	// directive frame-ancestors. None means any on the loopback interface.
	EmbeddedBy []string

	// Models are paths of TMDL folders and .bim files that become datasets of the
	// workspace "Added models".
	Models []string

	// Workspaces is by how many workspaces the tenant grows beside the company, with
	// the datasets and people that come with them; they are made up from Seed when
	// they are asked for. Twelve workspaces have 25 datasets, 500 measures and 2,000
	// columns.
	Workspaces int
	Seed       uint64

	// ScanTime is how long a scan of the admin API runs.
	ScanTime time.Duration

	// PermissionDelay is how long a change of who may do what takes to count. Lists
	// and scans tell it at once.
	PermissionDelay time.Duration

	// NeededOnly gives the app registration the delegated permissions that the
	// product needs, and not the many that other programs may want to try.
	NeededOnly bool

	// Unlimited turns off Power BI's limits on calls.
	Unlimited bool

	Now func() time.Time // time.Now where nil
	Log *slog.Logger     // slog.Default() where nil
}
