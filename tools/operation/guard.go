package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/visibility"
	"github.com/pbmb/pbmb/policies"
)

// A Call is what a handler knows of the call that it serves.
type Call struct {
	Principal *policies.Principal
	View      *visibility.View   // which datasets, columns and measures the caller may see
	Dataset   *knowledge.Dataset // the one that the input names, where the question is about one
	Name      string             // how the input names it

	find func(context.Context) error
}

// Find finds the dataset that the input names and puts it into c.Dataset. Its error
// is what the caller is to be told: that there is none, or which of several there are.
func (c *Call) Find(ctx context.Context) error { return c.find(ctx) }

// Datasets finds the dataset that a caller names, among those that they may see.
type Datasets interface {
	// FindDatasets returns every dataset of view that name means: an id, a name,
	// a name with its workspace before it and a slash between, or an address of
	// Power BI that holds the id.
	FindDatasets(ctx context.Context, view *visibility.View, name string) ([]knowledge.Dataset, error)

	// NearestDatasets returns up to five names in view that are like name, best first.
	NearestDatasets(ctx context.Context, view *visibility.View, name string) ([]string, error)
}

// A Limiter counts calls against a limit.
type Limiter interface {
	// Allow counts one call of rule by subject and reports whether it is within
	// perMinute; if not, after how long the next one is.
	Allow(ctx context.Context, rule, subject string, perMinute int) (ok bool, retry time.Duration, err error)
}

// A Refusal is what the audit keeps of a call that was refused.
type Refusal struct {
	Operation string
	Element   string // what it was about, as the caller named it
	Kind      ErrorKind
	Detail    map[string]any
}

// An Auditor keeps refusals. What an operation did is audited by its store, in
// the transaction that did it.
type Auditor interface {
	Refused(context.Context, *policies.Principal, Refusal) error
}

// A Guard runs operations.
type Guard struct {
	Decider    policies.Decider
	Visibility *visibility.Service
	Datasets   Datasets
	Limits     Limiter
	Audit      Auditor
	Log        *slog.Logger
}

// Call runs one operation for the principal in ctx, who may be nil, and returns
// its output or the [*Error] that the caller is to be told.
func (g *Guard) Call(ctx context.Context, d *Def, args json.RawMessage) (out *Output, failure *Error) {
	c := &Call{}
	c.Principal, _ = policies.FromContext(ctx)
	defer func() {
		if r := recover(); r != nil {
			out, failure = nil, problem(unexpected.Recovered(r))
		}
		if failure != nil {
			g.settle(ctx, d, c, failure)
		}
	}()
	value, err := g.run(ctx, d, c, args)
	if err != nil {
		return nil, problem(err)
	}
	out, err = output(c.Principal, value)
	if err != nil {
		return nil, problem(err)
	}
	return out, nil
}

func (g *Guard) run(ctx context.Context, d *Def, c *Call, args json.RawMessage) (any, error) {
	p := c.Principal
	if err := floor(d, p); err != nil {
		return nil, err
	}
	if d.Rate.PerMinute > 0 {
		ok, retry, err := g.Limits.Allow(ctx, "operation:"+d.Name, p.ID, d.Rate.PerMinute)
		if err != nil {
			return nil, translate(err)
		}
		if !ok {
			return nil, &Error{
				Kind: RateLimited, RetryAfter: retry,
				Sentence: fmt.Sprintf("%s may be called %d times a minute.", d.Name, d.Rate.PerMinute),
				Next:     fmt.Sprintf("Try again in %d seconds.", int(retry.Seconds())+1),
			}
		}
	}
	in, err := d.decode(args)
	if err != nil {
		return nil, err
	}
	if err := g.decide(ctx, d, c, in); err != nil {
		return nil, translate(err)
	}
	value, err := d.handle(ctx, c, in)
	return value, translate(err)
}

// output cuts an answer to what the way it goes out by can carry.
func output(p *policies.Principal, value any) (*Output, error) {
	if p.Via == policies.ViaConnector {
		return cut(value, MaxToolAnswer)
	}
	return render(value)
}

// decide asks the operation's question and puts what the answer covers into c.
func (g *Guard) decide(ctx context.Context, d *Def, c *Call, in any) error {
	switch d.question {
	case askNothing:
		return nil
	case askBook:
		if err := g.ask(ctx, c, d.Action, policies.Book); err != nil {
			return err
		}
	case askAdmin:
		if err := g.ask(ctx, c, d.Action, policies.Admin); err != nil || d.dataset == nil {
			return err
		}
	case askVisible, askListed:
		if err := g.ask(ctx, c, policies.Read, policies.Book); err != nil {
			return err
		}
	}
	view, err := g.Visibility.For(ctx, c.Principal)
	if err != nil {
		return err
	}
	c.View = view
	if d.dataset != nil {
		c.Name = d.dataset(in)
	}
	if c.Name == "" {
		if d.question == askDataset || (d.question == askBook || d.question == askAdmin) && d.dataset != nil {
			return Invalidf("list_datasets gives their names.", "No dataset is named.")
		}
		return nil
	}
	c.find = func(ctx context.Context) error {
		found, err := g.find(ctx, view, c.Name)
		if err != nil {
			return err
		}
		c.Dataset = found
		action := d.Action
		if d.question == askBook || d.question == askAdmin {
			action = policies.Describe
		}
		return g.ask(ctx, c, action, found.Resource())
	}
	if d.question == askListed {
		return nil
	}
	return c.find(ctx)
}

// find returns the one dataset that name means, as far as the caller can see.
func (g *Guard) find(ctx context.Context, view *visibility.View, name string) (*knowledge.Dataset, error) {
	found, err := g.Datasets.FindDatasets(ctx, view, name)
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		near, err := g.Datasets.NearestDatasets(ctx, view, name)
		if err != nil {
			return nil, err
		}
		return nil, Missing("dataset", name, near)
	}
	e := Invalidf("Name it with its workspace before it, or by its id.", "More than one dataset is named %q.", name)
	for _, d := range found {
		e.Names = append(e.Names, d.Workspace+"/"+d.Name)
	}
	return nil, e
}

func (g *Guard) ask(ctx context.Context, c *Call, a policies.Action, r policies.Resource) error {
	ok, err := g.Decider.Allowed(ctx, c.Principal, a, r)
	if err != nil {
		return err
	}
	if ok {
		return nil
	}
	if r.Kind == policies.KindDataset && a == policies.Describe {
		return Missing("dataset", c.Name, nil) // by the caller's own word: its id is not theirs to know
	}
	return &Error{
		Kind:     Forbidden,
		Sentence: fmt.Sprintf("You may not %s on %s.", a, r.Kind),
		Next:     "An admin can give you a role that may.",
	}
}

// translate makes an error of the layers below one that callers know.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, policies.ErrTooLarge):
		return &Error{Kind: Unavailable, Sentence: "Power BI lists you at more workspaces, apps and datasets than one decision can take.", Next: "An admin of Power BI can share workspaces with you instead of single datasets.", Cause: err}
	case isUntranslatable(err):
		return &Error{Kind: Unavailable, Sentence: "A policy of this deployment decides on datasets by what lists cannot follow.", Next: "Tell an admin: the log names it.", Cause: err}
	case errors.Is(err, policies.ErrUnavailable), errors.Is(err, postgres.ErrUnavailable):
		return &Error{Kind: Unavailable, Sentence: "This cannot be decided just now.", Next: "Try again in a few seconds.", RetryAfter: 2 * time.Second, Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Timeout, Sentence: "This took too long.", Next: "Ask for less, or try again.", Cause: err}
	}
	return err
}

func isUntranslatable(err error) bool {
	_, ok := errors.AsType[*visibility.UntranslatableError](err)
	return ok
}

// settle logs and audits a call that failed.
func (g *Guard) settle(ctx context.Context, d *Def, c *Call, e *Error) {
	switch e.Kind {
	case Internal, Unavailable, Upstream:
		if errors.Is(ctx.Err(), context.Canceled) {
			return // the caller has gone, as a browser does that leaves a page
		}
		cause := e.Cause
		if cause == nil {
			cause = e
		}
		unexpected.Log(ctx, g.Log, "operation failed", cause, "operation", d.Name, "kind", e.Kind)
	case Forbidden, PIIRefused:
		if c.Principal == nil {
			return
		}
		r := Refusal{Operation: d.Name, Kind: e.Kind, Detail: e.Detail}
		if c.Dataset != nil {
			r.Element = c.Dataset.ID
		}
		// The caller's going away must not lose the row.
		if err := g.Audit.Refused(context.WithoutCancel(ctx), c.Principal, r); err != nil {
			unexpected.Log(ctx, g.Log, "writing the audit row of a refusal", err, "operation", d.Name)
		}
	}
}
