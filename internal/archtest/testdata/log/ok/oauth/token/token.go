package token

import (
	"context"
	"log/slog"

	"github.com/pbmb/pbmb/internal/archtest/testdata/log/ok/internal/unexpected"
)

func fail(ctx context.Context, log *slog.Logger, err error) {
	log.InfoContext(ctx, "a token was issued", "client", "c1")
	unexpected.Log(ctx, log, "issuing a token", err)
}
