// Package check says whether a deployment can do what it is for: each check asks
// one thing, of the database, of Cerbos or of Microsoft, and ends with a fixed
// sentence. The list is here, with every failure that is known; how a thing is
// asked is the business of whoever builds a process (server/wire, sync/check), and
// when, of the job queue (sync/worker). The setup shows the same checks.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/vault"
)

// An ID names a check.
type ID string

const (
	Database        ID = "database"
	Policies        ID = "policies"
	Secrets         ID = "secrets"
	AppRegistration ID = "app_registration"
	SyncAge         ID = "sync_age"
	Scanner         ID = "scanner"
	WhatToSync      ID = "what_to_sync"
)

// A Definition is what is known of a check before it runs.
type Definition struct {
	ID     ID
	About  string          // what it asks, a question
	Runs   vault.Container // who runs it: the worker what takes the scanner's secret, the api all else
	Passed string          // the answer where all is well
	Known  []Failure
}

// A Failure is a way in which a check is known to end other than well.
type Failure struct {
	Code Code

	// Sentence is the answer: what is wrong and what to do. It may have one %s, for
	// names. With them it has [MaxAnswer] characters at most.
	Sentence string

	// Undecided is set where this does not say that anything is wrong.
	Undecided bool
}

// A Code tells the failures of a check apart.
type Code string

// MaxAnswer is how many characters an answer has at most. The table holds it too.
const MaxAnswer = 300

// A State is how a check ended.
type State string

const (
	Passed  State = "passed"
	Failed  State = "failed"
	Unknown State = "unknown" // it could not be told
)

// An Outcome is how a check ended last.
type Outcome struct {
	ID        ID
	State     State
	Answer    string
	CheckedAt time.Time
}

// An Error ends a check with one of its known failures.
type Error struct {
	Code  Code
	Names []string // for the sentence's %s
	Cause error    // for the log; may be nil
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Code, e.Cause)
	}
	return string(e.Code)
}

func (e *Error) Unwrap() error { return e.Cause }

// The failures of whatever asks Microsoft.
const (
	NoSecret     Code = "no_secret"
	WrongSecret  Code = "wrong_secret"
	EndedSecret  Code = "ended_secret"
	UnknownApp   Code = "unknown_app"
	NoTenant     Code = "no_tenant"
	Unreachable  Code = "unreachable"
	Throttled    Code = "throttled"
	OddAnswer    Code = "odd_answer"
	HasRoles     Code = "has_roles"
	MayNotScan   Code = "may_not_scan"
	NoWorkspace  Code = "no_workspace"
	NoMetadata   Code = "no_metadata"
	NoExpression Code = "no_expression"
	Unfinished   Code = "unfinished"
)

// And those of the others.
const (
	NotMigrated  Code = "not_migrated"
	NotAnswering Code = "not_answering"
	Unreadable   Code = "unreadable"
	NotSet       Code = "not_set"
	Ended        Code = "ended"
	NoOne        Code = "no_one"
	TenantRead   Code = "tenant_read"
	TenantWrite  Code = "tenant_write"
	TooMuch      Code = "too_much"
	TooLittle    Code = "too_little"
	NoFull       Code = "no_full"
	OldFull      Code = "old_full"
	OldChanges   Code = "old_changes"
)

// microsoft has the failures of every check that takes a token of an application.
func microsoft(app, secret string) []Failure {
	return []Failure{
		{Code: NoSecret, Sentence: "The client secret of the " + app + " is not set or does not open: set it with pbmb admin secrets set " + secret + "."},
		{Code: WrongSecret, Sentence: "Microsoft refuses the client secret of the " + app + ": set the secret's value, not its id, with pbmb admin secrets set " + secret + "."},
		{Code: EndedSecret, Sentence: "The client secret of the " + app + " has ended: make a new one in the Entra admin center and set it with pbmb admin secrets set " + secret + "."},
		{Code: UnknownApp, Sentence: "Microsoft knows no application with the client id of the " + app + " in this tenant: compare it with the Entra admin center."},
		{Code: NoTenant, Sentence: "Microsoft knows no tenant with the configured id: compare POWERBI_TENANT_ID with the Entra admin center."},
		{Code: Unreachable, Sentence: "Microsoft cannot be reached or has a fault at the moment: look at the network's way out, and check again.", Undecided: true},
		{Code: Throttled, Sentence: "Microsoft takes no more requests at the moment: check again in an hour.", Undecided: true},
		{Code: OddAnswer, Sentence: "Microsoft's answer is not one that is known: the log says more.", Undecided: true},
	}
}

// definitions are all checks, in the order in which they are shown.
var definitions = []Definition{
	{
		ID: Database, Runs: vault.API, About: "Does the database answer, and is it of this version?",
		Passed: "The database answers and is of this version.",
		Known: []Failure{
			{Code: NotAnswering, Sentence: "The database does not answer: look at its process and at DATABASE_URL_API."},
			{Code: NotMigrated, Sentence: "The database is not of this version: run pbmb server migrate."},
		},
	},
	{
		ID: Policies, Runs: vault.API, About: "Does Cerbos answer, and does it have the policies?",
		Passed: "Cerbos answers and has the policies.",
		Known: []Failure{
			{Code: NotAnswering, Sentence: "Cerbos does not answer, or without the policies: look at its process and its log, and at CERBOS_ADDRESS."},
		},
	},
	{
		ID: Secrets, Runs: vault.API, About: "Is every secret there that is needed, and does each open?",
		Passed: "Every secret that is needed is there, and each opens.",
		Known: []Failure{
			{Code: Unreadable, Sentence: "These secrets were sealed for an identity that is gone; set them again: %s."},
			{Code: NotSet, Sentence: "These secrets are not set; set them with pbmb admin secrets set: %s."},
			{Code: Ended, Sentence: "These secrets have ended; make new ones where they were issued and set them: %s."},
		},
	},
	{
		ID: AppRegistration, Runs: vault.API, About: "May the app registration read what people can read, and nothing else?",
		Passed: "The app registration has the delegated permissions that it needs and no others.",
		Known: append(microsoft("app registration", "powerbi.client_secret"),
			Failure{Code: HasRoles, Sentence: "The app registration has application permissions: remove them in the Entra admin center under API permissions, where it needs delegated ones alone."},
			Failure{Code: TenantRead, Sentence: "The app registration has Tenant.Read.All, by which every administrator's connection reads the whole tenant: remove it in the Entra admin center."},
			Failure{Code: TenantWrite, Sentence: "The app registration has Tenant.ReadWrite.All, by which every administrator's connection could change the whole tenant: remove it in the Entra admin center."},
			Failure{Code: TooMuch, Sentence: "The app registration has permissions that it must not have; remove them in the Entra admin center: %s."},
			Failure{Code: TooLittle, Sentence: "The app registration lacks permissions; add them in the Entra admin center as delegated ones: %s."},
			Failure{Code: NoOne, Sentence: "The permissions show once somebody has connected a Power BI account: connect yours, and check again.", Undecided: true},
		),
	},
	{
		ID: SyncAge, Runs: vault.API, About: "Was the tenant synced lately?",
		Passed: "The last syncs are as recent as they should be.",
		Known: []Failure{
			{Code: NoFull, Sentence: "The tenant was never synced in full: look at the check of the scanner and at the worker's log.", Undecided: true},
			{Code: OldFull, Sentence: "The last full sync that succeeded is over two days old, so the audiences of apps may be stale: look at the worker's log."},
			{Code: OldChanges, Sentence: "The last sync that succeeded is over two hours old, so access lists may be stale: look at the worker's log."},
		},
	},
	{
		ID: Scanner, Runs: vault.Worker, About: "May the scanner read the tenant's metadata, and nothing else?",
		Passed: "The scanner may call the read-only admin API, and has no API permission.",
		Known: append(microsoft("scanner", "scanner.client_secret"),
			Failure{Code: HasRoles, Sentence: "The scanner's app registration has application permissions: remove them in the Entra admin center. It reaches the admin API through the tenant setting for its security group."},
			Failure{Code: MayNotScan, Sentence: "Power BI does not let the scanner call the read-only admin API: put it into the security group that the tenant setting names, and wait up to 15 minutes."},
		),
	},
	{
		ID: WhatToSync, Runs: vault.Worker, About: "Is there something to sync, with its tables and expressions?",
		Passed: "The scanner sees workspaces, and their datasets with tables and expressions.",
		Known: append(microsoft("scanner", "scanner.client_secret"),
			Failure{Code: MayNotScan, Sentence: "Power BI does not let the scanner call the read-only admin API: see the check of the scanner."},
			Failure{Code: NoWorkspace, Sentence: "The scanner sees no workspace: the tenant has none, or none in use."},
			Failure{Code: NoMetadata, Sentence: "The scanner sees datasets without tables: allow detailed metadata in the tenant settings of Power BI for admin APIs."},
			Failure{Code: NoExpression, Sentence: "The scanner sees measures without expressions: allow DAX and mashup expressions in the tenant settings of Power BI for admin APIs."},
			Failure{Code: Unfinished, Sentence: "The scan of a few workspaces did not end in time: check again.", Undecided: true},
		),
	},
}

// unforeseen is the answer where a check broke in a way that nobody knows.
const unforeseen = "The check broke off in a way that is not known: the log says more."

// concealed is the answer where the real one would have repeated a secret.
const concealed = "The answer repeats a secret that was used for the check, so it is not shown."

// Definitions returns all checks in the order in which they are shown.
func Definitions() []Definition { return slices.Clone(definitions) }

// Of lists the checks that a container runs.
func Of(c vault.Container) (ids []ID) {
	for _, d := range definitions {
		if d.Runs == c {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func define(id ID) (Definition, bool) {
	i := slices.IndexFunc(definitions, func(d Definition) bool { return d.ID == id })
	if i < 0 {
		return Definition{}, false
	}
	return definitions[i], true
}

// answer is what a failure says with names, which may be anybody's: they are kept
// to characters that names have, and to the room that there is.
func (f Failure) answer(names []string) string {
	frame, tail, named := strings.Cut(f.Sentence, "%s")
	if !named {
		return f.Sentence
	}
	room := MaxAnswer - len([]rune(frame+tail))
	list := ""
	for i, name := range names {
		name = strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, name)
		if i > 0 {
			name = ", " + name
		}
		if len(list)+len(name) > room {
			if cut := " and more"; len(list) > 0 && len(list)+len(cut) <= room {
				list += cut
			} else if list == "" {
				list = name[:room]
			}
			break
		}
		list += name
	}
	return frame + list + tail
}
