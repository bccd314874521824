package provider

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Remove takes a provider away.
func Remove(s Store) *operation.Def {
	return operation.Operation[RemoveInput, Item]{
		Name:  "remove_sign_in_provider",
		Title: "Remove a sign-in provider",
		Doc: "Takes a provider away with its client secret. Whoever signed in through it is signed out, and roles by a domain " +
			"or group that it vouched for end at once.",
		Route:    "DELETE /admin/sign-in/providers/{provider}",
		Command:  "admin sign-in remove <provider>",
		Surfaces: operation.API,
		Effect:   operation.Removes,
		Ask:      operation.OnAdmin[RemoveInput](policies.ManageSettings),
		Handle: func(ctx context.Context, c *operation.Call, in RemoveInput) (Item, error) {
			p, err := s.Remove(ctx, c.Principal, in.Provider)
			if errors.Is(err, ErrLastAdmin) {
				return Item{}, lastAdmin()
			}
			if errors.Is(err, knowledge.ErrNotFound) {
				return Item{}, &operation.Error{
					Kind: operation.NotFound, Sentence: "No provider with this id was added here.",
					Next: "The list of providers has their ids; those that the operator configured cannot be removed here.",
				}
			}
			return newItem(p), err
		},
	}.Def()
}

// RemoveInput is the input of [Remove].
type RemoveInput struct {
	Provider string `json:"provider" doc:"Id of the provider" minLength:"1" maxLength:"30"`
}
