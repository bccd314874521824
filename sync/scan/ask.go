package scan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pbmb/pbmb/knowledge/store/mirror"
	"github.com/pbmb/pbmb/sync/powerbi"
)

// A FailedError is a scan that Power BI ended without a result.
type FailedError struct {
	Status, Code string
	Workspaces   int // that it was about
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("power bi ended a scan of %d workspaces as %q %s", e.Workspaces, e.Status, e.Code)
}

// A tokenError is why the scanner has no token.
type tokenError struct{ error }

func (e *tokenError) Error() string { return "scanner's token: " + e.error.Error() }

func (e *tokenError) Unwrap() error { return e.error }

// ask sends a request once Power BI's limit for its kind allows it, and again where
// Power BI throttles, cannot be reached or fails on its side.
func (s *Scanner) ask(ctx context.Context, run *mirror.Run, c call, request func(token string) error) error {
	wait := 2 * time.Second
	for n := 1; ; n++ {
		if err := s.take(ctx, run, c); err != nil {
			return err
		}
		token, err := s.Token(ctx)
		if err != nil {
			return &tokenError{err}
		}
		err = request(token)
		refused, ok := errors.AsType[*powerbi.Error](err)
		again := ok && (refused.Throttled() || refused.Status >= 500) || errors.Is(err, powerbi.ErrUnreachable)
		if err == nil || n == attempts || !again || ctx.Err() != nil {
			return err
		}
		pause, why := wait, "for Power BI to work again"
		if ok {
			pause = max(pause, refused.RetryAfter)
			if refused.Throttled() {
				why = "because Power BI throttles"
			}
		}
		s.Log.InfoContext(ctx, "asking power bi again", "attempt", n, "after", pause, "error", err)
		if err := s.pause(ctx, run, pause, why); err != nil {
			return err
		}
		wait *= 2
	}
}

// take counts a call, after a wait where the hour has had all that there are.
func (s *Scanner) take(ctx context.Context, run *mirror.Run, c call) error {
	for c.limit > 0 {
		wait, err := s.Mirror.TakeCall(ctx, c.kind, c.limit)
		if err != nil || wait == 0 {
			return err
		}
		s.Log.InfoContext(ctx, "waiting for a limit of power bi", "call", c.kind, "per_hour", c.limit, "wait", wait)
		why := fmt.Sprintf("for Power BI's limit of %d calls of %s an hour", c.limit, c.kind)
		if err := s.pause(ctx, run, wait, why); err != nil {
			return err
		}
	}
	return nil
}

// told is how long a wait is at least that people are told of.
const told = 10 * time.Second

func (s *Scanner) pause(ctx context.Context, run *mirror.Run, d time.Duration, why string) error {
	if d < told {
		return s.Wait(ctx, d)
	}
	if err := run.Waiting(ctx, time.Now().Add(d), why); err != nil {
		return err
	}
	if err := s.Wait(ctx, d); err != nil {
		return err
	}
	return run.Waiting(ctx, time.Time{}, "")
}

// An explained error says to whoever reads the status what to do about it.
type explained struct {
	error
	next string
}

func (e *explained) Error() string { return e.error.Error() + ". " + e.next }

func (e *explained) Unwrap() error { return e.error }

// explain adds what to do about an error, where that is known. Each part that is
// done stays done.
func explain(ctx context.Context, err error) error {
	refused, isRefused := errors.AsType[*powerbi.Error](err)
	_, isToken := errors.AsType[*tokenError](err)
	_, isFailed := errors.AsType[*FailedError](err)
	switch {
	case ctx.Err() != nil:
		return errors.New("The worker was stopped. The next sync goes on from here.")
	case isToken:
		return &explained{err, "Check the client id of the scanner and its secret scanner.client_secret."}
	case isRefused && refused.Throttled():
		return &explained{err, "Somebody else may use up the tenant's limits. The next sync goes on from here."}
	case isRefused && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
		return &explained{err, "The scanner's app must be in the security group that the tenant setting for read-only admin APIs names, and hold no API permission."}
	case isRefused, errors.Is(err, powerbi.ErrUnreachable):
		return &explained{err, "The next sync goes on from here."}
	case isFailed, errors.Is(err, powerbi.ErrShape):
		return &explained{err, "The other workspaces are up to date. The next sync tries again; if it stays so, ask Microsoft's support."}
	}
	return err
}
