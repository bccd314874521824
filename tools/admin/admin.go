// Package admin has the operations that run the deployment: its audit, and
// what people let clients and this deployment do for them.
package admin

import (
	"context"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/tools/operation"
)

// Audit reads the audit.
type Audit interface {
	ListAudit(context.Context, knowledge.AuditFilter, knowledge.Range) ([]knowledge.AuditRow, int, error)
}

// A Grant is one Allow that somebody gave to a client.
type Grant struct {
	ID         string
	PersonID   string
	Person     string // their email
	ClientID   string
	ClientName string // as the client claims
	Registered string // how the client came: registered, metadata_document or built_in
	Scopes     []string
	CreatedAt  time.Time
	LastUsedAt time.Time
}

// Grants keeps what people let clients do. Every write audits in its own
// transaction.
type Grants interface {
	// ListGrants lists standing grants, of one person by email or id, or of all.
	ListGrants(ctx context.Context, person string, r knowledge.Range) ([]Grant, int, error)
	// RevokeGrant ends one, or returns [knowledge.ErrNotFound].
	RevokeGrant(ctx context.Context, by *policies.Principal, id string) error
}

// A Connection is somebody's Power BI connection.
type Connection struct {
	PersonID     string
	Person       string // their email
	State        string // connected, needs_reconnect or disconnected
	Account      string
	ConnectedAt  time.Time
	GroupsReadAt time.Time // zero where they are not read
}

// Connections keeps people's Power BI connections. Every write audits in its own
// transaction.
type Connections interface {
	ListConnections(context.Context, knowledge.Range) ([]Connection, int, error)
	// RevokeConnection ends a person's, or returns [knowledge.ErrNotFound].
	RevokeConnection(ctx context.Context, by *policies.Principal, personID string) error
}

// Operations returns every operation of this package.
func Operations(a Audit, g Grants, c Connections) []*operation.Def {
	return []*operation.Def{
		ListAudit(a), ListGrants(g), RevokeGrant(g), ListConnections(c), RevokeConnection(c),
	}
}
