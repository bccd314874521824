// Package bookchange keeps the history of the book: one row for each change, and
// nothing ever rewrites one. [Record] is the only way in; [Log] is how the worker
// learns what changed since it last looked.
package bookchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/waitingjob"
	"github.com/pbmb/pbmb/policies"
)

// An Element is something of the book.
type Element struct {
	Kind string // such as metric or term
	ID   string
}

// embed is the job that follows every change. Nobody chooses anything of it.
var embed = waitingjob.Job{Kind: "embed", Queue: "worker", Args: `{"changes_only": true}`}

// Record keeps in tx, which makes the change, what somebody changed of an element:
// its values before and after, each nil where there were none. It queues the job
// that brings the search up to date, of which one waits at most; a run that begins
// after tx has committed sees the change. Call it last in tx.
func Record(ctx context.Context, tx pgx.Tx, by *policies.Principal, e Element, before, after any) error {
	old, err := values(before)
	if err != nil {
		return fmt.Errorf("recording a change of %s %s: %w", e.Kind, e.ID, err)
	}
	fresh, err := values(after)
	if err != nil {
		return fmt.Errorf("recording a change of %s %s: %w", e.Kind, e.ID, err)
	}
	_, err = tx.Exec(ctx, `
		insert into book_change (principal_kind, principal_id, principal_name, via, client_id, element_kind, element_id, before, after)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		by.Kind, by.ID, by.Label(), by.Via, by.ClientID, e.Kind, e.ID, old, fresh)
	if err != nil {
		return fmt.Errorf("recording a change of %s %s: %w", e.Kind, e.ID, postgres.Translate(err))
	}
	return waitingjob.Queue(ctx, tx, embed)
}

func values(of any) (*string, error) {
	if of == nil {
		return nil, nil
	}
	b, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	s := string(b)
	return &s, nil
}

// A Log reads changes, each once, for one reader: the worker's job.
type Log struct{ pool *pgxpool.Pool }

// NewLog returns the log over a pool of the role worker_rw.
func NewLog(pool *pgxpool.Pool) *Log { return &Log{pool} }

// Unread is what a reader has not seen yet.
type Unread struct {
	Elements []Element // what changed, each once, in the order of its first change

	seen string // the snapshot of this look
}

const (
	unread = `
		select element_kind, element_id from book_change
		group by element_kind, element_id order by min(id)`

	// A transaction beyond this database's own is of the one that it was restored
	// from, and was read when the reader started anew.
	unreadSince = `
		select element_kind, element_id from book_change
		where transaction_id >= pg_snapshot_xmin($1::text::pg_snapshot)
			and transaction_id < pg_snapshot_xmax(pg_current_snapshot())
			and not pg_visible_in_snapshot(transaction_id, $1::text::pg_snapshot)
		group by element_kind, element_id order by min(id)`
)

// Unread returns what was changed by transactions that had not ended when the
// reader last looked. Ids and times would not do: a change of an earlier one may be
// committed later. The reader's place is a snapshot, which knows the transactions
// that were in flight, so none is stepped over and none is given twice.
func (l *Log) Unread(ctx context.Context) (u Unread, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, l.pool, options, func(tx pgx.Tx) error {
		var before string
		err := tx.QueryRow(ctx, `
			select pg_current_snapshot()::text, coalesce((
				-- A place that lies ahead is of the database that this one was restored from.
				select value from search_state where name = 'book_change' and pg_snapshot_xmax(value::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
			), '')`).Scan(&u.seen, &before)
		if err != nil {
			return err
		}
		query, args := unread, []any{}
		if before != "" {
			query, args = unreadSince, []any{before}
		}
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		u.Elements, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Element])
		return err
	})
	if err != nil {
		return Unread{}, fmt.Errorf("reading what changed in the book: %w", postgres.Translate(err))
	}
	return u, nil
}

// Seen moves the reader's place behind what it was given.
func (l *Log) Seen(ctx context.Context, u Unread) error {
	if u.seen == "" {
		return errors.New("moving behind changes that nobody read")
	}
	_, err := l.pool.Exec(ctx, `
		insert into search_state (name, value) values ('book_change', $1)
		on conflict (name) do update set value = excluded.value, changed_at = now()`, u.seen)
	if err != nil {
		return fmt.Errorf("moving behind what changed in the book: %w", postgres.Translate(err))
	}
	return nil
}
