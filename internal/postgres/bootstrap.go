package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Keys of the advisory locks, which are taken so that two processes that start
// at once do not trip over each other. The values mean nothing.
const (
	bootstrapLock = 0x70626d62_0001
	migrateLock   = 0x70626d62_0002
)

// Bootstrap makes what the first migration needs and only a superuser can
// make: the roles, the database with its owner, and the extension. What is
// there already is left as it is. Roles are made without a password.
func Bootstrap(ctx context.Context, superuserURL, database string) error {
	conn, err := pgx.Connect(ctx, superuserURL)
	if err != nil {
		return fmt.Errorf("bootstrapping: %w", Translate(err))
	}
	defer conn.Close(context.WithoutCancel(ctx))

	// Roles and databases belong to the cluster, and so must the lock: it is
	// taken in whatever database the URL names and let go with the connection.
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(bootstrapLock)); err != nil {
		return fmt.Errorf("bootstrapping: %w", Translate(err))
	}
	if err := createRoles(ctx, conn); err != nil {
		return fmt.Errorf("creating the roles: %w", Translate(err))
	}
	if err := createDatabase(ctx, conn, database); err != nil {
		return fmt.Errorf("creating the database %s: %w", database, Translate(err))
	}

	config := conn.Config()
	config.Database = database
	inside, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("creating the extension: %w", Translate(err))
	}
	defer inside.Close(context.WithoutCancel(ctx))
	if _, err := inside.Exec(ctx, "create extension if not exists vector"); err != nil {
		return fmt.Errorf("creating the extension: %w", Translate(err))
	}
	return nil
}

// createRoles makes the roles. The api and the worker are members of
// audit_writer without inheriting, so that they write the audit only after
// they have switched to it (AUTHZ-21).
func createRoles(ctx context.Context, conn *pgx.Conn) error {
	for _, role := range []struct {
		name   Role
		create string
	}{
		{Migrator, "create role migrator login"},
		{AuditWriter, "create role audit_writer login"},
		{API, "create role api_rw login noinherit in role audit_writer"},
		{Worker, "create role worker_rw login noinherit in role audit_writer"},
	} {
		var exists bool
		if err := conn.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1)", role.name).Scan(&exists); err != nil {
			return err
		}
		if exists {
			continue
		}
		if _, err := conn.Exec(ctx, role.create); err != nil {
			return err
		}
	}
	return nil
}

func createDatabase(ctx context.Context, conn *pgx.Conn, database string) error {
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", database).Scan(&exists); err != nil {
		return err
	}
	name := pgx.Identifier{database}.Sanitize()
	if !exists {
		if _, err := conn.Exec(ctx, "create database "+name+" owner migrator template template0 encoding 'UTF8'"); err != nil {
			return err
		}
	}
	return GrantDatabase(ctx, conn, database)
}

// GrantDatabase lets the roles, and nobody else below a superuser, into a
// database. These rights belong to the database and not to what is in it, so a
// clone does not inherit them.
func GrantDatabase(ctx context.Context, conn *pgx.Conn, database string) error {
	name := pgx.Identifier{database}.Sanitize()
	for _, statement := range []string{
		"revoke all on database " + name + " from public",
		"grant connect on database " + name + " to api_rw, worker_rw, audit_writer",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return Translate(err)
		}
	}
	return nil
}
