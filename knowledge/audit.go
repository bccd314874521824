package knowledge

import "time"

// An AuditFilter narrows the audit. Empty fields narrow nothing.
type AuditFilter struct {
	Principal string // id or email
	Action    string
	Outcome   string
	Client    string
	Since     time.Time
	Until     time.Time
}

// An AuditRow is one row of the audit.
type AuditRow struct {
	ID            int64          `db:"id"`
	At            time.Time      `db:"at"`
	PrincipalKind string         `db:"principal_kind"`
	PrincipalID   string         `db:"principal_id"`
	PrincipalName string         `db:"principal_name"`
	Via           string         `db:"via"`
	ClientID      string         `db:"client_id"`
	Address       string         `db:"address"`
	RequestID     string         `db:"request_id"`
	Action        string         `db:"action"`
	Outcome       string         `db:"outcome"`
	Element       string         `db:"element"`
	Reason        string         `db:"reason"`
	Detail        map[string]any `db:"detail"`
}
