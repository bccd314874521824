// Package model reads of a semantic model what the scanner does not give, under
// the token of a person who may query it. It runs in the api alone: the worker
// holds nobody's token.
package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// A Source runs DAX. [powerbi.Client] is one.
type Source interface {
	ExecuteQuery(ctx context.Context, token, datasetID, dax string) (*powerbi.Result, error)
}

// A Store keeps what was read. [relationship.Store] is one.
type Store interface {
	Add(ctx context.Context, datasetID, personID string, seen []knowledge.Relationship) error
	Fail(ctx context.Context, datasetID, personID, state, reason string) error
	Readers(ctx context.Context, datasetID string, most int) ([]string, error)
}

// A Reader reads models.
type Reader struct {
	Source Source
	Store  Store
	Log    *slog.Logger

	// Token gives a person's own access token for Power BI.
	Token func(ctx context.Context, personID string) (string, error)
}

// relationships is answered for whoever may query a model; the functions without
// VIEW in their names are for those who may change it.
const relationships = "EVALUATE INFO.VIEW.RELATIONSHIPS()"

// Read reads a dataset's relationships as one person, at once. What Power BI
// answers instead is stored as the cause and returned, an [*powerbi.Error].
func (r *Reader) Read(ctx context.Context, personID, datasetID string) error {
	token, err := r.Token(ctx, personID)
	if err != nil {
		return fmt.Errorf("reading a model: %w", err)
	}
	res, err := r.Source.ExecuteQuery(ctx, token, datasetID, relationships)
	if err == nil && res.Truncated != "" {
		err = fmt.Errorf("relationships came cut off: %w", powerbi.ErrShape)
	}
	var seen []knowledge.Relationship
	if err == nil {
		seen, err = parse(res)
	}
	if err != nil {
		if ctx.Err() != nil {
			return err // nothing was learned
		}
		state, reason := cause(err)
		if failed := r.Store.Fail(ctx, datasetID, personID, state, reason); failed != nil {
			err = errors.Join(err, failed)
		}
		return fmt.Errorf("reading a model: %w", err)
	}
	return r.Store.Add(ctx, datasetID, personID, seen)
}

// mostReaders is how many people a dataset is tried as before it is given up
// until the next time.
const mostReaders = 5

// ReadAsAnybody reads a dataset's relationships as somebody who is connected:
// where Power BI refuses one, as the next. It is no error when there is nobody,
// or when all are refused, for then the cause is stored.
func (r *Reader) ReadAsAnybody(ctx context.Context, datasetID string) error {
	people, err := r.Store.Readers(ctx, datasetID, mostReaders)
	if err != nil {
		return err
	}
	for _, person := range people {
		err := r.Read(ctx, person, datasetID)
		if err == nil {
			return nil
		}
		refused, ok := errors.AsType[*powerbi.Error](err)
		if ok && (refused.Throttled() || refused.Status >= 500) || ctx.Err() != nil {
			return err // nobody else fares better now
		}
		r.Log.InfoContext(ctx, "reading a model as the next person", "dataset", datasetID, "error", err)
	}
	return nil
}

// cause tells what stopped the reading, without Power BI's own sentence.
func cause(err error) (state, reason string) {
	refused, ok := errors.AsType[*powerbi.Error](err)
	switch {
	case !ok:
		return relationship.Failed, "Power BI could not be reached, or its answer was not understood."
	case refused.Unseen():
		return relationship.Refused, "Power BI does not let this account query the model."
	case refused.Throttled() || refused.Status >= 500:
		return relationship.Failed, fmt.Sprintf("Power BI answered %d.", refused.Status)
	}
	return relationship.Refused, strings.TrimRight("Power BI refused to list the relationships: "+refused.Code, ": ") + "."
}

// parse takes the rows of INFO.VIEW.RELATIONSHIPS.
func parse(res *powerbi.Result) ([]knowledge.Relationship, error) {
	at := map[string]int{}
	for i, c := range res.Columns {
		at[strings.ToLower(strings.Trim(c, "[]"))] = i
	}
	for _, needed := range []string{"fromtable", "fromcolumn", "totable", "tocolumn"} {
		if _, ok := at[needed]; !ok && len(res.Rows) > 0 {
			return nil, fmt.Errorf("relationships have no %s: %w", needed, powerbi.ErrShape)
		}
	}
	var out []knowledge.Relationship
	for _, row := range res.Rows {
		text := func(column string) string {
			i, ok := at[column]
			if !ok {
				return ""
			}
			s, _ := row[i].(string)
			return s
		}
		is := func(column, value string) bool { return strings.EqualFold(text(column), value) }
		rel := knowledge.Relationship{
			Name:      text("name"),
			FromTable: text("fromtable"), FromColumn: text("fromcolumn"), ToTable: text("totable"), ToColumn: text("tocolumn"),
			BothFilter: is("crossfilteringbehavior", "BothDirections"),
			BothSecure: is("securityfilteringbehavior", "BothDirections"),
			FromOne:    is("fromcardinality", "One"),
			ToMany:     is("tocardinality", "Many"),
		}
		if i, ok := at["isactive"]; ok {
			active, isBool := row[i].(bool)
			rel.Inactive = isBool && !active
		}
		if rel.FromTable == "" || rel.FromColumn == "" || rel.ToTable == "" || rel.ToColumn == "" {
			return nil, fmt.Errorf("a relationship without an end: %w", powerbi.ErrShape)
		}
		out = append(out, rel)
	}
	return out, nil
}
