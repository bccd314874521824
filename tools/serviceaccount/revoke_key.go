package serviceaccount

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// RevokeKey ends a key of a service account.
func RevokeKey(a Accounts) *operation.Def {
	return operation.Operation[RevokeKeyInput, RevokeKeyOutput]{
		Name:     "revoke_service_account_key",
		Title:    "Revoke a key",
		Doc:      "Ends one key of a service account for good, with the next request that brings it.",
		Route:    "DELETE /admin/service-accounts/{account}/keys/{key}",
		Command:  "admin service-accounts keys revoke <account> <key>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RevokeKeyInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, c *operation.Call, in RevokeKeyInput) (RevokeKeyOutput, error) {
			err := a.RevokeKey(ctx, c.Principal, in.Account, in.Key)
			if errors.Is(err, knowledge.ErrNotFound) {
				return RevokeKeyOutput{}, &operation.Error{
					Kind: operation.NotFound, Sentence: "There is no such key of this service account.", Next: "The list of its keys has their ids.",
				}
			}
			return RevokeKeyOutput{Revoked: in.Key}, err
		},
	}.Def()
}

// RevokeKeyInput is the input of [RevokeKey].
type RevokeKeyInput struct {
	AccountInput
	Key string `json:"key" doc:"Id of the key, from the list of the account's keys" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
}

// RevokeKeyOutput is the output of [RevokeKey].
type RevokeKeyOutput struct {
	Revoked string `json:"revoked" doc:"Id of the key that has ended"`
}
