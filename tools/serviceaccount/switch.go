package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Disable stops a service account until it is enabled.
func Disable(a Accounts) *operation.Def {
	return operation.Operation[AccountInput, Item]{
		Name:     "disable_service_account",
		Title:    "Stop a service account",
		Doc:      "Stops every key of a service account with its next request, until the account is enabled again.",
		Route:    "POST /admin/service-accounts/{account}/disable",
		Command:  "admin service-accounts disable <account>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[AccountInput](policies.ManageServiceAccounts),
		Handle:   turn(a, "disable_service_account", true),
	}.Def()
}

// Enable lets a disabled service account in again.
func Enable(a Accounts) *operation.Def {
	return operation.Operation[AccountInput, Item]{
		Name:     "enable_service_account",
		Title:    "Let a service account in again",
		Doc:      "Lets a service account that was disabled in again, with those of its keys that still count.",
		Route:    "POST /admin/service-accounts/{account}/enable",
		Command:  "admin service-accounts enable <account>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[AccountInput](policies.ManageServiceAccounts),
		Handle:   turn(a, "enable_service_account", false),
	}.Def()
}

func turn(a Accounts, action string, disabled bool) func(context.Context, *operation.Call, AccountInput) (Item, error) {
	return func(ctx context.Context, c *operation.Call, in AccountInput) (Item, error) {
		return answer(a.ChangeAccount(ctx, c.Principal, action, in.Account, func(a *Account) error {
			a.Disabled = disabled
			return nil
		}))
	}
}
