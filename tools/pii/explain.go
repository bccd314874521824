package pii

import (
	"context"
	"fmt"

	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Explain says how the rules lead to the refusal of a query, or to an element.
func Explain(s Store, values Settings) *operation.Def {
	return operation.Operation[ExplainInput, ExplainOutput]{
		Name:  "explain_pii",
		Title: "See why something counts as personal data",
		Doc: "Says whether a query of somebody without pii_reader is refused, and for each thing in its way the steps from what " +
			"it uses to the rule behind it; or the same of a table, column or measure. Nothing is run.",
		Route:    "POST /admin/pii/explain",
		Command:  "admin pii explain <dataset>",
		Surfaces: operation.API,
		Effect:   operation.Reads,
		Rate:     operation.Rate{PerMinute: 60},
		Ask:      operation.OnAdminOf(policies.ManagePII, func(in ExplainInput) string { return in.Dataset }),
		Handle: func(ctx context.Context, c *operation.Call, in ExplainInput) (ExplainOutput, error) {
			if (in.Query == "") == (in.Reference == "") {
				return ExplainOutput{}, operation.Invalidf("Give --query, or --reference.", "Give a query or a reference, and not both.")
			}
			model, err := s.Model(ctx, c.Dataset.ID)
			if err != nil {
				return ExplainOutput{}, err
			}
			rules, err := s.Rules(ctx)
			if err != nil {
				return ExplainOutput{}, err
			}
			now, err := values.Read(ctx)
			if err != nil {
				return ExplainOutput{}, err
			}
			cover := pii.Cover(rules, model)
			cover.AllowValueMeasures = now.PII.ValueMeasures == setting.AllowValueMeasures
			if in.Query != "" {
				return explainQuery(in.Query, cover), nil
			}
			return explainReference(in, cover)
		},
	}.Def()
}

func explainQuery(query string, c *pii.Coverage) ExplainOutput {
	refusal := pii.Check(query, c.Model(), c)
	if refusal == nil {
		return ExplainOutput{Verdict: passes, Sentence: "The query passes: it runs for everybody whom Power BI lets run it.", Findings: []FindingItem{}}
	}
	out := ExplainOutput{Verdict: refused, Sentence: refusal.Sentence(), Findings: []FindingItem{}}
	for _, f := range c.Explain(refusal) {
		out.Findings = append(out.Findings, FindingItem{
			Element: f.Element, Cause: string(f.Cause), Line: f.Line, Column: f.Column, Steps: f.Steps,
		})
	}
	return out
}

func explainReference(in ExplainInput, c *pii.Coverage) (ExplainOutput, error) {
	ref, err := RefInput{in.Reference, in.Measure}.parse()
	if err != nil {
		return ExplainOutput{}, err
	}
	steps := c.ExplainElement(ref)
	if len(steps) == 0 {
		return ExplainOutput{Verdict: passes, Sentence: fmt.Sprintf("No rule leads to %s here.", ref), Findings: []FindingItem{}}, nil
	}
	return ExplainOutput{
		Verdict: refused, Sentence: fmt.Sprintf("A query of somebody without pii_reader that uses %s is refused.", ref),
		Findings: []FindingItem{{Element: ref.String(), Steps: steps}},
	}, nil
}

const (
	passes  = "passes"
	refused = "refused"
)

// ExplainInput is the input of [Explain].
type ExplainInput struct {
	Dataset   string `json:"dataset" doc:"Id, name, workspace/name, or an address of Power BI" minLength:"1" maxLength:"500" example:"Sales"`
	Query     string `json:"query,omitempty" doc:"A DAX query, at most 64 KiB" maxLength:"65536" example:"EVALUATE Customer"`
	Reference string `json:"reference,omitempty" doc:"Instead of a query: Table, Table[Column] or, with measure, Table[Measure]" maxLength:"500"`
	Measure   bool   `json:"measure,omitempty" doc:"The reference names a measure"`
}

// ExplainOutput is the output of [Explain].
type ExplainOutput struct {
	Verdict  string        `json:"verdict" doc:"passes or refused, for somebody without pii_reader"`
	Sentence string        `json:"sentence" doc:"What they are told"`
	Findings []FindingItem `json:"findings" doc:"What is in the way, in the order of the query"`
}

// A FindingItem is one thing in the way of a query.
type FindingItem struct {
	Element string   `json:"element,omitempty" doc:"What the query uses"`
	Cause   string   `json:"cause,omitempty" doc:"marked, joined, keyed, derived, whole_table, value_measure, calculation_item, user_function, reader, not_known, unreadable or relationships_not_known"`
	Line    int      `json:"line,omitempty" doc:"Where in the query: its line"`
	Column  int      `json:"column,omitempty" doc:"and the column in it"`
	Steps   []string `json:"steps" doc:"From what is used to the rule behind it"`
}
