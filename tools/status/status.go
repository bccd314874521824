// Package status has the operation that says how the deployment stands.
package status

import (
	"context"
	"fmt"
	"time"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
	"github.com/pbmb/pbmb/tools/role"
)

// A Store knows how the deployment stands.
type Store interface {
	// Syncs returns the last full and the last incremental sync; without a state
	// where there was none. What an incremental one reads a full one reads too.
	Syncs(ctx context.Context) (full, incremental *Sync, err error)

	// Secrets returns what there is to see of every secret.
	Secrets(context.Context) ([]secret.Info, error)

	// FailingChecks lists the checks that failed.
	FailingChecks(context.Context) ([]check.ID, error)

	// ConnectionsToRemake counts the people whose Power BI connection Microsoft
	// takes no longer.
	ConnectionsToRemake(context.Context) (int, error)

	// PoliciesPending reports whether the deployment's policy files are newer than
	// the policies that Cerbos decides by. Where nobody can tell they are not.
	PoliciesPending(context.Context) (bool, error)

	// Admins counts the people who are admins by an assignment of their own, and
	// the groups that are.
	Admins(context.Context) (people, groups int, err error)

	// MayManageSettings reports whether a caller passes admin:manage_settings too.
	MayManageSettings(context.Context, *policies.Principal) (bool, error)
}

// A Sync is a run of the scanner.
type Sync struct {
	State     string // running, succeeded or failed
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
	Message   string    // why it failed

	// SucceededAt is as of when the mirror has what such a sync reads: when the last
	// that succeeded began. Zero where none has.
	SucceededAt time.Time
	Every       time.Duration // how often one is due
}

// late reports whether the mirror is older than two turns of the schedule.
func (s *Sync) late(now time.Time) bool {
	return s != nil && (s.SucceededAt.IsZero() || now.Sub(s.SucceededAt) > 2*s.Every)
}

// Operations returns the operation on the status.
func Operations(s Store, deployment, version string, now func() time.Time) []*operation.Def {
	return []*operation.Def{Get(s, deployment, version, now)}
}

// Get says how the deployment stands.
//
// Whoever read_status alone was lent to is told no message, no error, no id and no
// email (AUTHZ-13).
func Get(s Store, deployment, version string, now func() time.Time) *operation.Def {
	return operation.Operation[Input, Output]{
		Name:     "get_status",
		Title:    "See how the deployment stands",
		Doc:      "Says which version runs, when the tenant was last synced, which secrets end soon, and what needs somebody's attention. Whoever may not manage settings is told no messages.",
		Route:    "GET /admin/status",
		Command:  "admin status",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[Input](policies.ReadStatus),
		Handle: func(ctx context.Context, c *operation.Call, _ Input) (Output, error) {
			return get(ctx, s, c.Principal, deployment, version, now())
		},
	}.Def()
}

func get(ctx context.Context, s Store, by *policies.Principal, deployment, version string, now time.Time) (Output, error) {
	full, incremental, err := s.Syncs(ctx)
	if err != nil {
		return Output{}, err
	}
	secrets, err := s.Secrets(ctx)
	if err != nil {
		return Output{}, err
	}
	remake, err := s.ConnectionsToRemake(ctx)
	if err != nil {
		return Output{}, err
	}
	failed, err := s.FailingChecks(ctx)
	if err != nil {
		return Output{}, err
	}
	out := Output{
		FullSync: newSync(full, now), IncrementalSync: newSync(incremental, now), ConnectionsToRemake: remake,
		Secrets: []SecretItem{}, FailingChecks: failing(full, incremental, now),
	}
	for _, i := range secrets {
		if !i.ExpiresAt.IsZero() {
			out.Secrets = append(out.Secrets, SecretItem{string(i.Name), i.ExpiresAt.UTC(), string(secret.ExpiryOf(i.ExpiresAt, now))})
		}
	}
	for _, id := range failed {
		if id != check.SyncAge {
			out.FailingChecks = append(out.FailingChecks, string(id))
		}
	}
	if whole, err := s.MayManageSettings(ctx, by); err != nil || !whole {
		return out, err
	}
	out.Deployment, out.Version = deployment, version
	out.FullSync.Message, out.IncrementalSync.Message = message(full), message(incremental)
	if out.PoliciesPending, err = s.PoliciesPending(ctx); err != nil {
		return Output{}, err
	}
	people, groups, err := s.Admins(ctx)
	if err != nil {
		return Output{}, err
	}
	out.Warnings = append(warnings(full, incremental, secrets, remake, out.PoliciesPending, now), role.LastAdminWarning(people, groups)...)
	return out, nil
}

// Input is the input of [Get].
type Input struct{}

// Output is how a deployment stands.
type Output struct {
	Deployment          string       `json:"deployment,omitempty" doc:"Its name"`
	Version             string       `json:"version,omitempty" doc:"Version of the program"`
	FullSync            SyncItem     `json:"full_sync" doc:"The last sync of everything"`
	IncrementalSync     SyncItem     `json:"incremental_sync" doc:"The last sync of what changed"`
	ConnectionsToRemake int          `json:"connections_to_remake" doc:"People whose Power BI connection has to be made again"`
	PoliciesPending     bool         `json:"policies_pending,omitempty" doc:"Whether policy files are newer than what Cerbos has loaded, so that it has to be restarted"`
	Secrets             []SecretItem `json:"secrets" doc:"The secrets whose end is known"`
	FailingChecks       []string     `json:"failing_checks" doc:"The checks that failed, by name; the list of checks says why"`
	Warnings            []string     `json:"warnings,omitempty" doc:"What needs attention, the worst first"`
}

// A SyncItem is a sync as callers see it.
type SyncItem struct {
	State     string    `json:"state" doc:"none, running, succeeded or failed"`
	StartedAt time.Time `json:"started_at,omitzero" doc:"When it started"`
	EndedAt   time.Time `json:"ended_at,omitzero" doc:"When it ended"`
	AsOf      time.Time `json:"as_of,omitzero" doc:"When the last one that succeeded began: what the book has of the tenant is as of then"`
	Age       string    `json:"age,omitempty" doc:"How long ago that was"`
	Message   string    `json:"message,omitempty" doc:"Why it failed" cut:"text"`
}

func newSync(s *Sync, now time.Time) SyncItem {
	if s == nil {
		return SyncItem{State: "none"}
	}
	item := SyncItem{State: s.State}
	if item.State == "" {
		item.State = "none"
	}
	if !s.StartedAt.IsZero() {
		item.StartedAt = s.StartedAt.UTC()
	}
	if !s.SucceededAt.IsZero() {
		item.AsOf, item.Age = s.SucceededAt.UTC(), age(now.Sub(s.SucceededAt))
	}
	if !s.EndedAt.IsZero() {
		item.EndedAt = s.EndedAt.UTC()
	}
	return item
}

func message(s *Sync) string {
	if s == nil {
		return ""
	}
	return s.Message
}

// age is a time as people say it, in its two largest units.
func age(d time.Duration) string {
	minutes := max(int(d.Minutes()), 0)
	switch {
	case minutes < 60:
		return fmt.Sprintf("%d min", minutes)
	case minutes < 24*60:
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", minutes/(24*60), minutes/60%24)
}

// The checks of this package, by name. They are made as the status is read, in
// place of [check.SyncAge], which is made by the hour.
const (
	checkFull        = "full_sync_age"
	checkIncremental = "incremental_sync_age"
)

// failing names the checks that fail.
func failing(full, incremental *Sync, now time.Time) []string {
	names := []string{}
	if full.late(now) {
		names = append(names, checkFull)
	}
	if incremental.late(now) {
		names = append(names, checkIncremental)
	}
	return names
}

// A SecretItem is a secret whose end is known.
type SecretItem struct {
	Name      string    `json:"name" doc:"Name of the secret"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it ends"`
	Expiry    string    `json:"expiry" doc:"none, warn from 30 days before the end, urgent from 7, or expired"`
}

// lateWarnings say that what the book has of the tenant, access lists above all, is
// old.
func lateWarnings(full, incremental *Sync, now time.Time) (said []string) {
	switch {
	case full == nil || incremental == nil:
	case full.SucceededAt.IsZero() && incremental.SucceededAt.IsZero():
		return []string{"The tenant was never synced: nothing is shown before it is. See pbmb admin sync status."}
	}
	if full.late(now) && !full.SucceededAt.IsZero() {
		said = append(said, fmt.Sprintf("The last full sync that succeeded is %s old: audiences of apps may have changed, and things may be gone. See pbmb admin sync status.", age(now.Sub(full.SucceededAt))))
	}
	if incremental.late(now) && !incremental.SucceededAt.IsZero() {
		said = append(said, fmt.Sprintf("What the book has of the tenant is %s old: people may see what they may see no longer. See pbmb admin sync status.", age(now.Sub(incremental.SucceededAt))))
	}
	return said
}

// warnings are what needs attention, the worst first.
func warnings(full, incremental *Sync, secrets []secret.Info, remake int, pending bool, now time.Time) []string {
	var over, soon, later []string
	for _, i := range secrets {
		if i.Check == secret.Unreadable {
			over = append(over, fmt.Sprintf("The secret %s was sealed for an identity that is gone: set it again.", i.Name))
		}
		date := i.ExpiresAt.UTC().Format(time.DateOnly)
		switch secret.ExpiryOf(i.ExpiresAt, now) {
		case secret.Expired:
			over = append(over, fmt.Sprintf("The secret %s ended on %s: make a new one where it was issued and set it.", i.Name, date))
		case secret.Urgent:
			soon = append(soon, fmt.Sprintf("The secret %s ends on %s, within a week: make a new one where it was issued and set it.", i.Name, date))
		case secret.Warn:
			later = append(later, fmt.Sprintf("The secret %s ends on %s.", i.Name, date))
		}
	}
	if full != nil && full.State == "failed" {
		soon = append(soon, "The last full sync failed: pbmb admin sync status says why.")
	}
	if pending {
		soon = append(soon, "The policies on disk are newer than those that Cerbos decides by: restart Cerbos.")
	}
	if incremental != nil && incremental.State == "failed" {
		later = append(later, "The last incremental sync failed: pbmb admin sync status says why.")
	}
	soon = append(soon, lateWarnings(full, incremental, now)...)
	switch {
	case remake == 1:
		later = append(later, "One person has to make their Power BI connection again.")
	case remake > 1:
		later = append(later, fmt.Sprintf("%d people have to make their Power BI connection again.", remake))
	}
	return append(append(over, soon...), later...)
}
