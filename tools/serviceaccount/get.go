package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Get reads one service account.
func Get(a Accounts) *operation.Def {
	return operation.Operation[AccountInput, Item]{
		Name:     "get_service_account",
		Title:    "Read a service account",
		Doc:      "Says what one service account may reach, with which roles and from where.",
		Route:    "GET /admin/service-accounts/{account}",
		Command:  "admin service-accounts get <account>",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[AccountInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, _ *operation.Call, in AccountInput) (Item, error) {
			return answer(a.Account(ctx, in.Account))
		},
	}.Def()
}
