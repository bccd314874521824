// Package secret has the operations on the deployment's credentials. They replace
// one and show how each stands; none of them returns a value.
package secret

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store keeps secrets. It has no method by which an operation could open one.
type Store interface {
	// List returns what there is to see of every secret, by name.
	List(context.Context) ([]secret.Info, error)

	// Set seals a value for the readers of a secret and audits that. A zero end
	// means that none is known. It returns [secret.ErrUnknown], a
	// [*secret.InvalidError] or a [*secret.NoReaderError].
	Set(ctx context.Context, by *policies.Principal, name secret.Name, value string, expires time.Time) (secret.Info, error)
}

// Operations returns every operation on secrets.
func Operations(s Store, now func() time.Time) []*operation.Def {
	return []*operation.Def{List(s), Set(s, now)}
}

// An Item is a secret as callers see it.
type Item struct {
	Name      string    `json:"name" doc:"Its name"`
	About     string    `json:"about" doc:"What it is"`
	Readers   []string  `json:"readers" doc:"The processes that can open it: api, worker"`
	Check     string    `json:"check" doc:"missing, readable, or unreadable where a reader's identity is another than it was sealed for"`
	LastFour  string    `json:"last_four,omitempty" doc:"Its last four characters, of one with at least 16"`
	SetBy     string    `json:"set_by,omitempty" doc:"Who set it"`
	SetAt     time.Time `json:"set_at,omitzero" doc:"When"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"When it ends, where that is known"`
}

func newItem(i secret.Info) Item {
	item := Item{
		Name: string(i.Name), About: i.About, Check: string(i.Check), LastFour: i.LastFour, SetBy: i.SetBy,
		SetAt: utc(i.SetAt), ExpiresAt: utc(i.ExpiresAt),
	}
	for _, r := range i.Readers {
		item.Readers = append(item.Readers, string(r))
	}
	return item
}

// utc leaves a zero time zero, which no zone but UTC does.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
