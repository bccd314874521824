package sync

import (
	"context"
	"fmt"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Status shows the last syncs. Why one failed is for who may manage settings (EVENT-24).
func Status(s Store) *operation.Def {
	return operation.Operation[StatusInput, StatusOutput]{
		Name:  "get_sync_status",
		Title: "See how the tenant is synced",
		Doc: "Shows the last syncs of the tenant: how far the one is that runs, what each found, why one failed, " +
			"and of how many datasets Power BI gives no schema, by reason.",
		Route:    "GET /admin/sync",
		Command:  "admin sync status",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[StatusInput](policies.ReadSyncEvents),
		Handle: func(ctx context.Context, c *operation.Call, in StatusInput) (StatusOutput, error) {
			runs, err := s.SyncRuns(ctx, in.Runs)
			if err != nil {
				return StatusOutput{}, err
			}
			mayKnow, err := s.MaySeeErrors(ctx, c.Principal)
			if err != nil {
				return StatusOutput{}, err
			}
			holes, err := s.SyncHoles(ctx)
			if err != nil {
				return StatusOutput{}, err
			}
			out := StatusOutput{Now: "No sync has run yet.", Runs: []Run{}, WithoutSchema: []Hole{}}
			for _, h := range holes {
				out.DatasetsWithoutSchema += h.Datasets
			}
			if len(runs) > 0 {
				out.Now = sentence(runs[0])
				out.Next = runs[0].Error
			}
			if !mayKnow {
				out.Next = ""
				for i := range runs {
					runs[i].Error = ""
				}
			}
			out.Runs, out.WithoutSchema = append(out.Runs, runs...), append(out.WithoutSchema, holes...)
			return out, nil
		},
	}.Def()
}

// StatusInput is the input of [Status].
type StatusInput struct {
	Runs int `json:"runs,omitempty" doc:"How many of the last syncs" default:"5" minimum:"1" maximum:"50"`
}

// StatusOutput is how the tenant is synced.
type StatusOutput struct {
	Now                   string `json:"now" doc:"Where the newest sync stands, in a sentence"`
	Next                  string `json:"error,omitempty" doc:"Why it failed and what to do, for who may manage settings"`
	DatasetsWithoutSchema int    `json:"datasets_without_schema" doc:"Datasets whose tables Power BI did not give"`
	WithoutSchema         []Hole `json:"without_schema" doc:"These by reason"`
	Runs                  []Run  `json:"runs" doc:"The last syncs, the newest first"`
}

// sentence says where a run stands.
func sentence(r Run) string {
	part := fmt.Sprintf("%d of %d workspaces are read", r.WorkspacesDone, r.Workspaces)
	if r.Workspaces == 0 {
		part = "it has not listed any workspaces"
	}
	switch r.State {
	case "running":
		text := fmt.Sprintf("A sync runs (%s): %s.", r.Kind, part)
		if !r.WaitingUntil.IsZero() {
			text += fmt.Sprintf(" It waits %s until %s.", r.WaitingFor, r.WaitingUntil.UTC().Format("15:04 UTC"))
		}
		return text
	case "succeeded":
		return fmt.Sprintf("The last sync (%s) succeeded: %s.", r.Kind, part)
	case "interrupted":
		return fmt.Sprintf("The last sync (%s) was broken off: %s. The worker goes on with it once it runs again.", r.Kind, part)
	}
	return fmt.Sprintf("The last sync (%s) failed: %s.", r.Kind, part)
}
