package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What callers tell apart, by errors.Is on an error that [Translate] returned.
var (
	// ErrUnavailable is returned when there is no database to ask: it is down,
	// restarting or full. The same request may succeed in a moment.
	ErrUnavailable = errors.New("the database is unavailable")

	// ErrDuplicate is returned when a row like the new one is there already.
	ErrDuplicate = errors.New("already there")

	// ErrConflict is returned when a concurrent transaction won. The whole
	// transaction may be tried again.
	ErrConflict = errors.New("a concurrent change came first")

	// ErrDenied is returned when the role has no right to what it tried.
	ErrDenied = errors.New("the database role may not do this")

	// ErrNotFound is returned when a query for one row finds none.
	ErrNotFound = errors.New("not found")
)

// An Error is a failure of the database, told without any value that a query
// carried: parameters may be ciphertext, verifiers or digests of keys.
type Error struct {
	Code       string // SQLSTATE; empty where PostgreSQL gave none
	Constraint string // the constraint that was violated, where one was

	text  string
	kind  error
	cause error
}

func (e *Error) Error() string { return e.text }

// Unwrap gives the sentinel, and the cause for those who look for its type.
// The cause's own text may repeat parameters: do not print it.
func (e *Error) Unwrap() []error {
	if e.kind == nil {
		return []error{e.cause}
	}
	return []error{e.kind, e.cause}
}

// Translate turns an error of the driver, wrapped or not, into an [*Error] and
// leaves every other error alone. Words that a caller put before the driver's
// are kept.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*Error](err); done {
		return err
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &Error{
			Code:       pgErr.Code,
			Constraint: pgErr.ConstraintName,
			text:       wordsBefore(err, pgErr) + serverMessage(pgErr),
			kind:       kindOf(pgErr.Code),
			cause:      err,
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err // the caller's doing, not the database's
	case errors.Is(err, pgx.ErrNoRows):
		return &Error{text: wordsBefore(err, pgx.ErrNoRows) + "no such row", kind: ErrNotFound, cause: err}
	case isConnectionFailure(err):
		// The driver says which address it tried, on several lines, and never
		// the password.
		text := "the database cannot be reached: " + strings.Join(strings.Fields(err.Error()), " ")
		return &Error{text: text, kind: ErrUnavailable, cause: err}
	}
	// The driver refuses a value that does not fit its parameter with an error
	// that has no type of its own and repeats the value.
	if before, _, found := strings.Cut(err.Error(), "failed to encode args["); found {
		return &Error{text: before + "a value does not fit its parameter", cause: err}
	}
	return err
}

func kindOf(code string) error {
	switch code {
	case "23505":
		return ErrDuplicate
	case "40001", "40P01": // serialization failure, deadlock
		return ErrConflict
	case "42501":
		return ErrDenied
	case "57P01", "57P02", "57P03", "53300": // shut down, crashed, starting up, too many connections
		return ErrUnavailable
	}
	if strings.HasPrefix(code, "08") {
		return ErrUnavailable
	}
	return nil
}

func isConnectionFailure(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// serverMessage is PostgreSQL's message where it can name only parts of the
// schema. Data exceptions (class 22) and errors raised by hand repeat values.
func serverMessage(e *pgconn.PgError) string {
	switch {
	case strings.HasPrefix(e.Code, "22"):
		return "a value is not valid (SQLSTATE " + e.Code + ")"
	case strings.HasPrefix(e.Code, "P0"):
		return "refused by a function of the database (SQLSTATE " + e.Code + ")"
	}
	return e.Message + " (SQLSTATE " + e.Code + ")"
}

// wordsBefore is what callers wrote before inner's text when they wrapped it.
func wordsBefore(err, inner error) string {
	if before, found := strings.CutSuffix(err.Error(), inner.Error()); found {
		return before
	}
	return ""
}
