package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
)

// A Database is a pool of the api or the worker, or a transaction of one.
type Database interface {
	postgres.Beginner
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// A Store reads settings and, as the api, changes them.
type Store struct {
	db   Database
	base Base
}

// New returns a store over a pool or a transaction.
func New(db Database, base Base) *Store { return &Store{db, base} }

// Within returns a Store whose methods are part of tx.
func (s *Store) Within(tx pgx.Tx) *Store { return &Store{tx, s.base} }

// Read returns every setting as of now, in one statement.
func (s *Store) Read(ctx context.Context) (Values, error) {
	saved, err := s.saved(ctx)
	if err != nil {
		return Values{}, err
	}
	raw := make(map[string]json.RawMessage, len(saved))
	for _, r := range saved {
		raw[r.Key] = r.Value
	}
	return s.base.With(raw)
}

// A State is one setting, as an admin looks at it.
type State struct {
	Definition
	Value     string // as text; empty where there is none
	Source    Source
	Version   int64 // how often it was saved; what a change may be based on
	ChangedAt time.Time
	ChangedBy string // who saved it last
}

// A Source says where a value is from.
type Source string

const (
	FromDefault Source = "default"
	FromEnv     Source = "environment"
	FromSaved   Source = "saved"
)

type row struct {
	Key       string          `db:"key"`
	Value     json.RawMessage `db:"value"`
	Version   int64           `db:"version"`
	ChangedAt time.Time       `db:"changed_at"`
	ChangedBy string          `db:"changed_by"`
}

const columns = `key, value, version, changed_at, changed_by`

func (s *Store) saved(ctx context.Context) ([]row, error) {
	found, err := s.db.Query(ctx, `select `+columns+` from setting`)
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", postgres.Translate(err))
	}
	saved, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", postgres.Translate(err))
	}
	return saved, nil
}

// List returns every setting that can be changed, by key.
func (s *Store) List(ctx context.Context) ([]State, error) {
	saved, err := s.saved(ctx)
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]row, len(saved))
	for _, r := range saved {
		byKey[r.Key] = r
	}
	var states []State
	for _, d := range All() {
		states = append(states, s.state(d, byKey[d.Key]))
	}
	return states, nil
}

// Get returns one setting, or the error of [Find].
func (s *Store) Get(ctx context.Context, key string) (State, error) {
	if _, err := Find(key); err != nil {
		return State{}, err
	}
	states, err := s.List(ctx)
	if err != nil {
		return State{}, err
	}
	for _, state := range states {
		if state.Key == key {
			return state, nil
		}
	}
	return State{}, knowledge.ErrNotFound
}

func (s *Store) state(d Definition, saved row) State {
	state := State{Definition: d, Value: d.Default, Source: FromDefault}
	if given, found := s.base.given[d.Key]; found {
		state.Value, state.Source = d.text(given), FromEnv
	}
	if saved.Version > 0 {
		state.Value, state.Source = d.text(saved.Value), FromSaved
		state.Version, state.ChangedAt, state.ChangedBy = saved.Version, saved.ChangedAt, saved.ChangedBy
	}
	return state
}

// Set saves a setting, given as people write it, and audits it in one transaction.
// Where version is given and another than the setting's, it returns
// [knowledge.ErrConflict]; the other errors are those of [Find], an [*InvalidError]
// and [ErrOtherTenant].
func (s *Store) Set(ctx context.Context, by *policies.Principal, key, text string, version *int64) (state State, err error) {
	d, err := Find(key)
	if err != nil {
		return State{}, err
	}
	value, err := d.parse(text)
	if err != nil {
		return State{}, err
	}
	err = postgres.Tx(ctx, s.db, func(tx pgx.Tx) error {
		before, err := lock(ctx, tx, key)
		if err != nil {
			return err
		}
		if version != nil && *version != before.Version {
			return knowledge.ErrConflict
		}
		found, err := tx.Query(ctx, `
			insert into setting (key, value, changed_by) values (@key, @value, @by)
			on conflict (key) do update set value = excluded.value, version = setting.version + 1, changed_at = now(), changed_by = excluded.changed_by
			where setting.version = @version
			returning `+columns,
			pgx.NamedArgs{"key": key, "value": value, "by": by.Label(), "version": before.Version})
		if err != nil {
			return err
		}
		after, err := pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[row])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return knowledge.ErrConflict // somebody else saved it for the first time
		case isOtherTenant(err):
			return ErrOtherTenant
		case err != nil:
			return err
		}
		state = s.state(d, after)
		return audit.Write(ctx, tx, by, audit.Event{
			Action: "set_setting", Outcome: audit.Allow, Element: key,
			Detail: map[string]any{"before": s.state(d, before).Value, "after": state.Value, "version": after.Version},
		})
	})
	if err != nil {
		return State{}, fmt.Errorf("saving the setting %s: %w", key, err)
	}
	return state, nil
}

// lock returns what is saved for key, which stays so until tx ends. A row that is
// not there cannot be locked, and has version 0.
func lock(ctx context.Context, tx pgx.Tx, key string) (row, error) {
	found, err := tx.Query(ctx, `select `+columns+` from setting where key = $1 for update`, key)
	if err != nil {
		return row{}, err
	}
	saved, err := pgx.CollectExactlyOneRow(found, pgx.RowToStructByName[row])
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, nil
	}
	return saved, err
}

// isOtherTenant reports whether the database refused because of its tenant.
func isOtherTenant(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.ConstraintName == "setting_keeps_tenant"
}
