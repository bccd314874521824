// Package policies has the vocabulary of authorization that everybody shares:
// who asks, about what, for which action, and who decides. The decision itself
// is made by Cerbos (package cerbos below this one) from the policies in
// default/ and those of the deployment.
package policies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pbmb/pbmb/internal/revision"
)

// A PrincipalKind says what kind of caller a [Principal] is.
type PrincipalKind string

const (
	Person         PrincipalKind = "person"
	ServiceAccount PrincipalKind = "service_account"
	CSVLink        PrincipalKind = "csv_link"
	Setup          PrincipalKind = "setup"
	System         PrincipalKind = "system" // what a job does on nobody's behalf
)

// Via says through what a call came; it is written into every audit row.
type Via string

const (
	ViaBrowser        Via = "browser"
	ViaCLI            Via = "cli"
	ViaConnector      Via = "connector"
	ViaServiceAccount Via = "service_account"
	ViaImport         Via = "import"
	ViaSystem         Via = "system"
)

// The shipped roles. A deployment's policies may define more.
const (
	RoleViewer    = "viewer"
	RoleCurator   = "curator"
	RoleAdmin     = "admin"
	RolePIIReader = "pii_reader"
)

// A Principal is a caller as of this request. Nothing in it is kept from one
// request to the next.
type Principal struct {
	Kind  PrincipalKind
	ID    string   // uuid of the person or the service account
	Email string   // a person's email; empty for others
	Name  string   // for people to read
	Roles []string // sorted; empty when no role reaches the caller

	// What Power BI's access lists give this caller, as lower-case uuids, sorted.
	WorkspaceIDs []string
	AppIDs       []string
	DatasetIDs   []string // shared directly, not through a workspace or an app

	// MetadataVisibility is the deployment's setting as of this request. It rides
	// on the principal because policies see nothing else that is ours; empty
	// means [VisibleByPowerBI].
	MetadataVisibility MetadataVisibility

	// ObjectIDs are the Entra object ids (the account's and its groups') by
	// which those lists reach the caller, while they count.
	ObjectIDs []string

	Via        Via
	ClientID   string // the OAuth client, where there is one
	Credential string // session, grant or key id: what to end to stop this caller
	Address    string // the client's address, as the edge determined it

	// AsOf is what the database held as the principal was read. Policies see
	// nothing of it.
	AsOf revision.Revisions `json:"-"`
}

// Label is what people know the principal by: the email or, without one, the name.
func (p *Principal) Label() string {
	if p.Email != "" {
		return p.Email
	}
	return p.Name
}

// Has reports whether the principal holds role.
func (p *Principal) Has(role string) bool { return slices.Contains(p.Roles, role) }

// Subject names the principal by kind and id together, the way that a thread's
// author_id, a result's owner_id and a query log entry's principal_id name one: a
// person and a service account with equal ids are two.
func (p *Principal) Subject() string { return string(p.Kind) + ":" + p.ID }

// A MetadataVisibility is a value of the setting access.metadata_visibility.
type MetadataVisibility string

const (
	VisibleByPowerBI  MetadataVisibility = "powerbi"  // whoever Power BI lets at the dataset
	VisibleToEveryone MetadataVisibility = "everyone" // every person who is signed in
	VisibleByPolicy   MetadataVisibility = "policy"   // only by the deployment's own policies
)

// A Kind is a kind of resource that policies know.
type Kind string

const (
	KindDataset  Kind = "dataset"
	KindBook     Kind = "book"
	KindThread   Kind = "thread"
	KindQueryLog Kind = "query_log"
	KindResult   Kind = "result"
	KindAdmin    Kind = "admin"
)

// An Action is something that a policy allows or denies on a [Kind].
type Action string

const (
	Describe Action = "describe" // dataset
	Query    Action = "query"    // dataset
	Read     Action = "read"     // book, query_log, result

	Curate          Action = "curate" // these on book
	Verify          Action = "verify"
	Approve         Action = "approve"
	EditConventions Action = "edit_conventions"

	Create  Action = "create" // these on thread
	Reply   Action = "reply"
	Upvote  Action = "upvote"
	Accept  Action = "accept"
	Archive Action = "archive"

	ManageSettings        Action = "manage_settings" // these on admin
	ManageSecrets         Action = "manage_secrets"
	ManagePeople          Action = "manage_people"
	ManageServiceAccounts Action = "manage_service_accounts"
	ManagePII             Action = "manage_pii"
	ManageDatasets        Action = "manage_datasets"
	ImportBook            Action = "import_book"
	RunSync               Action = "run_sync"
	ReadAudit             Action = "read_audit"
	RevokeConnection      Action = "revoke_connection"
	ReadSyncEvents        Action = "read_sync_events"
	ReadStatus            Action = "read_status"
)

// Kinds are all kinds of resources.
func Kinds() []Kind {
	return []Kind{KindDataset, KindBook, KindThread, KindQueryLog, KindResult, KindAdmin}
}

// Actions are all that is ever asked about a kind.
func (k Kind) Actions() []Action {
	switch k {
	case KindDataset:
		return []Action{Describe, Query}
	case KindBook:
		return []Action{Read, Curate, Verify, Approve, EditConventions}
	case KindThread:
		return []Action{Create, Reply, Upvote, Accept, Archive}
	case KindQueryLog, KindResult:
		return []Action{Read}
	case KindAdmin:
		return []Action{
			ManageSettings, ManageSecrets, ManagePeople, ManageServiceAccounts, ManagePII, ManageDatasets,
			ImportBook, RunSync, ReadAudit, RevokeConnection, ReadSyncEvents, ReadStatus,
		}
	}
	return nil
}

// A Resource is what an action would be done to. Attr holds JSON values: string,
// bool, float64, []string or map[string]any.
type Resource struct {
	Kind Kind
	ID   string
	Attr map[string]any
}

// The resources that have neither an id of their own nor attributes.
var (
	Book  = Resource{Kind: KindBook, ID: "book"}
	Admin = Resource{Kind: KindAdmin, ID: "admin"}
)

// ErrUnavailable is returned, wrapped, when no decision could be had. A caller
// that gets it refuses.
var ErrUnavailable = errors.New("no decision")

// ErrTooLarge is returned, wrapped, for a caller whom Power BI lists at more
// objects than one question can carry. It is an [ErrUnavailable] that waiting
// does not mend.
var ErrTooLarge = fmt.Errorf("%w: the question is too large", ErrUnavailable)

// A Decider answers questions about what a principal may do.
type Decider interface {
	// Allowed decides one action on one resource. An error, always wrapping
	// [ErrUnavailable], means that there is no decision: refuse.
	Allowed(ctx context.Context, p *Principal, a Action, r Resource) (bool, error)

	// Plan answers for which resources of kind the action would be allowed.
	Plan(ctx context.Context, p *Principal, a Action, kind Kind) (Plan, error)
}

// A PlanKind says how far a [Plan] goes. The zero value is Never.
type PlanKind int

const (
	Never PlanKind = iota
	Always
	Conditional
)

// A Plan says for which resources an action is allowed. A decider may hand the
// same plan to several callers, so nobody changes one.
type Plan struct {
	Kind PlanKind
	Cond *Expr // of a Conditional plan
}

// An Expr is a node of a plan's condition: exactly one of an operation
// (Op and Args), a resource variable (Var, such as "request.resource.attr.endorsement"
// or "request.resource.id"), or a constant (Value: string, bool, float64, nil or
// []any of these).
type Expr struct {
	Op    string
	Args  []*Expr
	Var   string
	Value any
}

type principalKey struct{}

// NewContext returns a context that carries the caller.
func NewContext(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the caller that the gate put into ctx.
func FromContext(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok && p != nil
}
