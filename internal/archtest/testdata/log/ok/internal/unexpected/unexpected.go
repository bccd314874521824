package unexpected

import (
	"context"
	"log/slog"
)

func Log(ctx context.Context, log *slog.Logger, doing string, err error) {
	log.ErrorContext(ctx, doing, "error", err)
}
