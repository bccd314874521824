package serviceaccount

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// ListKeys lists the keys of a service account.
func ListKeys(a Accounts) *operation.Def {
	return operation.Operation[ListKeysInput, operation.Page[KeyItem]]{
		Name:     "list_service_account_keys",
		Title:    "List a service account's keys",
		Doc:      "Lists the keys of a service account, the newest first. The keys themselves are not kept and not shown.",
		Route:    "GET /admin/service-accounts/{account}/keys",
		Command:  "admin service-accounts keys list <account>",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Ask:      operation.OnAdmin[ListKeysInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, _ *operation.Call, in ListKeysInput) (operation.Page[KeyItem], error) {
			var none operation.Page[KeyItem]
			offset, err := in.Offset()
			if err != nil {
				return none, err
			}
			all, err := a.ListKeys(ctx, in.Account)
			if err != nil {
				return none, explain(err)
			}
			var items []KeyItem
			for _, k := range all[min(offset, len(all)):min(offset+in.Limit, len(all))] {
				items = append(items, newKeyItem(k))
			}
			return operation.NewPage(items, offset, len(all), 0), nil
		},
	}.Def()
}

// ListKeysInput is the input of [ListKeys].
type ListKeysInput struct {
	AccountInput
	operation.PageInput
}

// A KeyItem is a key as callers see it.
type KeyItem struct {
	ID        string    `json:"id" doc:"Id of the key" format:"uuid"`
	Name      string    `json:"name,omitempty" doc:"What it is for"`
	State     string    `json:"state" doc:"active, expired or revoked; a disabled account's active keys open nothing"`
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
	CreatedBy string    `json:"created_by" doc:"Who made it"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it stops, or has stopped, at the latest"`
	RevokedAt time.Time `json:"revoked_at,omitzero" doc:"When it was revoked"`
}

func newKeyItem(k Key) KeyItem {
	item := KeyItem{
		ID: k.ID, Name: k.Name, State: "active", CreatedAt: k.CreatedAt.UTC(), CreatedBy: k.CreatedBy,
		ExpiresAt: k.ExpiresAt.UTC(), RevokedAt: k.RevokedAt.UTC(),
	}
	switch {
	case !k.RevokedAt.IsZero():
		item.State = "revoked"
	case !k.Live:
		item.State = "expired"
	}
	return item
}
