package cli

import (
	"log/slog"
	"net/http"
	"time"
)

// logged writes a line for every request.
func logged(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		log.Info("request", "method", r.Method, "path", r.URL.Path, "status", answer.status, "took", time.Since(began).Round(time.Millisecond))
	})
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the handlers reach what the writer can do beside.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
