// Package model reads of a semantic model what the scanner does not give, under
// the tokens of people who may query it. It runs in the api alone: the worker
// holds nobody's token.
package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// ErrNoToken is returned, wrapped, by a Reader's Token for a person who has none:
// another may.
var ErrNoToken = errors.New("the person has no token for Power BI")

// A Source runs DAX. [powerbi.Client] is one.
type Source interface {
	ExecuteQuery(ctx context.Context, token, datasetID, dax string) (*powerbi.Result, error)
}

// A Store keeps what was read. [relationship.Store] is one.
type Store interface {
	Schema(ctx context.Context, datasetID string) ([]byte, map[knowledge.ModelPart]relationship.Tried, error)
	AddRelationships(ctx context.Context, r relationship.Reading, seen []knowledge.Relationship) error
	AddGroups(ctx context.Context, r relationship.Reading, seen map[string]int) ([]string, error)
	SetItems(ctx context.Context, r relationship.Reading, groups map[string][]knowledge.CalculationItem) error
	SetFunctions(ctx context.Context, r relationship.Reading, functions []knowledge.Function) error
	Fail(ctx context.Context, r relationship.Reading, part knowledge.ModelPart, state knowledge.ReadState, reason string) error
	Readers(ctx context.Context, datasetID string, most int) ([]string, error)
}

// A Reader reads models.
type Reader struct {
	Source Source
	Store  Store
	Log    *slog.Logger

	// Token gives a person's own access token for Power BI. A transport's or
	// Microsoft's failure is any error that is not [ErrNoToken].
	Token func(ctx context.Context, personID string) (string, error)
}

const (
	// mostReaders is how many people a dataset is tried as before it is given up
	// until the next time.
	mostReaders = 5

	// tryOthers is after how long a query has others than its asker tried again
	// for what all were refused.
	tryOthers = time.Hour
)

// Read reads at once what is not known of a dataset, for a query of one person: as
// that person, and what they are refused as the next who may be served. What all
// were refused is left, but for relationships, which another asker may be told.
//
// The error is that of the person's token; or what stopped the reading; or, where
// relationships are still not known, Power BI's refusal, an [*powerbi.Error]. The
// causes are stored.
func (r *Reader) Read(ctx context.Context, personID, datasetID string) error {
	schema, tried, err := r.Store.Schema(ctx, datasetID)
	if err != nil {
		return err
	}
	a := r.attempt(datasetID, schema)
	others := false
	for _, part := range knowledge.ModelParts() {
		t, known := tried[part]
		refused := known && t.State == knowledge.PartRefused
		if known && t.State == knowledge.PartRead || refused && part != knowledge.Relationships {
			continue
		}
		a.left = append(a.left, part)
		others = others || !refused || time.Since(t.At) > tryOthers
	}
	if err := a.as(ctx, personID); err != nil {
		return err
	}
	if len(a.left) > 0 && others {
		people, err := r.Store.Readers(ctx, datasetID, mostReaders)
		if err != nil {
			return err
		}
		if err := a.asNext(ctx, slices.DeleteFunc(people, func(p string) bool { return p == personID })); err != nil {
			return err
		}
	}
	return a.end(ctx)
}

// ReadAsAnybody reads all of a dataset anew as somebody who is connected: what
// Power BI refuses one, as the next. It is no error when there is nobody, or when
// all are refused, for then the cause is stored.
func (r *Reader) ReadAsAnybody(ctx context.Context, datasetID string) error {
	schema, _, err := r.Store.Schema(ctx, datasetID)
	if errors.Is(err, knowledge.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	people, err := r.Store.Readers(ctx, datasetID, mostReaders)
	if err != nil {
		return err
	}
	a := r.attempt(datasetID, schema)
	a.left = knowledge.ModelParts()
	if err := a.asNext(ctx, people); err != nil {
		return err
	}
	if err := a.end(ctx); err != nil {
		if _, refused := errors.AsType[*powerbi.Error](err); !refused && !errors.Is(err, powerbi.ErrShape) {
			return err
		}
		r.Log.InfoContext(ctx, "a model was not read", "dataset", datasetID, "error", err)
	}
	return nil
}

// An attempt reads a dataset as one person after the other.
type attempt struct {
	*Reader
	reading relationship.Reading // its person is whoever was tried last
	left    []knowledge.ModelPart

	// Why parts are left. Nothing of it is stored before everybody was tried: what
	// is refused to all is not waited for any longer.
	outcome map[knowledge.ModelPart]outcome
}

type outcome struct {
	reading relationship.Reading
	err     error
}

func (r *Reader) attempt(datasetID string, schema []byte) *attempt {
	return &attempt{
		Reader: r, reading: relationship.Reading{DatasetID: datasetID, Schema: schema}, outcome: map[knowledge.ModelPart]outcome{},
	}
}

// asNext reads what is left as people in turn, past those who have no token.
func (a *attempt) asNext(ctx context.Context, people []string) error {
	for _, person := range people {
		if len(a.left) == 0 {
			return nil
		}
		if err := a.as(ctx, person); err != nil && !errors.Is(err, ErrNoToken) {
			return err
		}
	}
	return nil
}

// as reads what is left as one person. An error means that nobody else fares
// better now, or is [ErrNoToken].
func (a *attempt) as(ctx context.Context, personID string) error {
	if len(a.left) == 0 {
		return nil
	}
	a.reading.PersonID = personID
	token, err := a.Token(ctx, personID)
	if err != nil {
		if !errors.Is(err, ErrNoToken) {
			err = a.stop(ctx, err)
		}
		return fmt.Errorf("reading a model: %w", err)
	}
	q := &asker{source: a.Source, token: token, dataset: a.reading.DatasetID}
	for _, part := range slices.Clone(a.left) {
		err := a.read(ctx, q, part)
		switch {
		case err == nil:
			a.left = slices.DeleteFunc(a.left, func(p knowledge.ModelPart) bool { return p == part })
		case passes(err):
			return fmt.Errorf("reading a model: %w", a.stop(ctx, err))
		default:
			if before, ok := a.outcome[part]; !ok || !errors.Is(before.err, powerbi.ErrShape) {
				a.outcome[part] = outcome{a.reading, err}
			}
			a.Log.InfoContext(ctx, "a part of a model was not read", "dataset", a.reading.DatasetID, "part", part, "error", err)
		}
	}
	return nil
}

// passes reports whether an error says nothing of the person or the model.
func passes(err error) bool {
	if refused, ok := errors.AsType[*powerbi.Error](err); ok {
		return refused.Throttled() || refused.Status >= 500
	}
	return !errors.Is(err, powerbi.ErrShape)
}

// stop stores that everything that is left may work later, whoever was refused
// it before, and returns err.
func (a *attempt) stop(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err // nothing was learned
	}
	for _, part := range a.left {
		state, reason := cause(part, err)
		if failed := a.Store.Fail(ctx, a.reading, part, state, reason); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

// end stores why parts are left, and returns what kept relationships from being read.
func (a *attempt) end(ctx context.Context) error {
	var unread error
	for _, part := range a.left {
		o, ok := a.outcome[part]
		if !ok {
			continue // nobody was tried
		}
		state, reason := cause(part, o.err)
		if err := a.Store.Fail(ctx, o.reading, part, state, reason); err != nil {
			return err
		}
		if part == knowledge.Relationships {
			unread = fmt.Errorf("reading a model: %w", o.err)
		}
	}
	return unread
}

// cause tells what stopped the reading of a part, without Power BI's own sentence.
func cause(part knowledge.ModelPart, err error) (knowledge.ReadState, string) {
	words := strings.ReplaceAll(string(part), "_", " ")
	refused, ok := errors.AsType[*powerbi.Error](err)
	switch {
	case !ok:
		return knowledge.PartFailed, "Power BI could not be reached, or its answer was not understood."
	case refused.Unseen():
		return knowledge.PartRefused, "Power BI does not let those who were tried query the model."
	case refused.Throttled() || refused.Status >= 500:
		return knowledge.PartFailed, fmt.Sprintf("Power BI answered %d.", refused.Status)
	}
	return knowledge.PartRefused, strings.TrimRight(fmt.Sprintf("Power BI refused to list the %s: %s", words, refused.Code), ": ") + "."
}
