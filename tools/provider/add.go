package provider

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Add adds a provider that was tested.
func Add(s Store) *operation.Def {
	return operation.Operation[AddInput, Item]{
		Name:  "add_sign_in_provider",
		Title: "Add a sign-in provider",
		Doc: "Adds the provider of a test that succeeded, as it was tested, or puts it in the place of the one with the same " +
			"id. People can sign in through it at once.",
		Route:    "POST /admin/sign-in/providers",
		Command:  "admin sign-in add <test>",
		Surfaces: operation.Browser,
		Effect:   operation.Replaces,
		Ask:      operation.OnAdmin[AddInput](policies.ManageSettings),
		Handle: func(ctx context.Context, c *operation.Call, in AddInput) (Item, error) {
			p, err := s.Add(ctx, c.Principal, in.Test)
			if errors.Is(err, ErrLastAdmin) {
				return Item{}, lastAdmin()
			}
			if errors.Is(err, knowledge.ErrNotFound) {
				return Item{}, &operation.Error{
					Kind: operation.Conflict, Sentence: "No test sign-in of yours through this provider has succeeded within the last hour.",
					Next: "Test the provider, sign in through it, and add it then.",
				}
			}
			return newItem(p), err
		},
	}.Def()
}

// AddInput is the input of [Add].
type AddInput struct {
	Test string `json:"test" doc:"Id of the test" format:"uuid" pattern:"^[0-9a-fA-F-]{36}$"`
}
