package store

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/recent"
	"github.com/pbmb/pbmb/internal/revision"
	"github.com/pbmb/pbmb/knowledge/visibility"
)

// rows runs a constant text, completed by view, and scans each row into a T by
// the names of its fields' db tags.
func rows[T any](ctx context.Context, s *Store, view *visibility.View, text string, args pgx.NamedArgs) ([]T, error) {
	sql, all := view.Statement(text, args)
	return collect[T](ctx, s, sql, all)
}

func collect[T any](ctx context.Context, s *Store, sql string, args []any) ([]T, error) {
	found, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	out, err := pgx.CollectRows(found, pgx.RowToStructByName[T])
	return out, postgres.Translate(err)
}

// A statement is what was asked, whole: the SQL, in which the caller's conditions
// are, and every argument.
type statement struct{ sql, args string }

// An answer is the rows of a statement, as of two revisions.
type answer struct {
	tenant, pii revision.Revision
	rows        any // []T
	weight      int // bytes
}

// keptAnswers is how much of answers is kept, in bytes.
const keptAnswers = 32 << 20

func newRead() *recent.Map[statement, answer] {
	return recent.New(keptAnswers, func(q statement, a answer) int { return len(q.sql) + len(q.args) + a.weight })
}

// A weigher knows how long its texts are, in bytes.
type weigher interface{ weight() int }

// keptRows is [rows] for a text that reads the mirror and the rules on personal data
// and nothing else, not even a clock. The same statement then has the same answer
// for as long as neither has changed, as of the moment at which view's caller was
// read; who asks matters by the conditions alone, and they are part of the statement.
func keptRows[T weigher](ctx context.Context, s *Store, view *visibility.View, text string, args pgx.NamedArgs) ([]T, error) {
	sql, all := view.Statement(text, args)
	asOf := view.AsOf()
	encoded, ok := encode(all)
	if !ok || !asOf.Known() {
		return collect[T](ctx, s, sql, all)
	}
	asked := statement{sql, encoded}
	if a, ok := s.read.Get(asked); ok && a.tenant == asOf.Tenant && a.pii == asOf.PII {
		return slices.Clone(a.rows.([]T)), nil
	}
	out, err := collect[T](ctx, s, sql, all)
	if err != nil {
		return nil, err
	}
	a := answer{tenant: asOf.Tenant, pii: asOf.PII, rows: slices.Clone(out)}
	for _, row := range out {
		a.weight += row.weight()
	}
	s.read.Put(asked, a)
	return out, nil
}

// encode writes arguments so that different ones differ; it reports whether it knows
// all their types.
func encode(args []any) (string, bool) {
	b := make([]byte, 0, 256)
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			b = encodeText(append(b, 's'), v)
		case int:
			b = binary.AppendVarint(append(b, 'i'), int64(v))
		case []string:
			b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
			for _, e := range v {
				b = encodeText(b, e)
			}
		default:
			return "", false
		}
	}
	return string(b), true
}

func encodeText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
