package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Update changes what a service account is and may reach.
func Update(a Accounts) *operation.Def {
	return operation.Operation[UpdateInput, Item]{
		Name:  "update_service_account",
		Title: "Change a service account",
		Doc: "Changes what is named and leaves the rest: a list that is given replaces the one before, and an empty one " +
			"empties it. It counts from the account's next request on, for keys that it has too.",
		Route:    "PATCH /admin/service-accounts/{account}",
		Command:  "admin service-accounts update <account>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[UpdateInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, c *operation.Call, in UpdateInput) (Item, error) {
			if err := checkRoles(in.Roles, in.Custom); err != nil {
				return Item{}, err
			}
			sources, err := parseSources(in.SourceCIDRs, a.AddressIsProven())
			if err != nil {
				return Item{}, err
			}
			return answer(a.ChangeAccount(ctx, c.Principal, "update_service_account", in.Account, func(a *Account) error {
				if in.Name != "" {
					a.Name = in.Name
				}
				if in.Roles != nil {
					a.Roles = in.Roles
				}
				if in.WorkspaceIDs != nil {
					a.WorkspaceIDs = folded(in.WorkspaceIDs)
				}
				if in.AppIDs != nil {
					a.AppIDs = folded(in.AppIDs)
				}
				if in.SourceCIDRs != nil {
					a.Sources = sources
				}
				if in.MaxKeyAgeDays != 0 {
					a.MaxKeyAgeDays = in.MaxKeyAgeDays
				}
				return nil
			}))
		},
	}.Def()
}

// UpdateInput is the input of [Update].
type UpdateInput struct {
	AccountInput
	Name          string   `json:"name,omitempty" doc:"Another name" minLength:"1" maxLength:"100" pattern:"\\S"`
	Roles         []string `json:"roles,omitempty" doc:"All its roles from now on" minItems:"1" maxItems:"20" maxLength:"63"`
	Custom        bool     `json:"custom,omitempty" doc:"Roles beside viewer and curator are meant: your own policies have them"`
	WorkspaceIDs  []string `json:"workspace_ids,omitempty" doc:"Ids of all workspaces whose datasets it reaches from now on" maxItems:"500" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
	AppIDs        []string `json:"app_ids,omitempty" doc:"Ids of all apps whose datasets it reaches from now on" maxItems:"500" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
	SourceCIDRs   []string `json:"source_cidrs,omitempty" doc:"All ranges of addresses that it may call from now on; an empty list for anywhere" maxItems:"50" maxLength:"50"`
	MaxKeyAgeDays int      `json:"max_key_age_days,omitempty" doc:"How many days old a key of it may be: older ones stop at once" minimum:"1" maximum:"90"`
}
