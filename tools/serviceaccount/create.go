package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Create makes a service account.
func Create(a Accounts) *operation.Def {
	return operation.Operation[CreateInput, Item]{
		Name:  "create_service_account",
		Title: "Make a service account",
		Doc: "Makes an account for a program that calls the API. It reaches the datasets of the workspaces and apps that " +
			"it is given, with the roles that it is given, and has no key yet.",
		Route:    "POST /admin/service-accounts",
		Command:  "admin service-accounts create <name>",
		Surfaces: operation.API,
		Effect:   operation.Adds,
		Ask:      operation.OnAdmin[CreateInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, c *operation.Call, in CreateInput) (Item, error) {
			if err := checkRoles(in.Roles, in.Custom); err != nil {
				return Item{}, err
			}
			sources, err := parseSources(in.SourceCIDRs, a.AddressIsProven())
			if err != nil {
				return Item{}, err
			}
			return answer(a.CreateAccount(ctx, c.Principal, Account{
				Name: in.Name, Roles: in.Roles, WorkspaceIDs: folded(in.WorkspaceIDs), AppIDs: folded(in.AppIDs), Sources: sources,
				MaxKeyAgeDays: in.MaxKeyAgeDays,
			}))
		},
	}.Def()
}

// CreateInput is the input of [Create].
type CreateInput struct {
	Name          string   `json:"name" doc:"Name of the account" minLength:"1" maxLength:"100" pattern:"\\S" example:"nightly report"`
	Roles         []string `json:"roles" doc:"Its roles: viewer, curator, or one of your own policies" minItems:"1" maxItems:"20" maxLength:"63"`
	Custom        bool     `json:"custom,omitempty" doc:"Roles beside viewer and curator are meant: your own policies have them"`
	WorkspaceIDs  []string `json:"workspace_ids,omitempty" doc:"Ids of the workspaces whose datasets it reaches" maxItems:"500" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
	AppIDs        []string `json:"app_ids,omitempty" doc:"Ids of the apps whose datasets it reaches" maxItems:"500" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
	SourceCIDRs   []string `json:"source_cidrs,omitempty" doc:"Ranges of addresses that it may call from; leave out for anywhere" maxItems:"50" maxLength:"50"`
	MaxKeyAgeDays int      `json:"max_key_age_days,omitempty" doc:"How many days old a key of it may be" minimum:"1" maximum:"90" default:"90"`
}
