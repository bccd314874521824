// Package query runs DAX under a person's own Power BI rights. It takes a query
// that is visible and allowed (the guard has seen to that) through the rest of
// one order: analysis for personal data, the person's token, Power BI, the check
// of the answer, the log. A refusal at any step makes no later step happen.
package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/policies"
)

var (
	// ErrNotConnected is returned for a person without a Power BI connection.
	ErrNotConnected = errors.New("no Power BI account is connected")

	// ErrServiceAccount is returned for a caller who is no person: tokens are people's,
	// and another's id may equal a person's.
	ErrServiceAccount = errors.New("a service account runs no queries")

	// ErrNeedsReconnect is returned where Microsoft no longer accepts the connection.
	ErrNeedsReconnect = errors.New("the Power BI connection needs to be made again")
)

// A RefusedError says that a query was refused before Power BI was called, or its
// answer before anything of it was kept.
type RefusedError struct {
	Elements []string // references in the model's spelling
	Sentence string
	Cause    string // names the rule that refused, for the audit
}

func (e *RefusedError) Error() string { return e.Sentence }

// An UpstreamError is what Power BI answered instead of rows.
type UpstreamError struct {
	Status     int
	Code       string        // Power BI's own
	Message    string        // Power BI's own; text of others, to be shown apart
	RetryAfter time.Duration // of a throttled query
}

// Error leaves the message out: it may quote values, and errors go to the log.
func (e *UpstreamError) Error() string {
	return fmt.Sprintf("power bi answered %d %s", e.Status, e.Code)
}

// Tokens gives a person's own Power BI token.
type Tokens interface {
	// Token returns an access token for Power BI, and the object id and name of the
	// account whose rights it carries. Errors wrap ErrNotConnected,
	// ErrNeedsReconnect or an [*UpstreamError].
	Token(ctx context.Context, personID string) (Token, error)
}

// A Token is a person's access token and whose account it speaks for.
type Token struct {
	Access   string
	ObjectID string
	Account  string
}

// PowerBI runs queries.
type PowerBI interface {
	// ExecuteQuery runs dax under token. Errors are [*UpstreamError] where Power BI
	// answered one.
	ExecuteQuery(ctx context.Context, token, datasetID, dax string) (*Rows, error)

	// LastRefresh returns when the dataset's last completed refresh ended; ok is
	// false where Power BI does not tell.
	LastRefresh(ctx context.Context, token, datasetID string) (ended time.Time, ok bool, err error)
}

// Rows is what Power BI answered: the cells are string, bool, json.Number or nil.
type Rows struct {
	Columns []string // keys as Power BI gives them: Table[Column] or [Name]
	Rows    [][]any
	Cut     string // why Power BI cut the answer; empty where it did not
}

// Models gives what the mirror knows.
type Models interface {
	// Model returns a dataset's tables, columns and measures, with what was read
	// under people's tokens.
	Model(ctx context.Context, datasetID string) (*knowledge.Model, error)

	// Rules returns every rule on personal data.
	Rules(ctx context.Context) ([]pii.Rule, error)

	// CanEdit reports whether one of the object ids may edit the dataset's
	// workspace, to whom row-level security does not apply.
	CanEdit(ctx context.Context, datasetID string, objectIDs []string) (bool, error)
}

// A ModelReader reads at once what the scanner does not give of a model, where a
// check depends on it and it is not known yet.
type ModelReader interface {
	// ReadModel reads as the person first. Errors wrap ErrNotConnected or
	// ErrNeedsReconnect where the person's own query could not run either; after any
	// other the model is as well known as it can be now.
	ReadModel(ctx context.Context, personID, datasetID string) error
}

// An Entry is what the log keeps of a query.
type Entry struct {
	DatasetID, DAX, Purpose, Outcome string
	RanAs                            string // object id of the account; empty where it got to none
	Rows                             *int   // nil where there was no result
	Took                             time.Duration
	PII                              []string // what of it is personal data, where a reader of it asked
}

// Log keeps queries.
type Log interface {
	LogQuery(context.Context, *policies.Principal, Entry) error
}

// Settings are read anew for each query.
type Settings interface {
	Read(context.Context) (setting.Values, error)
}

// A Request is one query of one person.
type Request struct {
	Principal *policies.Principal
	Dataset   *knowledge.Dataset
	DAX       string
	Purpose   string
}

// RowSecurity says whether row-level security filtered what the account saw.
type RowSecurity string

const (
	Filtered       RowSecurity = "yes"
	EditsWorkspace RowSecurity = "no, the account can edit the workspace"
	NotDefined     RowSecurity = "not defined"
	Unknown        RowSecurity = "unknown"
)

// A Column of a result.
type Column struct {
	Name string
	Type knowledge.DataType // empty where no cell tells
}

// A Result is the answer to a query.
type Result struct {
	Columns     []Column
	Rows        [][]any
	Cut         string    // why the answer is not whole; empty where it is
	DataAt      time.Time // when the data was last refreshed; zero where not known
	RanAs       string    // name of the account
	RowSecurity RowSecurity
}

// A Runner runs queries. All fields are needed.
type Runner struct {
	Models   Models
	Reader   ModelReader
	Tokens   Tokens
	PowerBI  PowerBI
	Log      Log
	Settings Settings
	Now      func() time.Time
}

// Run runs one query and logs it, whatever its outcome.
func (r *Runner) Run(ctx context.Context, q Request) (*Result, error) {
	start := r.Now()
	settings, err := r.Settings.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading how long a query may take: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, settings.Query.Timeout())
	defer cancel()
	entry := Entry{DatasetID: q.Dataset.ID, DAX: q.DAX, Purpose: q.Purpose}

	result, token, found, err := r.run(ctx, q, settings.PII)
	entry.PII = found.read
	entry.Outcome, entry.RanAs, entry.Took = outcome(err), token.ObjectID, r.Now().Sub(start)
	if result != nil {
		entry.Rows = new(len(result.Rows))
	}
	// The row is kept even when the caller has gone away.
	if logErr := r.Log.LogQuery(context.WithoutCancel(ctx), q.Principal, entry); logErr != nil {
		return nil, fmt.Errorf("logging a query: %w", logErr)
	}
	return result, err
}

func (r *Runner) run(ctx context.Context, q Request, values setting.PII) (*Result, Token, check, error) {
	model, err := r.Models.Model(ctx, q.Dataset.ID)
	if err != nil {
		return nil, Token{}, check{}, fmt.Errorf("reading the model of a dataset: %w", err)
	}
	found, err := r.analyse(ctx, q, model, values)
	if err != nil {
		return nil, Token{}, check{}, err
	}
	if q.Principal.Kind != policies.Person {
		return nil, Token{}, check{}, ErrServiceAccount
	}
	token, err := r.Tokens.Token(ctx, q.Principal.ID)
	if err != nil {
		return nil, Token{}, check{}, fmt.Errorf("getting the person's token: %w", err)
	}
	rows, err := r.PowerBI.ExecuteQuery(ctx, token.Access, q.Dataset.ID, q.DAX)
	if err != nil {
		return nil, token, found, found.clean(err)
	}
	if err := found.header(rows.Columns); err != nil {
		return nil, token, found, err
	}
	result := &Result{Columns: columns(model, rows), Rows: rows.Rows, Cut: rows.Cut, RanAs: token.Account}
	// The rows are good without the time of the data: the answer says that it is not known.
	if ended, ok, err := r.PowerBI.LastRefresh(ctx, token.Access, q.Dataset.ID); err == nil && ok {
		result.DataAt = ended
	}
	result.RowSecurity, err = r.rowSecurity(ctx, q, token)
	return result, token, found, err
}

func (r *Runner) rowSecurity(ctx context.Context, q Request, token Token) (RowSecurity, error) {
	switch {
	case q.Dataset.SchemaError != "":
		return Unknown, nil // no scan told whether there are roles
	case !q.Dataset.HasRowSecurity:
		return NotDefined, nil
	}
	edits, err := r.Models.CanEdit(ctx, q.Dataset.ID, append([]string{token.ObjectID}, q.Principal.ObjectIDs...))
	if err != nil {
		return Unknown, fmt.Errorf("reading who may edit: %w", err)
	}
	if edits {
		return EditsWorkspace, nil
	}
	return Filtered, nil
}

func outcome(err error) string {
	_, isRefused := errors.AsType[*RefusedError](err)
	upstream, isUpstream := errors.AsType[*UpstreamError](err)
	switch {
	case err == nil:
		return "done"
	case isRefused:
		return "pii_refused"
	case isUpstream && upstream.Status == http.StatusTooManyRequests:
		return "throttled"
	case isUpstream:
		return "upstream"
	case errors.Is(err, ErrNotConnected):
		return "connection_required"
	case errors.Is(err, ErrNeedsReconnect):
		return "reconnect_required"
	case errors.Is(err, ErrServiceAccount):
		return "forbidden"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "internal"
}
