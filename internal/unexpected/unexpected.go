// Package unexpected writes the log's records of errors. Every error that nobody
// meant to happen goes through [Log], wherever in the api it is raised, so that
// each has one record, under its request, with all there is to know.
package unexpected

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/pbmb/pbmb/internal/requestid"
)

// Log records that something failed which was not meant to: what was being done,
// the error's name and message, and where that was. It is called once for an
// error, by whoever answers for it.
func Log(ctx context.Context, log *slog.Logger, doing string, err error, attributes ...any) {
	stack := string(debug.Stack())
	if p, ok := errors.AsType[*panicked](err); ok {
		stack = p.stack
	}
	log.ErrorContext(ctx, doing, append(record(ctx, err, attributes), "stack", stack)...)
}

// Refused records the reason of a refusal, which whoever was refused is not told.
func Refused(ctx context.Context, log *slog.Logger, what string, reason error, attributes ...any) {
	log.WarnContext(ctx, what, record(ctx, reason, attributes)...)
}

func record(ctx context.Context, err error, attributes []any) []any {
	if err == nil {
		err = errors.New("no reason was given")
	}
	return append([]any{"request_id", requestid.FromContext(ctx), "error_name", name(err), "error", err.Error()}, attributes...)
}

// name is the type of the error that the others wrap.
func name(err error) string {
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return fmt.Sprintf("%T", err)
}

type panicked struct {
	value any
	stack string
}

// Recovered makes an error of what recover returned. Call it in the deferred
// function that did.
func Recovered(value any) error { return &panicked{value, string(debug.Stack())} }

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }
