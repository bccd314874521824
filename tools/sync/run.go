package sync

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Start has a sync run.
func Start(s Store) *operation.Def {
	return operation.Operation[RunInput, RunOutput]{
		Name:  "run_sync",
		Title: "Sync the tenant now",
		Doc: "Has the worker read what changed in the tenant, or with full everything, as soon as it is free. " +
			"It goes on with a sync that was left unfinished.",
		Route:    "POST /admin/sync",
		Command:  "admin sync run",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Rate:     operation.Rate{PerMinute: 10},
		Ask:      operation.OnAdmin[RunInput](policies.RunSync),
		Handle: func(ctx context.Context, c *operation.Call, in RunInput) (RunOutput, error) {
			queued, err := s.QueueSync(ctx, c.Principal, in.Full)
			if err != nil {
				return RunOutput{}, err
			}
			kind := "incremental"
			if in.Full {
				kind = "full"
			}
			return RunOutput{Kind: kind, State: string(queued), Notice: notices[queued]}, nil
		},
	}.Def()
}

var notices = map[Queued]string{
	New:     "It runs as soon as the worker is free: get_sync_status, or pbmb admin sync status, shows how far it is.",
	Waiting: "One like it waits already. Where it does not begin, see that the worker runs.",
	Going:   "One like it runs already: get_sync_status, or pbmb admin sync status, shows how far it is.",
}

// RunInput is the input of [Start].
type RunInput struct {
	Full bool `json:"full,omitempty" doc:"Read everything, not only what changed: finds what is gone, and audiences of apps"`
}

// RunOutput says what became of the sync.
type RunOutput struct {
	Kind   string `json:"kind" doc:"full or incremental"`
	State  string `json:"state" doc:"queued, or waiting or running where one like it was there already"`
	Notice string `json:"notice" doc:"What that means"`
}
