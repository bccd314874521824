// Package postgres is what every process knows of the database: its roles, its
// migrations, how a pool is opened for one role, and what its errors mean. The
// queries live with the packages that own the tables.
package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A Role is one of the database roles. They have the same names in every
// deployment, since the migrations grant to them by name.
type Role string

const (
	Migrator    Role = "migrator"     // owns everything and runs migrations, nothing else
	API         Role = "api_rw"       // the api's
	Worker      Role = "worker_rw"    // the worker's
	AuditWriter Role = "audit_writer" // inserts into the audit and the query log, nothing else
)

// defaultMaxConns is how many connections a pool has at most where its URL says
// nothing (pool_max_conns).
const defaultMaxConns = 16

// Open returns a pool of connections that log in as role, after one of them
// has answered. A URL that names another role is refused, so that no process
// ends up with rights that are not its own.
func Open(ctx context.Context, url string, role Role) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The parser's error repeats the URL, though without its password.
		return nil, fmt.Errorf("the database address of %s is not a PostgreSQL URL", role)
	}
	if user := config.ConnConfig.User; user != string(role) {
		return nil, fmt.Errorf("the database address of %s names the role %q", role, user)
	}
	// A request waits for the database several times over; with fewer connections
	// than requests in flight, it would wait for others' turns as well.
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	// A statement is planned once for each connection: planning ours anew for each
	// call, as the server does by default where a list is among the arguments,
	// costs several times what running them does. JIT never pays for so short ones.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the database as %s: %w", role, Translate(err))
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening the database as %s: %w", role, Translate(err))
	}
	return pool, nil
}

// A Beginner starts transactions: a pool, a connection, or a transaction, in
// which the new one is a savepoint.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Tx runs f in a transaction, which is committed when f returns nil and rolled
// back otherwise. Errors of the database come back as [Translate] gives them.
func Tx(ctx context.Context, db Beginner, f func(pgx.Tx) error) error {
	return Translate(pgx.BeginFunc(ctx, db, f))
}
