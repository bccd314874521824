package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Delete ends a service account for good.
func Delete(a Accounts) *operation.Def {
	return operation.Operation[AccountInput, Item]{
		Name:     "delete_service_account",
		Title:    "Delete a service account",
		Doc:      "Deletes a service account and its keys. An account made later under the same name is another one.",
		Route:    "DELETE /admin/service-accounts/{account}",
		Command:  "admin service-accounts delete <account>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[AccountInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, c *operation.Call, in AccountInput) (Item, error) {
			return answer(a.DeleteAccount(ctx, c.Principal, in.Account))
		},
	}.Def()
}
