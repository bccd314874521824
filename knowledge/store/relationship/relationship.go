// Package relationship keeps what the api read of models under people's tokens,
// since the scanner does not give it: relationships first, and beside them
// calculation groups with their items, and user-defined functions. It is one set
// for everybody. Relationships and which tables are groups only grow: who sees
// less of a model takes nothing away. Items and functions are told only to those
// who may edit a model, and then whole, so each reading replaces the last.
package relationship

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/store/db"
)

// A Store writes as the api.
type Store struct {
	pool *pgxpool.Pool
}

// New returns a Store over a pool of the role api_rw.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

// A Reading is one attempt to read a model: under whose token, and of which schema.
type Reading struct {
	DatasetID, PersonID string

	// Schema is what [Store.Schema] gave before the first request: should a scan
	// find another, what was read no longer counts as complete.
	Schema []byte
}

// A Tried is what is known of a part of the schema as it is now.
type Tried struct {
	State knowledge.ReadState // read, refused or failed
	At    time.Time
}

// Schema returns the mark of a dataset's schema as the mirror has it, and the parts
// that somebody tried to read of that schema, or [knowledge.ErrNotFound].
func (s *Store) Schema(ctx context.Context, datasetID string) ([]byte, map[knowledge.ModelPart]Tried, error) {
	q := db.New(s.pool)
	mark, err := q.SchemaHash(ctx, datasetID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, knowledge.ErrNotFound
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the schema of a dataset: %w", postgres.Translate(err))
	}
	rows, err := q.ReadParts(ctx, datasetID)
	if err != nil {
		return nil, nil, fmt.Errorf("reading what is known of a model: %w", postgres.Translate(err))
	}
	tried := make(map[knowledge.ModelPart]Tried, len(rows))
	for _, r := range rows {
		tried[knowledge.ModelPart(r.Part)] = Tried{knowledge.ReadState(r.State), r.ReadAt}
	}
	return mark, tried, nil
}

// add stores a part and that it was read, in one transaction.
func (s *Store) add(ctx context.Context, r Reading, part knowledge.ModelPart, store func(*db.Queries) error) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := store(q); err != nil {
			return err
		}
		return q.SetModelRead(ctx, db.SetModelReadParams{DatasetID: r.DatasetID, Part: string(part), ReadBy: &r.PersonID, SchemaHash: r.Schema})
	})
	if err != nil {
		return fmt.Errorf("storing the %s of a model: %w", part, err)
	}
	return nil
}

// AddRelationships adds those that one person saw.
func (s *Store) AddRelationships(ctx context.Context, r Reading, seen []knowledge.Relationship) error {
	p := db.AddRelationshipsParams{DatasetID: r.DatasetID}
	type ends struct{ fromTable, fromColumn, toTable, toColumn string }
	added := map[ends]bool{}
	for _, r := range seen {
		key := ends{r.FromTable, r.FromColumn, r.ToTable, r.ToColumn}
		if added[key] {
			continue
		}
		added[key] = true
		p.FromTables = append(p.FromTables, r.FromTable)
		p.FromColumns = append(p.FromColumns, r.FromColumn)
		p.ToTables = append(p.ToTables, r.ToTable)
		p.ToColumns = append(p.ToColumns, r.ToColumn)
		p.Names = append(p.Names, r.Name)
		p.IsActive = append(p.IsActive, !r.Inactive)
		p.BothFilter = append(p.BothFilter, r.BothFilter)
		p.BothSecure = append(p.BothSecure, r.BothSecure)
		p.FromOne = append(p.FromOne, r.FromOne)
		p.ToMany = append(p.ToMany, r.ToMany)
	}
	return s.add(ctx, r, knowledge.Relationships, func(q *db.Queries) error {
		if len(added) == 0 {
			return nil
		}
		return q.AddRelationships(ctx, p)
	})
}

// AddGroups adds the calculation groups that one person saw, by name with their
// precedence, and returns the names of all that anybody saw.
func (s *Store) AddGroups(ctx context.Context, r Reading, seen map[string]int) (known []string, err error) {
	err = s.add(ctx, r, knowledge.CalculationGroups, func(q *db.Queries) error {
		p := db.AddCalculationGroupsParams{DatasetID: r.DatasetID}
		for name, precedence := range seen {
			p.Tables, p.Precedences = append(p.Tables, name), append(p.Precedences, int32(precedence))
		}
		if err := q.AddCalculationGroups(ctx, p); err != nil {
			return err
		}
		known, err = q.CalculationGroups(ctx, r.DatasetID)
		return err
	})
	return known, err
}

// SetItems makes these the calculation groups of a model, with all their items.
func (s *Store) SetItems(ctx context.Context, r Reading, groups map[string][]knowledge.CalculationItem) error {
	p := db.AddCalculationItemsParams{DatasetID: r.DatasetID}
	kept := []string{}
	for table, items := range groups {
		kept = append(kept, table)
		for _, item := range items {
			p.Tables = append(p.Tables, table)
			p.Names = append(p.Names, item.Name)
			p.Ordinals = append(p.Ordinals, int32(item.Ordinal))
			p.Expressions = append(p.Expressions, item.Expression)
		}
	}
	return s.add(ctx, r, knowledge.CalculationItems, func(q *db.Queries) error {
		return errors.Join(
			q.DeleteCalculationGroups(ctx, db.DeleteCalculationGroupsParams{DatasetID: r.DatasetID, Kept: kept}),
			q.DeleteCalculationItems(ctx, r.DatasetID),
			q.AddCalculationItems(ctx, p))
	})
}

// SetFunctions makes these the user-defined functions of a model.
func (s *Store) SetFunctions(ctx context.Context, r Reading, functions []knowledge.Function) error {
	p := db.AddFunctionsParams{DatasetID: r.DatasetID}
	for _, f := range functions {
		p.Names, p.Expressions = append(p.Names, f.Name), append(p.Expressions, f.Expression)
	}
	return s.add(ctx, r, knowledge.Functions, func(q *db.Queries) error {
		return errors.Join(q.DeleteFunctions(ctx, r.DatasetID), q.AddFunctions(ctx, p))
	})
}

// Fail records why a part could not be read, unless somebody has read it of the
// schema as it is now. The state is refused or failed.
func (s *Store) Fail(ctx context.Context, r Reading, part knowledge.ModelPart, state knowledge.ReadState, reason string) error {
	p := db.SetModelUnreadParams{
		DatasetID: r.DatasetID, Part: string(part), State: string(state), Reason: reason, ReadBy: &r.PersonID, SchemaHash: r.Schema,
	}
	if err := db.New(s.pool).SetModelUnread(ctx, p); err != nil {
		return fmt.Errorf("storing why the %s of a model are not known: %w", part, postgres.Translate(err))
	}
	return nil
}

// Readers returns people who are connected, those first under whose token the
// dataset is most likely to be read.
func (s *Store) Readers(ctx context.Context, datasetID string, most int) ([]string, error) {
	ids, err := db.New(s.pool).ModelReaders(ctx, db.ModelReadersParams{DatasetID: datasetID, HowMany: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("finding somebody to read a model as: %w", postgres.Translate(err))
	}
	return ids, nil
}

// InUse returns the datasets that somebody queried since a time and of which
// nobody has tried to read some part since another.
func (s *Store) InUse(ctx context.Context, queriedSince, notReadSince time.Time) ([]string, error) {
	p := db.ModelsInUseParams{Since: queriedSince, ReadBefore: notReadSince, Parts: int32(len(knowledge.ModelParts()))}
	ids, err := db.New(s.pool).ModelsInUse(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("finding models in use: %w", postgres.Translate(err))
	}
	return ids, nil
}
