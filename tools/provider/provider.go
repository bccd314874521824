// Package provider has the operations on the ways to sign in: which there are,
// trying one, adding it once it was tried, and taking it away.
package provider

import (
	"context"
	"errors"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Provider is a way to sign in. Its client secret is in none of them.
type Provider struct {
	ID       string
	Kind     string // microsoft, google or oidc
	Name     string
	Issuer   string
	ClientID string
	Callback string // where it sends browsers back to
	Fixed    bool   // configured by the operator, and not to be removed here
	TestedAs string // email that the test sign-in showed
	AddedAt  time.Time
	AddedBy  string
}

// A Trial is a test sign-in that waits for its admin.
type Trial struct {
	ID      string
	Address string // at the provider: where to go to sign in
}

// An InvalidError says what is wrong with a provider, in words for the admin.
type InvalidError struct{ Problem string }

func (e *InvalidError) Error() string { return e.Problem }

// ErrUnreachable is returned for a provider that did not answer as one, whatever
// went wrong.
var ErrUnreachable = errors.New("the provider could not be reached, or its discovery document does not fit")

// ErrLastAdmin is returned where nobody could administer any more.
var ErrLastAdmin = errors.New("every admin comes through this provider")

func lastAdmin() error {
	return &operation.Error{
		Kind: operation.Conflict, Sentence: "Every admin who has signed in comes through this provider.",
		Next: "Make somebody an admin who signs in another way, and have them do so first.",
	}
}

// A Store keeps the providers. Every write audits in its own transaction.
type Store interface {
	List(context.Context) ([]Provider, error)

	// Test keeps a provider that is not added yet, or returns an [*InvalidError] or
	// [ErrUnreachable]. by is in a browser session, and signs in there.
	Test(ctx context.Context, by *policies.Principal, p Provider, secret string) (Trial, error)

	// Add adds the provider of a test, or returns [knowledge.ErrNotFound] unless the
	// same person's test has succeeded within the hour, or [ErrLastAdmin] where it
	// would take another issuer's place.
	Add(ctx context.Context, by *policies.Principal, trialID string) (Provider, error)

	// Remove takes a provider away with its secret and whatever rests on it, or
	// returns [knowledge.ErrNotFound] or [ErrLastAdmin].
	Remove(ctx context.Context, by *policies.Principal, id string) (Provider, error)
}

// Operations returns every operation of this package.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{List(s), Test(s), Add(s), Remove(s)}
}

// An Item is a provider as callers see it.
type Item struct {
	ID       string    `json:"id" doc:"Id, by which groups are assigned and its people are known"`
	Kind     string    `json:"kind" doc:"microsoft, google or oidc"`
	Name     string    `json:"name" doc:"Name on the sign-in page"`
	Issuer   string    `json:"issuer" doc:"Who signs its ID tokens"`
	ClientID string    `json:"client_id" doc:"Client id of this deployment there"`
	Callback string    `json:"callback" doc:"Redirect address to register there"`
	Fixed    bool      `json:"fixed,omitempty" doc:"Configured by the operator, not here"`
	TestedAs string    `json:"tested_as,omitempty" doc:"Email that the test sign-in showed"`
	AddedAt  time.Time `json:"added_at,omitzero" doc:"When it was added"`
	AddedBy  string    `json:"added_by,omitempty" doc:"Who added it"`
}

func newItem(p Provider) Item {
	return Item{
		ID: p.ID, Kind: p.Kind, Name: p.Name, Issuer: p.Issuer, ClientID: p.ClientID, Callback: p.Callback, Fixed: p.Fixed,
		TestedAs: p.TestedAs, AddedAt: p.AddedAt.UTC(), AddedBy: p.AddedBy,
	}
}
