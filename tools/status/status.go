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
)

// A Store knows how the deployment stands.
type Store interface {
	// Syncs returns the last full and the last incremental sync; nil where there
	// was none.
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
}

// A Sync is a run of the scanner.
type Sync struct {
	State     string // running, succeeded or failed
	StartedAt time.Time
	EndedAt   time.Time // zero while it runs
}

// Operations returns the operation on the status.
func Operations(s Store, deployment, version string, now func() time.Time) []*operation.Def {
	return []*operation.Def{Get(s, deployment, version, now)}
}

// Get says how the deployment stands.
//
// It tells nobody more than whoever read_status was lent to may know (AUTHZ-13):
// no message, no error, no id and no email.
func Get(s Store, deployment, version string, now func() time.Time) *operation.Def {
	return operation.Operation[Input, Output]{
		Name:     "get_status",
		Title:    "See how the deployment stands",
		Doc:      "Says which version runs, when the tenant was last synced, which secrets end soon, and what needs somebody's attention.",
		Route:    "GET /admin/status",
		Command:  "admin status",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[Input](policies.ReadStatus),
		Handle: func(ctx context.Context, _ *operation.Call, _ Input) (Output, error) {
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
			failing, err := s.FailingChecks(ctx)
			if err != nil {
				return Output{}, err
			}
			pending, err := s.PoliciesPending(ctx)
			if err != nil {
				return Output{}, err
			}
			out := Output{
				Deployment: deployment, Version: version, FullSync: newSync(full), IncrementalSync: newSync(incremental),
				ConnectionsToRemake: remake, PoliciesPending: pending, Secrets: []SecretItem{}, FailingChecks: []string{}, Warnings: []string{},
			}
			for _, i := range secrets {
				if !i.ExpiresAt.IsZero() {
					out.Secrets = append(out.Secrets, SecretItem{string(i.Name), i.ExpiresAt.UTC(), string(secret.ExpiryOf(i.ExpiresAt, now()))})
				}
			}
			for _, id := range failing {
				out.FailingChecks = append(out.FailingChecks, string(id))
			}
			out.Warnings = append(out.Warnings, warnings(full, secrets, remake, pending, now())...)
			return out, nil
		},
	}.Def()
}

// Input is the input of [Get].
type Input struct{}

// Output is how a deployment stands.
type Output struct {
	Deployment          string       `json:"deployment" doc:"Its name"`
	Version             string       `json:"version" doc:"Version of the program"`
	FullSync            SyncItem     `json:"full_sync" doc:"The last sync of everything"`
	IncrementalSync     SyncItem     `json:"incremental_sync" doc:"The last sync of what changed"`
	ConnectionsToRemake int          `json:"connections_to_remake" doc:"People whose Power BI connection has to be made again"`
	PoliciesPending     bool         `json:"policies_pending" doc:"Whether policy files are newer than what Cerbos has loaded, so that it has to be restarted"`
	Secrets             []SecretItem `json:"secrets" doc:"The secrets whose end is known"`
	FailingChecks       []string     `json:"failing_checks" doc:"The checks that failed, by name; the list of checks says why"`
	Warnings            []string     `json:"warnings" doc:"What needs attention, the worst first"`
}

// A SyncItem is a sync as callers see it.
type SyncItem struct {
	State     string    `json:"state" doc:"none, running, succeeded or failed"`
	StartedAt time.Time `json:"started_at,omitzero" doc:"When it started"`
	EndedAt   time.Time `json:"ended_at,omitzero" doc:"When it ended"`
}

func newSync(s *Sync) SyncItem {
	if s == nil {
		return SyncItem{State: "none"}
	}
	item := SyncItem{State: s.State, StartedAt: s.StartedAt.UTC()}
	if !s.EndedAt.IsZero() {
		item.EndedAt = s.EndedAt.UTC()
	}
	return item
}

// A SecretItem is a secret whose end is known.
type SecretItem struct {
	Name      string    `json:"name" doc:"Name of the secret"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it ends"`
	Expiry    string    `json:"expiry" doc:"none, warn from 30 days before the end, urgent from 7, or expired"`
}

// warnings are what needs attention, the worst first.
func warnings(full *Sync, secrets []secret.Info, remake int, pending bool, now time.Time) []string {
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
		soon = append(soon, "The last full sync failed: the worker's log says why.")
	}
	if pending {
		soon = append(soon, "The policies on disk are newer than those that Cerbos decides by: restart Cerbos.")
	}
	switch {
	case remake == 1:
		later = append(later, "One person has to make their Power BI connection again.")
	case remake > 1:
		later = append(later, fmt.Sprintf("%d people have to make their Power BI connection again.", remake))
	}
	return append(append(over, soon...), later...)
}
