// Package setting has the operations on the deployment's settings.
package setting

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store keeps settings; see [setting.Store].
type Store interface {
	List(context.Context) ([]setting.State, error)
	Get(ctx context.Context, key string) (setting.State, error)
	Set(ctx context.Context, by *policies.Principal, key, text string, version *int64) (setting.State, error)
}

// Operations returns every operation of this package.
func Operations(s Store) []*operation.Def {
	return []*operation.Def{List(s), Get(s), Set(s)}
}

// An Item is a setting as callers see it.
type Item struct {
	Key       string    `json:"key" doc:"Name of the setting"`
	Value     string    `json:"value" doc:"What it holds; empty where that is nothing"`
	Source    string    `json:"source" doc:"Where the value is from: saved, environment or default"`
	Default   string    `json:"default" doc:"The product's own default; empty where there is none"`
	Type      string    `json:"type" doc:"string, integer, number or boolean"`
	Rule      string    `json:"rule" doc:"Which values it takes"`
	Doc       string    `json:"doc" doc:"What it is for"`
	Version   int64     `json:"version" doc:"How often it was saved; a change may be based on it"`
	ChangedAt time.Time `json:"changed_at,omitzero" doc:"When it was last saved"`
	ChangedBy string    `json:"changed_by,omitempty" doc:"Who saved it last"`
}

func newItem(s setting.State) Item {
	return Item{
		Key: s.Key, Value: s.Value, Source: string(s.Source), Default: s.Default, Type: s.Type, Rule: s.Rule(), Doc: s.Doc,
		Version: s.Version, ChangedAt: s.ChangedAt.UTC(), ChangedBy: s.ChangedBy,
	}
}

// explain makes an error of the settings one that callers are told.
func explain(err error) error {
	if unknown, ok := errors.AsType[*setting.UnknownError](err); ok {
		e := &operation.Error{Kind: operation.NotFound, Sentence: "There is no setting " + quoted(unknown.Key) + ".", Next: "The list of settings has their names.", Names: unknown.Near}
		if len(unknown.Near) > 0 {
			e.Next = "Nearest names: " + strings.Join(unknown.Near, ", ") + "."
		}
		return e
	}
	if invalid, ok := errors.AsType[*setting.InvalidError](err); ok {
		return operation.Invalidf("Give it a value such as "+invalid.Example()+".", "%s must be %s.", invalid.Key, invalid.Rule())
	}
	switch {
	case errors.Is(err, setting.ErrOperators):
		return operation.Invalidf("Ask whoever runs the deployment.", "This address is set by the operator, in the environment.")
	case errors.Is(err, setting.ErrOtherTenant):
		return operation.Invalidf("Use a new database for another tenant.", "This database belongs to one tenant for its whole life.")
	case errors.Is(err, knowledge.ErrConflict):
		return &operation.Error{Kind: operation.Conflict, Sentence: "Somebody else has changed this setting since.", Next: "Read it again and decide anew.", Cause: err}
	}
	return err
}

func quoted(s string) string { return `"` + s + `"` }
