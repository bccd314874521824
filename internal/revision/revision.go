// Package revision tells whether what was read from the database can have changed
// since, so that it may be kept in memory for exactly as long as it cannot. That is
// asked of the database, in one small statement for each request: nothing is told to
// a process that it could miss.
//
// Triggers keep the table revision (migration 0008). Whoever keeps something reads
// the revisions first, or in the same statement, and keeps it under these: then it is
// at least as new as they say.
package revision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
)

// A Revision is the state of one subject: equal ones mean that nothing was committed
// in between. It is not for showing.
type Revision string

// Revisions are those that the answer to one request can depend on. The zero value is
// what is not known: nothing is kept under it.
type Revisions struct {
	known bool

	Person Revision // one person: identity, sign-ins, connection; their sessions and grants
	Roles  Revision // all role assignments
	Tenant Revision // the mirror: datasets, what is in them, and who reaches them
	PII    Revision // the rules on personal data
}

// Known reports whether r was read at all.
func (r Revisions) Known() bool { return r.known }

// A DB is what reading needs of a pool.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const read = `
select subject || ' ' || id from revision where subject = any(array['roles', 'tenant', 'pii', 'person:' || $1])`

// Read returns the revisions as of now, for the person of the given id.
func Read(ctx context.Context, db DB, personID string) (Revisions, error) {
	rows, err := db.Query(ctx, read, personID)
	if err != nil {
		return Revisions{}, fmt.Errorf("reading revisions: %w", postgres.Translate(err))
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return Revisions{}, fmt.Errorf("reading revisions: %w", postgres.Translate(err))
	}
	return Of(texts), nil
}

// Of returns the revisions that the rows of the table amount to: for each its subject,
// a space and its id, all those of the subjects that [Revisions] has, in any order.
func Of(rows []string) Revisions {
	slices.Sort(rows)
	r := Revisions{known: true}
	for _, row := range rows {
		subject, id, _ := strings.Cut(row, " ")
		switch subject {
		case "roles":
			r.Roles += Revision(id)
		case "tenant":
			r.Tenant += Revision(id)
		case "pii":
			r.PII += Revision(id)
		default:
			r.Person += Revision(id)
		}
	}
	return r
}
