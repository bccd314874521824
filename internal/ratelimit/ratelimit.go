// Package ratelimit counts how often somebody did something, in the database,
// so that a count holds across restarts and over all instances.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pbmb/pbmb/internal/postgres"
)

// Longest is the longest window that a rule may have, and the age at which
// counts are deleted.
const Longest = 24 * time.Hour

// A Rule is how often one subject may do something. Windows begin at multiples
// of their length, the same for all subjects.
type Rule struct {
	name   string
	most   int
	window time.Duration
}

// NewRule declares a rule. One whose window is longer than counts are kept is
// an error, as it would be cut short without anybody noticing.
func NewRule(name string, most int, window time.Duration) (Rule, error) {
	switch {
	case name == "":
		return Rule{}, errors.New("a rate limit without a name")
	case most < 1:
		return Rule{}, fmt.Errorf("the rate limit %s allows %d", name, most)
	case window < time.Second || window > Longest:
		return Rule{}, fmt.Errorf("the rate limit %s has a window of %s: from a second to %s is possible", name, window, Longest)
	}
	return Rule{name, most, window}, nil
}

// A DB is what counting needs of a pool.
type DB interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// A Limiter counts.
type Limiter struct {
	db  DB
	now func() time.Time
}

// New returns a limiter on the api's pool.
func New(db DB, now func() time.Time) *Limiter { return &Limiter{db: db, now: now} }

// A count at its limit is left alone, so that somebody who keeps asking costs
// a read and not a write, and a limit that is raised applies from there.
const take = `
	insert into request_rate (rule, subject, window_start, count) values ($1, $2, $3, 1)
	on conflict (rule, subject, window_start) do update set count = request_rate.count + 1
	where request_rate.count < $4
	returning count`

// Take counts one more of rule by subject, which is an id or a client's
// address, and reports whether it is within the limit; if not, after how long
// it may be tried again. The count is kept whatever becomes of the request.
func (l *Limiter) Take(ctx context.Context, rule Rule, subject string) (ok bool, retry time.Duration, err error) {
	now := l.now()
	start := now.Truncate(rule.window)
	var count int
	err = postgres.Translate(l.db.QueryRow(ctx, take, rule.name, network(subject), start, rule.most).Scan(&count))
	switch {
	case errors.Is(err, postgres.ErrNotFound): // the update's condition did not hold
		return false, start.Add(rule.window).Sub(now), nil
	case err != nil:
		return false, 0, fmt.Errorf("counting %s: %w", rule.name, err)
	}
	return true, 0, nil
}

// Count is [Limiter.Take] for a rule that is declared where it is used.
func (l *Limiter) Count(ctx context.Context, name, subject string, most int, window time.Duration) (ok bool, retry time.Duration, err error) {
	rule, err := NewRule(name, most, window)
	if err != nil {
		return false, 0, err
	}
	return l.Take(ctx, rule, subject)
}

// Allow is [Limiter.Count] by the minute.
func (l *Limiter) Allow(ctx context.Context, name, subject string, perMinute int) (ok bool, retry time.Duration, err error) {
	return l.Count(ctx, name, subject, perMinute, time.Minute)
}

// network is the subject itself, unless it is an IPv6 address: then its /64,
// which is the least that one customer of a provider is given to choose from.
func network(subject string) string {
	addr, err := netip.ParseAddr(subject)
	if err != nil || !addr.Is6() || addr.Is4In6() {
		return subject
	}
	prefix, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return subject
	}
	return prefix.String()
}

// DeleteOld deletes the counts that no window reaches any more, on the
// worker's pool, and returns how many there were.
func DeleteOld(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}, now time.Time) (int64, error) {
	tag, err := db.Exec(ctx, "delete from request_rate where window_start < $1", now.Add(-Longest))
	if err != nil {
		return 0, fmt.Errorf("deleting old rate counts: %w", postgres.Translate(err))
	}
	return tag.RowsAffected(), nil
}
