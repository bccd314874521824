package token

import (
	"context"
	"log/slog"
)

type refusal struct{}

func (*refusal) Error() string { return "refused" }

func fail(ctx context.Context, log *slog.Logger, err error, r *refusal) {
	log.ErrorContext(ctx, "issuing a token")                 // want "ErrorContext is called"
	log.Error("issuing a token", "error", err)               // want "Error is called"
	log.Warn("refused", "reason", r)                         // want "an error is logged"
	log.InfoContext(ctx, "refused", slog.Any("reason", err)) // want "an error is logged"
	slog.Warn("refused", "reason", err)                      // want "an error is logged"
}
