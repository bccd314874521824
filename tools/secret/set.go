package secret

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Set replaces a secret.
func Set(s Store, now func() time.Time) *operation.Def {
	return operation.Operation[SetInput, Item]{
		Name:  "set_secret",
		Title: "Set a secret",
		Doc: "Sets a secret or replaces it, sealed for the processes that read it and for nobody else. It counts from its next " +
			"use on, and cannot be read back.",
		Route:    "PUT /admin/secrets/{name}",
		Command:  "admin secrets set <name>",
		Surfaces: operation.API,
		Effect:   operation.Replaces,
		Rate:     operation.Rate{PerMinute: 30},
		Ask:      operation.OnAdmin[SetInput](policies.ManageSecrets),
		Handle: func(ctx context.Context, c *operation.Call, in SetInput) (Item, error) {
			if !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(now()) {
				return Item{}, operation.Invalidf("Give the time until which it is good, or leave it out.", "expires_at is over already.")
			}
			info, err := s.Set(ctx, c.Principal, secret.Name(in.Name), in.Value, in.ExpiresAt)
			if err != nil {
				return Item{}, translate(err)
			}
			return newItem(info), nil
		},
	}.Def()
}

// SetInput is the input of [Set].
type SetInput struct {
	Name string `json:"name" doc:"Name of the secret, from the list; sign_in.<key>.client_secret for a sign-in provider" minLength:"1" maxLength:"100" pattern:"^[a-z0-9_-]+(\\.[a-z0-9_-]+)+$" patternDescription:"the name of a secret" example:"scanner.client_secret"`
	// A field that is only written is prompted for, and is no argument of a command line.
	Value     string    `json:"value" doc:"The value" writeOnly:"true" minLength:"1" maxLength:"4096"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"When it ends, as Entra says of a client secret; 30 days before that the status warns" example:"2027-06-30T00:00:00Z"`
}

// translate tells a caller what is wrong. What they sent is not repeated, not even
// as the name: that may be a value in the wrong place.
func translate(err error) error {
	if errors.Is(err, secret.ErrUnknown) {
		var names []string
		for _, d := range secret.Definitions() {
			names = append(names, string(d.Name))
		}
		return &operation.Error{
			Kind: operation.NotFound, Sentence: "There is no secret of this name.", Names: names,
			Next: "These are there: " + strings.Join(names, ", ") + ", and sign_in.<key>.client_secret for a sign-in provider.",
		}
	}
	if e, ok := errors.AsType[*secret.InvalidError](err); ok {
		return operation.Invalidf("Send the value alone, as it was issued.", "%s.", capital(e.Problem))
	}
	if e, ok := errors.AsType[*secret.NoReaderError](err); ok {
		return &operation.Error{
			Kind: operation.Conflict, Sentence: capital(e.Error()) + ".",
			Next: fmt.Sprintf("Start the %s once, and set the secret then.", e.Reader),
		}
	}
	return err
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
