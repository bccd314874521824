package serviceaccount

import (
	"cmp"
	"context"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// CreateKey makes a key of a service account and shows it, once.
func CreateKey(a Accounts) *operation.Def {
	return operation.Operation[CreateKeyInput, CreateKeyOutput]{
		Name:  "create_service_account_key",
		Title: "Make a key of a service account",
		Doc: "Makes an API key of a service account. This answer alone shows it. A program sends it as a bearer token to " +
			"/api/v1; the MCP server does not take it.",
		Route:    "POST /admin/service-accounts/{account}/keys",
		Command:  "admin service-accounts keys create <account>",
		Surfaces: operation.API,
		Effect:   operation.Adds,
		Ask:      operation.OnAdmin[CreateKeyInput](policies.ManageServiceAccounts),
		Handle: func(ctx context.Context, c *operation.Call, in CreateKeyInput) (CreateKeyOutput, error) {
			account, err := a.Account(ctx, in.Account)
			if err != nil {
				return CreateKeyOutput{}, explain(err)
			}
			days := cmp.Or(in.ExpiresInDays, account.MaxKeyAgeDays)
			if days > account.MaxKeyAgeDays {
				return CreateKeyOutput{}, operation.Invalidf("Ask for no more, or raise max_key_age_days of the account first.",
					"A key of this account works for at most %d days.", account.MaxKeyAgeDays)
			}
			key, made, err := a.CreateKey(ctx, c.Principal, account.ID, in.Name, days)
			if err != nil {
				return CreateKeyOutput{}, explain(err)
			}
			return CreateKeyOutput{
				ID: made.ID, Name: made.Name, Key: key, CreatedAt: made.CreatedAt.UTC(), ExpiresAt: made.ExpiresAt.UTC(),
			}, nil
		},
	}.Def()
}

// CreateKeyInput is the input of [CreateKey].
type CreateKeyInput struct {
	AccountInput
	Name          string `json:"name,omitempty" doc:"What the key is for" maxLength:"100" example:"report server"`
	ExpiresInDays int    `json:"expires_in_days,omitempty" doc:"How many days it works; as many as the account allows where left out" minimum:"1" maximum:"90"`
}

// CreateKeyOutput is the output of [CreateKey].
type CreateKeyOutput struct {
	ID        string    `json:"id" doc:"Id of the key" format:"uuid"`
	Name      string    `json:"name,omitempty" doc:"What the key is for"`
	Key       string    `json:"key" doc:"The key itself: keep it now, it is not shown again"`
	CreatedAt time.Time `json:"created_at" doc:"When it was made"`
	ExpiresAt time.Time `json:"expires_at" doc:"When it stops"`
}
