package provider

import (
	"context"
	"errors"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Test starts the test sign-in without which no provider is added.
func Test(s Store) *operation.Def {
	return operation.Operation[TestInput, TestOutput]{
		Name:  "test_sign_in_provider",
		Title: "Test a sign-in provider",
		Doc: "Starts a sign-in through a provider that is not added yet. Follow the address in the same browser: it comes " +
			"back to this deployment, and once the sign-in has succeeded the provider can be added within the hour.",
		Route:    "POST /admin/sign-in/tests",
		Command:  "admin sign-in test <kind>",
		Surfaces: operation.Browser,
		Effect:   operation.Adds,
		Ask:      operation.OnAdmin[TestInput](policies.ManageSettings),
		Rate:     operation.Rate{PerMinute: 10},
		Handle: func(ctx context.Context, c *operation.Call, in TestInput) (TestOutput, error) {
			t, err := s.Test(ctx, c.Principal, Provider{
				ID: in.ID, Kind: in.Kind, Name: in.Name, Issuer: in.Issuer, ClientID: in.ClientID,
			}, in.ClientSecret)
			if invalid, ok := errors.AsType[*InvalidError](err); ok {
				return TestOutput{}, operation.Invalidf("Correct it and test again.", "This provider cannot be added: %s.", invalid.Problem)
			}
			if errors.Is(err, ErrUnreachable) {
				return TestOutput{}, operation.Invalidf(
					"Look at the issuer's address; its discovery document must name it and have all endpoints at the same origin.",
					"The provider could not be reached, or its discovery document does not fit.")
			}
			return TestOutput{Test: t.ID, Address: t.Address}, err
		},
	}.Def()
}

// TestInput is the input of [Test].
type TestInput struct {
	Kind         string `json:"kind" doc:"What kind of provider it is" enum:"google,oidc"`
	ID           string `json:"id,omitempty" doc:"Word for an oidc provider, for good: its people are known by it" maxLength:"30" example:"acme"`
	Name         string `json:"name" doc:"Name on the sign-in page" minLength:"1" maxLength:"60" example:"Acme"`
	Issuer       string `json:"issuer,omitempty" doc:"Issuer of an oidc provider, exactly as its ID tokens name it" maxLength:"500" example:"https://login.acme.example"`
	ClientID     string `json:"client_id" doc:"Client id that the provider gave" minLength:"1" maxLength:"300"`
	ClientSecret string `json:"client_secret" doc:"Client secret that the provider gave; nobody can read it back" minLength:"1" maxLength:"4096"`
}

// TestOutput is the output of [Test].
type TestOutput struct {
	Test    string `json:"test" doc:"Id of the test"`
	Address string `json:"address" doc:"Where to go to sign in"`
}
