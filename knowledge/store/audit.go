package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/query"
	"github.com/pbmb/pbmb/policies"
)

// auditFilter is the condition that both reads of the audit share. Empty
// arguments narrow nothing.
const auditFilter = `
from audit_event
where (@principal = '' or principal_id = @principal or lower(principal_name) = lower(@principal))
  and (@action = '' or action = @action)
  and (@outcome = '' or outcome = @outcome)
  and (@client = '' or client_id = @client)
  and (@since::timestamptz is null or at >= @since)
  and (@until::timestamptz is null or at < @until)`

const listAudit = `
select id, at, principal_kind, principal_id, principal_name, via, client_id, address, request_id, action, outcome, element, reason, detail
` + auditFilter + ` order by id desc offset @offset limit @limit`

const countAudit = `select count(*)` + auditFilter

// ListAudit returns one range of the audit, newest first, and how many rows match.
func (s *Store) ListAudit(ctx context.Context, f knowledge.AuditFilter, r knowledge.Range) ([]knowledge.AuditRow, int, error) {
	args := pgx.NamedArgs{
		"principal": f.Principal, "action": f.Action, "outcome": f.Outcome, "client": f.Client,
		"since": orNull(f.Since), "until": orNull(f.Until), "offset": r.Offset, "limit": r.Limit,
	}
	found, err := s.pool.Query(ctx, listAudit, args)
	if err != nil {
		return nil, 0, fmt.Errorf("reading the audit: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByName[knowledge.AuditRow])
	if err != nil {
		return nil, 0, fmt.Errorf("reading the audit: %w", postgres.Translate(err))
	}
	var total int
	if err := s.pool.QueryRow(ctx, countAudit, args).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("counting the audit: %w", postgres.Translate(err))
	}
	return list, total, nil
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// LogQuery keeps one query in the query log, and in the audit what personal data
// somebody who may read it used in it: the elements, and no value.
func (s *Store) LogQuery(ctx context.Context, p *policies.Principal, e query.Entry) error {
	entry := audit.Query{
		DatasetID: e.DatasetID, DAX: e.DAX, Purpose: e.Purpose, Outcome: e.Outcome, Rows: e.Rows, Duration: e.Took, RanAs: e.RanAs,
	}
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if err := audit.WriteQuery(ctx, tx, p, entry); err != nil || len(e.PII) == 0 {
			return err
		}
		return audit.Write(ctx, tx, p, audit.Event{
			Action: "read_pii", Outcome: audit.Allow, Element: e.DatasetID,
			Detail: map[string]any{"elements": e.PII, "outcome": e.Outcome},
		})
	})
	if err != nil {
		return fmt.Errorf("logging a query: %w", err)
	}
	return nil
}

// NoteConnector records, once a day for each client of a person, that it got
// through to the tools (MCP-15).
func (s *Store) NoteConnector(ctx context.Context, p *policies.Principal) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		// Two calls at once must not both find that there is none yet.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('connector.whoami ' || $1 || ' ' || $2, 0))`, p.ID, p.ClientID); err != nil {
			return err
		}
		var noted bool
		err := tx.QueryRow(ctx, `select exists (select from audit_event
			where action = 'connector.whoami' and principal_id = $1 and client_id = $2 and at >= date_trunc('day', now()))`,
			p.ID, p.ClientID).Scan(&noted)
		if err != nil || noted {
			return err
		}
		return audit.Write(ctx, tx, p, audit.Event{Action: "connector.whoami", Outcome: audit.Allow})
	})
	if err != nil {
		return fmt.Errorf("noting that a client got through: %w", err)
	}
	return nil
}
