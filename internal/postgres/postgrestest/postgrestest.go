// Package postgrestest gives each test a database of its own on a real
// PostgreSQL, cloned from one that was bootstrapped and migrated once.
//
// A package whose tests use it has
//
//	func TestMain(m *testing.M) { postgrestest.Main(m) }
//
// The cluster is private to the process, and stops with it, unless the
// environment variable PBMB_TEST_POSTGRES has a superuser's address of a
// running one that several packages share.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/cluster"
	"github.com/pbmb/pbmb/internal/process"
)

// SharedVariable names the environment variable with the address of a cluster
// that is there already.
const SharedVariable = "PBMB_TEST_POSTGRES"

// server is the cluster of this process: the one piece of state that its tests
// share, since to start one takes a second.
var server struct {
	once      sync.Once
	err       error
	superuser string // URL
	template  string // name of the migrated database
	stop      func()
}

// Main runs the tests of a package and stops the cluster that they started.
func Main(m *testing.M) {
	code := m.Run()
	if server.stop != nil {
		server.stop()
	}
	os.Exit(code)
}

// A Database is a migrated database for one test.
type Database struct {
	t    testing.TB
	name string

	mu    sync.Mutex
	pools map[postgres.Role]*pgxpool.Pool
}

// New gives the test a database, which goes away with it.
func New(t testing.TB) *Database {
	t.Helper()
	ready(t)
	return clone(t, server.template)
}

// NewEmpty gives the test a database that was bootstrapped but not migrated.
func NewEmpty(t testing.TB) *Database {
	t.Helper()
	ready(t)
	db := &Database{t: t, name: uniqueName("empty"), pools: map[postgres.Role]*pgxpool.Pool{}}
	if err := postgres.Bootstrap(t.Context(), server.superuser, db.name); err != nil {
		t.Fatal(err)
	}
	db.registerDrop()
	return db
}

// ready sees to it that there is a cluster with a template.
func ready(t testing.TB) {
	t.Helper()
	server.once.Do(func() { server.err = start(context.Background()) })
	if server.err != nil {
		t.Fatalf("no PostgreSQL for the tests: %v", server.err)
	}
}

// Name is the name of the database.
func (d *Database) Name() string { return d.name }

// URL is the address of the database for a role.
func (d *Database) URL(role postgres.Role) string { return address(string(role), d.name) }

// SuperuserURL is the address of the database for its superuser, who passes
// every grant and every policy: for what a test could not arrange otherwise.
func (d *Database) SuperuserURL() string { return address("", d.name) }

// Pool is the pool of a role, opened when it is first asked for.
func (d *Database) Pool(role postgres.Role) *pgxpool.Pool {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if pool, open := d.pools[role]; open {
		return pool
	}
	pool, err := postgres.Open(d.t.Context(), d.URL(role), role)
	if err != nil {
		d.t.Fatal(err)
	}
	d.pools[role] = pool
	return pool
}

// API is the pool of api_rw.
func (d *Database) API() *pgxpool.Pool { d.t.Helper(); return d.Pool(postgres.API) }

// Worker is the pool of worker_rw.
func (d *Database) Worker() *pgxpool.Pool { d.t.Helper(); return d.Pool(postgres.Worker) }

// Exec runs a statement as the superuser and fails the test when it fails.
func (d *Database) Exec(sql string, args ...any) {
	d.t.Helper()
	conn := d.connect()
	defer conn.Close(context.Background())
	if _, err := conn.Exec(d.t.Context(), sql, args...); err != nil {
		d.t.Fatalf("%v in %s", err, sql)
	}
}

// QueryRow scans the one row of a query, run as the superuser, into dest.
func (d *Database) QueryRow(sql string, args []any, dest ...any) {
	d.t.Helper()
	conn := d.connect()
	defer conn.Close(context.Background())
	if err := conn.QueryRow(d.t.Context(), sql, args...).Scan(dest...); err != nil {
		d.t.Fatalf("%v in %s", err, sql)
	}
}

func (d *Database) connect() *pgx.Conn {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.SuperuserURL())
	if err != nil {
		d.t.Fatal(err)
	}
	return conn
}

func clone(t testing.TB, template string) *Database {
	t.Helper()
	db := &Database{t: t, name: uniqueName("test"), pools: map[postgres.Role]*pgxpool.Pool{}}
	err := asSuperuser(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "create database "+db.name+" template "+template+" owner migrator")
		if err != nil {
			return err
		}
		return postgres.GrantDatabase(t.Context(), conn, db.name)
	})
	if err != nil {
		t.Fatalf("cloning a database: %v", err)
	}
	db.registerDrop()
	return db
}

// registerDrop closes the pools and drops the database after the test.
func (d *Database) registerDrop() {
	d.t.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, pool := range d.pools {
			pool.Close()
		}
		ctx := context.Background() // the test's own is over
		err := asSuperuser(ctx, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "drop database if exists "+d.name+" with (force)")
			return err
		})
		if err != nil {
			d.t.Logf("dropping %s: %v", d.name, err)
		}
	})
}

// start finds or starts the cluster and makes the template.
func start(ctx context.Context) error {
	server.superuser = os.Getenv(SharedVariable)
	if server.superuser == "" {
		started, stop, err := Start(ctx)
		if err != nil {
			return err
		}
		server.superuser, server.stop = started.SuperuserURL(), stop
	}
	server.template = uniqueName("template")
	if err := postgres.Bootstrap(ctx, server.superuser, server.template); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, address(string(postgres.Migrator), server.template)); err != nil {
		return err
	}
	if server.stop == nil { // a shared cluster stays: leave nothing in it
		server.stop = func() {
			// What is left behind goes with the cluster.
			_ = asSuperuser(ctx, func(conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, "drop database "+server.template+" with (force)")
				return err
			})
		}
	}
	return nil
}

// Start starts a cluster for tests in a temporary folder. Everything of it is
// gone after stop.
func Start(ctx context.Context) (_ *cluster.Cluster, stop func(), err error) {
	programs, err := cluster.Find()
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("/tmp", "pbmb-test-")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	account, err := process.Unprivileged()
	if err != nil {
		return nil, nil, err
	}
	if err := account.Give(folder); err != nil {
		return nil, nil, err
	}
	c, err := cluster.Start(ctx, cluster.Config{
		Programs:  programs,
		Data:      filepath.Join(folder, "data"),
		Sockets:   folder,
		Throwaway: true,
		Settings:  []string{"max_connections=400", "shared_buffers=64MB"},
	})
	if err != nil {
		return nil, nil, err
	}
	return c, func() {
		c.Stop()
		os.RemoveAll(folder)
	}, nil
}

func asSuperuser(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, server.superuser)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return f(conn)
}

// address is the superuser's address for another database and, unless it is
// empty, another role.
func address(role, database string) string {
	u, err := url.Parse(server.superuser)
	if err != nil {
		panic(fmt.Sprintf("%s is not an address: it should look like postgres://postgres@/postgres?host=/run/postgresql", SharedVariable))
	}
	if role != "" {
		u.User = url.User(role)
	}
	u.Path = "/" + database
	return u.String()
}

// uniqueName names a database that no other process on a shared cluster has.
func uniqueName(prefix string) string {
	return strings.ToLower("pbmb_" + prefix + "_" + rand.Text()[:16])
}
