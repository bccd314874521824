package store

import "log/slog"

func fail(log *slog.Logger, err error) {
	log.Info("reading rows", "error", err) // want "an error is logged"
}
