package setting

import (
	"time"

	"github.com/pbmb/pbmb/policies"
)

// Values is every setting as it is at one moment. A field of a group is a setting,
// named group.field by the json tags, and its other tags are all that is said of it.
// One that is tagged planned is declared for the code that will heed it; until then
// nobody can change it.
type Values struct {
	Access          Access          `json:"access"`
	PII             PII             `json:"pii"`
	PowerBI         PowerBI         `json:"powerbi"`
	Query           Query           `json:"query"`
	Results         Results         `json:"results"`
	Retention       Retention       `json:"retention"`
	Search          Search          `json:"search"`
	ServiceAccounts ServiceAccounts `json:"service_accounts"`
	Threads         Threads         `json:"threads"`
}

// Access says who gets in and what of the metadata they see.
type Access struct {
	DefaultRole        DefaultRole                 `json:"default_role" default:"viewer" enum:"viewer,curator,none" doc:"The role of the tenant's members whom no shipped role was given otherwise; with none, only people who have an assignment get in."`
	MetadataVisibility policies.MetadataVisibility `json:"metadata_visibility" default:"powerbi" enum:"powerbi,everyone,policy" doc:"Who sees a dataset's metadata: whoever Power BI lets reach it, everyone who is signed in, or only those whom the deployment's own policies name."`
	DAXVisibility      DAXVisibility               `json:"dax_visibility" default:"describe" enum:"describe,write" planned:"true" doc:"Who reads a measure's DAX: whoever may describe its dataset, or only those who may edit it in Power BI and curators."`
}

// A DefaultRole is a value of access.default_role.
type DefaultRole string

// NoDefaultRole is the one that is no role.
const NoDefaultRole DefaultRole = "none"

// A DAXVisibility is a value of access.dax_visibility.
type DAXVisibility string

const (
	DAXToReaders DAXVisibility = "describe"
	DAXToWriters DAXVisibility = "write"
)

// PII is about personal data.
type PII struct {
	ValueMeasures ValueMeasures `json:"value_measures" default:"refuse" enum:"refuse,allow" doc:"Whether a measure that can carry a marked value is refused in queries until somebody has reviewed it."`
}

// A ValueMeasures is a value of pii.value_measures.
type ValueMeasures string

const (
	RefuseValueMeasures ValueMeasures = "refuse"
	AllowValueMeasures  ValueMeasures = "allow"
)

// PowerBI is about the Microsoft tenant.
type PowerBI struct {
	TenantID                        string `json:"tenant_id" format:"uuid" example:"5a3b1c00-7e57-4000-8000-0000000c0de5" doc:"The Microsoft tenant that this deployment works for. A database belongs to one for its whole life."`
	ConnectionRequiresMatchingEmail bool   `json:"connection_requires_matching_email" default:"false" doc:"Whether people may connect only the Power BI account that is known to be their own."`
	ServiceAccountQueries           bool   `json:"service_account_queries" default:"false" doc:"Whether service accounts may run queries, as the app registration's own service principal."`
}

// Query is about running DAX.
type Query struct {
	TimeoutSeconds int `json:"timeout_seconds" default:"120" minimum:"1" maximum:"600" doc:"How long a query may take, in seconds."`
	DailyRowBudget int `json:"daily_row_budget" default:"1000000" minimum:"1" maximum:"1000000000" planned:"true" doc:"How many rows the queries of one principal may return in a day, counted from midnight UTC."`
}

// Timeout is how long a query may take.
func (q Query) Timeout() time.Duration { return time.Duration(q.TimeoutSeconds) * time.Second }

// MaxQueryTimeout is the most that query.timeout_seconds can be.
const MaxQueryTimeout = 600 * time.Second

// Results is about results that are kept.
type Results struct {
	TTLHours int `json:"ttl_hours" default:"24" minimum:"1" maximum:"72" planned:"true" doc:"After how many hours a kept result is gone."`
}

// Retention says how long records are kept. Nothing younger than 30 days is ever deleted.
type Retention struct {
	AuditDays    int `json:"audit_days" default:"400" minimum:"30" maximum:"36500" planned:"true" doc:"For how many days the audit is kept."`
	QueryLogDays int `json:"query_log_days" default:"90" minimum:"30" maximum:"36500" planned:"true" doc:"For how many days the query log is kept."`
	EventDays    int `json:"event_days" default:"90" minimum:"30" maximum:"36500" planned:"true" doc:"For how many days the change feed is kept."`
	SearchDays   int `json:"search_days" default:"30" minimum:"30" maximum:"36500" planned:"true" doc:"For how many days recorded searches are kept."`
}

// Search is about finding things.
type Search struct {
	Provider string `json:"provider" default:"none" enum:"none" planned:"true" doc:"Who turns texts into vectors for the search by meaning; with none, nothing leaves and search ranks by words alone."`
}

// ServiceAccounts is about programs that call with a key.
type ServiceAccounts struct {
	RatePerMinute int `json:"rate_per_minute" default:"60" minimum:"1" maximum:"100000" doc:"How many requests each service account may make in a minute, over all its keys."`
}

// Threads is about questions and answers.
type Threads struct {
	SimilarFrom float64 `json:"similar_from" default:"0.35" minimum:"0" maximum:"1" planned:"true" doc:"How alike an open thread must be for a new question to be shown it first."`
}
