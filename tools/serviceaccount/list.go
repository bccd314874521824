package serviceaccount

import (
	"context"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// List lists the service accounts.
func List(a Accounts) *operation.Def {
	return operation.Operation[ListInput, operation.Page[Item]]{
		Name:     "list_service_accounts",
		Title:    "List service accounts",
		Doc:      "Lists the programs that may call the API by a key of their own, by name, with what each may reach.",
		Route:    "GET /admin/service-accounts",
		Command:  "admin service-accounts list",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, _ *operation.Call, in ListInput) (operation.Page[Item], error) {
			var none operation.Page[Item]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			all, err := a.ListAccounts(ctx)
			if err != nil {
				return none, err
			}
			var items []Item
			for _, a := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newItem(a))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListInput is the input of [List].
type ListInput struct{ operation.PageInput }
