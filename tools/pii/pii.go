// Package pii has the operations on the rules that say what is personal data.
package pii

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store keeps the rules. Every write audits in its own transaction.
type Store interface {
	// ListRules returns the rules by kind and name, the marked or the cleared ones
	// alone where marked says so.
	ListRules(ctx context.Context, marked *bool) ([]pii.Decision, error)

	// SetRule makes ref marked (marked true) or reviewed and cleared, in place of
	// whatever was decided for the same name before.
	SetRule(ctx context.Context, by *policies.Principal, ref pii.Ref, marked bool, note string) (pii.Decision, error)

	// RemoveRule takes the decision for ref away, or returns [knowledge.ErrNotFound].
	RemoveRule(ctx context.Context, by *policies.Principal, ref pii.Ref) error

	// CountMatches counts what ref covers in the datasets that view reaches.
	CountMatches(ctx context.Context, view *visibility.View, ref pii.Ref) (pii.Matches, error)

	// NearNames returns references of the mirror within view that are like ref.
	NearNames(ctx context.Context, view *visibility.View, ref pii.Ref) ([]string, error)
}

// Views makes the view through which matches are counted: the asking admin's own reach.
type Views interface {
	For(context.Context, *policies.Principal) (*visibility.View, error)
}

// Operations returns every operation on rules.
func Operations(s Store, v Views) []*operation.Def {
	return []*operation.Def{List(s), Mark(s, v), Clear(s, v), Remove(s)}
}

// A Rule is a rule as callers see it.
type Rule struct {
	Reference string    `json:"reference" doc:"Table, Table[Column] or Table[Measure]"`
	Kind      string    `json:"kind" doc:"table, column or measure"`
	PII       bool      `json:"pii" doc:"Marked as personal data; false where it was reviewed and cleared"`
	Note      string    `json:"note,omitempty" doc:"Why" cut:"text"`
	ChangedBy string    `json:"changed_by" doc:"Who decided last"`
	ChangedAt time.Time `json:"changed_at" doc:"When"`
	Via       string    `json:"via" doc:"Through what: browser, cli or import"`
	Version   int64     `json:"version" doc:"Goes up with every change"`
}

func newRule(d pii.Decision) Rule {
	return Rule{
		Reference: d.String(), Kind: string(d.Kind), PII: d.PII, Note: d.Note,
		ChangedBy: d.ChangedBy, ChangedAt: d.ChangedAt.UTC(), Via: d.Via, Version: d.Version,
	}
}

// RefInput names what a rule is about.
type RefInput struct {
	Reference string `json:"reference" doc:"Table, Table[Column] or, with measure, Table[Measure]; it holds in every dataset" minLength:"1" maxLength:"500" example:"Customer[Customer]"`
	Measure   bool   `json:"measure,omitempty" doc:"The reference names a measure"`
}

func (in RefInput) parse() (pii.Ref, error) {
	ref, err := pii.ParseReference(in.Reference, in.Measure)
	if err != nil {
		return pii.Ref{}, &operation.Error{Kind: operation.Invalid, Sentence: err.Error(), Next: "Write Customer, Customer[Customer] or, with measure, Sales[Net sales]."}
	}
	return ref, nil
}

// DecideInput is the input of [Mark] and [Clear].
type DecideInput struct {
	RefInput
	Note string `json:"note,omitempty" doc:"Why, for those who come later" maxLength:"1000" example:"Customer names are personal data"`
}

// DecideOutput is the output of [Mark] and [Clear].
type DecideOutput struct {
	Rule
	Columns  int      `json:"columns" doc:"Columns that it matches in the datasets that you reach"`
	Measures int      `json:"measures" doc:"Measures that it matches there"`
	Datasets int      `json:"datasets" doc:"Datasets that have a match"`
	Near     []string `json:"near,omitempty" doc:"Names like it, where it matches nothing"`
	Notice   string   `json:"notice,omitempty" doc:"What to look at"`
}

// decide sets a rule and says what it matches.
func decide(ctx context.Context, s Store, v Views, c *operation.Call, in DecideInput, marked bool) (DecideOutput, error) {
	ref, err := in.parse()
	if err != nil {
		return DecideOutput{}, err
	}
	view, err := v.For(ctx, c.Principal)
	if err != nil {
		return DecideOutput{}, err
	}
	stored, err := s.SetRule(ctx, c.Principal, ref, marked, in.Note)
	if err != nil {
		return DecideOutput{}, err
	}
	matches, err := s.CountMatches(ctx, view, ref)
	if err != nil {
		return DecideOutput{}, err
	}
	out := DecideOutput{Rule: newRule(stored), Columns: matches.Columns, Measures: matches.Measures, Datasets: matches.Datasets}
	if matches.Datasets == 0 {
		if out.Near, err = s.NearNames(ctx, view, ref); err != nil {
			return DecideOutput{}, err
		}
		out.Notice = "It matches nothing today. It is kept, and covers what is found later under this name."
	}
	return out, nil
}
