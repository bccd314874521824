// Package pii has the operations on the rules that say what is personal data.
package pii

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// A Store keeps the rules. Every write audits in its own transaction.
type Store interface {
	// ListRules returns the rules by kind and name, the marked or the cleared ones
	// alone where marked says so.
	ListRules(ctx context.Context, marked *bool) ([]pii.Decision, error)

	// SetRule makes ref marked, cleared or released, in place of whatever was decided
	// for the same name before.
	SetRule(ctx context.Context, by *policies.Principal, ref pii.Ref, state pii.State, note string) (pii.Change, error)

	// RemoveRule takes the decision for ref away, or returns [knowledge.ErrNotFound].
	RemoveRule(ctx context.Context, by *policies.Principal, ref pii.Ref) (pii.Change, error)

	// RestoreRule takes back the last change for ref, which must have that version:
	// else [knowledge.ErrConflict], or [knowledge.ErrNotFound] where there was none.
	RestoreRule(ctx context.Context, by *policies.Principal, ref pii.Ref, version int64) (pii.Change, error)

	// CountMatches counts what each ref matches in the datasets that Power BI lets
	// the caller of view reach.
	CountMatches(ctx context.Context, view *visibility.View, refs []pii.Ref) ([]pii.Matches, error)

	// NearNames returns references that are like ref, in those same datasets.
	NearNames(ctx context.Context, view *visibility.View, ref pii.Ref) ([]string, error)

	// Suggest looks for what may be personal data, in those same datasets or in the
	// one that is named: [knowledge.ErrNotFound] where it is none of them,
	// [knowledge.ErrSeveral] where it is more than one.
	Suggest(ctx context.Context, view *visibility.View, dataset string) (pii.Suggested, error)

	// Model returns a dataset's tables, columns, measures and relationships.
	Model(ctx context.Context, datasetID string) (*knowledge.Model, error)

	// Rules returns every rule.
	Rules(context.Context) ([]pii.Rule, error)
}

// Views makes the view through which matches are counted: the asking admin's own reach.
type Views interface {
	For(context.Context, *policies.Principal) (*visibility.View, error)
}

// Settings are read anew for each call that needs them.
type Settings interface {
	Read(context.Context) (setting.Values, error)
}

// Operations returns every operation on rules.
func Operations(s Store, v Views, values Settings) []*operation.Def {
	return []*operation.Def{List(s, v), Mark(s, v), Clear(s, v), Release(s, v), Remove(s), Restore(s), Suggest(s, v), Explain(s, values)}
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
	Released  bool      `json:"released,omitempty" doc:"Cleared, against relationships too"`
	Version   int64     `json:"version" doc:"Of the last change; restore takes it"`
}

func newRule(d pii.Decision) Rule {
	return Rule{
		Reference: d.String(), Kind: string(d.Kind), PII: d.PII, Released: d.Released, Note: d.Note,
		ChangedBy: d.ChangedBy, ChangedAt: d.ChangedAt.UTC(), Via: d.Via, Version: d.Version,
	}
}

// A Match counts what a rule is about.
type Match struct {
	Columns  int `json:"columns" doc:"Columns that it matches in the datasets that Power BI lets you reach"`
	Measures int `json:"measures" doc:"Measures that it matches there"`
	Datasets int `json:"datasets" doc:"Datasets that have a match"`
}

func newMatch(m pii.Matches) Match { return Match(m) }

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

// DecideInput is the input of [Mark], [Clear] and [Release].
type DecideInput struct {
	RefInput
	Note   string `json:"note,omitempty" doc:"Why, for those who come later" maxLength:"1000" example:"Customer names are personal data"`
	DryRun bool   `json:"dry_run,omitempty" doc:"Only say what it would match, and save nothing"`
}

// DecideOutput is the output of [Mark], [Clear] and [Release].
type DecideOutput struct {
	Reference string `json:"reference" doc:"Table, Table[Column] or Table[Measure]"`
	Kind      string `json:"kind" doc:"table, column or measure"`
	PII       bool   `json:"pii" doc:"Marked as personal data; false where it is cleared"`
	Released  bool   `json:"released,omitempty" doc:"Cleared, against relationships too"`
	Note      string `json:"note,omitempty" doc:"Why"`
	Match
	Saved   bool     `json:"saved" doc:"False after a dry run"`
	Version int64    `json:"version,omitempty" doc:"Of this change; restore takes it back"`
	Before  string   `json:"before" doc:"What was decided before: none, marked, cleared or released"`
	Near    []string `json:"near,omitempty" doc:"Names like it, where it matches nothing"`
	Notice  string   `json:"notice,omitempty" doc:"What to look at"`
}

// decide sets a rule, or only says what it would be, and what it matches.
func decide(ctx context.Context, s Store, v Views, c *operation.Call, in DecideInput, state pii.State) (DecideOutput, error) {
	ref, err := in.parse()
	if err != nil {
		return DecideOutput{}, err
	}
	view, err := v.For(ctx, c.Principal)
	if err != nil {
		return DecideOutput{}, err
	}
	out := DecideOutput{Reference: ref.String(), Kind: string(ref.Kind), PII: state == pii.IsMarked, Released: state == pii.IsReleased, Note: in.Note}
	if in.DryRun {
		current, err := current(ctx, s, ref)
		if err != nil {
			return DecideOutput{}, err
		}
		out.Before = string(current)
	} else {
		done, err := s.SetRule(ctx, c.Principal, ref, state, in.Note)
		if err != nil {
			return DecideOutput{}, err
		}
		out.Saved, out.Before, out.Version = true, string(done.Before), done.Version
	}
	matches, err := s.CountMatches(ctx, view, []pii.Ref{ref})
	if err != nil {
		return DecideOutput{}, err
	}
	out.Match = newMatch(matches[0])
	if out.Datasets == 0 {
		if out.Near, err = s.NearNames(ctx, view, ref); err != nil {
			return DecideOutput{}, err
		}
		out.Notice = "It matches nothing today. It is kept, and covers what is found later under this name."
		if in.DryRun {
			out.Notice = "It would match nothing today."
		}
	}
	return out, nil
}

// current is what is decided about a name now.
func current(ctx context.Context, s Store, ref pii.Ref) (pii.State, error) {
	rules, err := s.Rules(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range rules {
		if r.Ref().Key() == ref.Key() {
			return r.State(), nil
		}
	}
	return pii.Undecided, nil
}

// ChangeOutput is the output of [Remove] and [Restore].
type ChangeOutput struct {
	Reference string `json:"reference" doc:"The name that was decided on"`
	Kind      string `json:"kind" doc:"table, column or measure"`
	Before    string `json:"before" doc:"What was decided before: none, marked, cleared or released"`
	After     string `json:"after" doc:"What is decided now"`
	Version   int64  `json:"version" doc:"Of this change; restore takes it back"`
}

func newChange(c pii.Change) ChangeOutput {
	return ChangeOutput{Reference: c.String(), Kind: string(c.Kind), Before: string(c.Before), After: string(c.After), Version: c.Version}
}

// explainChange makes an error of a change one that callers know.
func explainChange(ref pii.Ref, err error) error {
	switch {
	case errors.Is(err, knowledge.ErrNotFound):
		return &operation.Error{Kind: operation.NotFound, Sentence: "There is no rule on " + ref.String() + ".", Next: "The list of rules has them all."}
	case errors.Is(err, knowledge.ErrConflict):
		return &operation.Error{
			Kind: operation.Conflict, Sentence: fmt.Sprintf("What is decided on %s was changed again since.", ref),
			Next: "Look at the list of rules, and restore its last version if that is what you want.",
		}
	}
	return err
}
