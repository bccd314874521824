// Package audit appends to the records of who saw or changed what. They are
// written as the role audit_writer, which may insert and nothing else, inside
// the transaction whose work they tell of: both are kept or neither.
package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/requestid"
	"github.com/pbmb/pbmb/policies"
)

// An Outcome is how it ended.
type Outcome string

const (
	Allow  Outcome = "allow"
	Deny   Outcome = "deny"
	Failed Outcome = "error"
)

// An Event is what somebody did or was refused.
type Event struct {
	Action  string // the operation or event, such as mark_pii
	Outcome Outcome
	Element string         // what it was done to
	Reason  string         // of a refusal: its kind
	Detail  map[string]any // references and counts, never values
}

// A Query is one DAX query that was run for somebody, or refused.
type Query struct {
	DatasetID string
	DAX       string
	Purpose   string
	Outcome   string // done, or the kind of the error
	Rows      *int   // nil where there was no result
	Duration  time.Duration
	RanAs     string // the object id under whose rights it ran
}

// Write appends e, done by p, to the audit in the caller's transaction.
func Write(ctx context.Context, tx pgx.Tx, p *policies.Principal, e Event) error {
	detail := e.Detail
	if detail == nil {
		detail = map[string]any{}
	}
	err := asAuditWriter(ctx, tx, `
		insert into audit_event (principal_kind, principal_id, principal_name, via, client_id, credential, address, request_id,
			action, outcome, element, reason, detail)
		values (@principal_kind, @principal_id, @principal_name, @via, @client_id, @credential, @address, @request_id,
			@action, @outcome, @element, @reason, @detail)`,
		pgx.NamedArgs{
			"principal_kind": p.Kind,
			"principal_id":   p.ID,
			"principal_name": p.Label(),
			"via":            p.Via,
			"client_id":      p.ClientID,
			"credential":     p.Credential,
			"address":        p.Address,
			"request_id":     requestid.FromContext(ctx),
			"action":         e.Action,
			"outcome":        e.Outcome,
			"element":        e.Element,
			"reason":         e.Reason,
			"detail":         detail,
		})
	if err != nil {
		return fmt.Errorf("auditing %s: %w", e.Action, err)
	}
	return nil
}

// WriteQuery appends q, asked by p, to the query log in the caller's
// transaction.
func WriteQuery(ctx context.Context, tx pgx.Tx, p *policies.Principal, q Query) error {
	err := asAuditWriter(ctx, tx, `
		insert into query_log (principal_id, via, client_id, dataset_id, dax, purpose, outcome, rows, milliseconds, request_id, ran_as)
		values (@principal_id, @via, @client_id, @dataset_id, @dax, @purpose, @outcome, @rows, @milliseconds, @request_id, @ran_as)`,
		pgx.NamedArgs{
			"principal_id": p.ID,
			"via":          p.Via,
			"client_id":    p.ClientID,
			"dataset_id":   q.DatasetID,
			"dax":          q.DAX,
			"purpose":      q.Purpose,
			"outcome":      q.Outcome,
			"rows":         q.Rows,
			"milliseconds": q.Duration.Milliseconds(),
			"request_id":   requestid.FromContext(ctx),
			"ran_as":       q.RanAs,
		})
	if err != nil {
		return fmt.Errorf("logging a query: %w", err)
	}
	return nil
}

// asAuditWriter runs one insert as audit_writer, in one round trip, and gives
// the role back. Where the insert fails, the transaction is over and the role
// with it.
func asAuditWriter(ctx context.Context, tx pgx.Tx, insert string, args pgx.NamedArgs) error {
	var batch pgx.Batch
	batch.Queue("set local role audit_writer")
	batch.Queue(insert, args)
	batch.Queue("set local role none")
	return postgres.Translate(tx.SendBatch(ctx, &batch).Close())
}

// A Writer appends what belongs to no other transaction, above all refusals.
type Writer struct {
	db postgres.Beginner
}

// NewWriter returns a writer on the pool of the api or the worker.
func NewWriter(db postgres.Beginner) *Writer { return &Writer{db: db} }

// Write appends e, done by p, in a transaction of its own.
func (w *Writer) Write(ctx context.Context, p *policies.Principal, e Event) error {
	return postgres.Tx(ctx, w.db, func(tx pgx.Tx) error { return Write(ctx, tx, p, e) })
}

// WriteQuery appends q, asked by p, in a transaction of its own.
func (w *Writer) WriteQuery(ctx context.Context, p *policies.Principal, q Query) error {
	return postgres.Tx(ctx, w.db, func(tx pgx.Tx) error { return WriteQuery(ctx, tx, p, q) })
}
