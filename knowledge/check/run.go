package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/unexpected"
	"github.com/pbmb/pbmb/internal/vault"
)

// An Ask makes one check: nil where all is well, an [*Error] for a failure that is
// known, and any other error for what is not.
type Ask func(context.Context) error

// A Runner runs the checks of one container.
type Runner struct {
	asks  map[ID]Ask
	order []ID
	o     Options
}

// Options are those of a [Runner].
type Options struct {
	Container vault.Container
	Store     *Store // of the container's role
	Log       *slog.Logger

	// Held returns the secrets that the checks use. An answer that repeats a part
	// of one is not kept.
	Held func(context.Context) []string
}

// NewRunner returns the Runner of a container, whose checks are asked by asks: of
// each one that is the container's, and of no other.
func NewRunner(o Options, asks map[ID]Ask) (*Runner, error) {
	order := Of(o.Container)
	for _, id := range order {
		if asks[id] == nil {
			return nil, fmt.Errorf("nothing asks the check %s of the %s", id, o.Container)
		}
	}
	if len(asks) != len(order) {
		return nil, fmt.Errorf("the %s asks %d checks, and has %d", o.Container, len(asks), len(order))
	}
	return &Runner{asks, order, o}, nil
}

// askTime is how long one check may take.
const askTime = 90 * time.Second

// Run makes every check of the container and keeps how each ended. It returns an
// error only where that cannot be kept.
func (r *Runner) Run(ctx context.Context) error {
	var errs []error
	for _, id := range r.order {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.o.Store.save(ctx, r.run(ctx, id)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) run(ctx context.Context, id ID) Outcome {
	d, _ := define(id) // the order has no others
	within, cancel := context.WithTimeout(ctx, askTime)
	err := r.asks[id](within)
	cancel()
	state, answer := d.judge(err)
	held := r.o.Held(ctx)
	if repeats(answer, held) {
		answer = concealed
	}
	if state != Passed {
		// Microsoft's words may be anything, so the log is not shown a secret either.
		if err != nil && repeats(err.Error(), held) {
			err = errors.New(concealed)
		}
		unexpected.Refused(ctx, r.o.Log, "a check did not pass", postgres.Translate(err), "check", string(id), "state", string(state))
	}
	return Outcome{ID: id, State: state, Answer: answer}
}

// judge gives the state and the sentence of how a check ended.
func (d Definition) judge(err error) (State, string) {
	if err == nil {
		return Passed, d.Passed
	}
	if e, ok := errors.AsType[*Error](err); ok {
		for _, f := range d.Known {
			if f.Code != e.Code {
				continue
			}
			if f.Undecided {
				return Unknown, f.answer(e.Names)
			}
			return Failed, f.answer(e.Names)
		}
	}
	return Unknown, unforeseen
}

// enough is how many characters of a secret in a row give too much of it away.
const enough = 8

// repeats reports whether a text has a secret in it, or as many characters in a
// row of one as give too much of it away.
func repeats(text string, secrets []string) bool {
	for _, s := range secrets {
		runes := []rune(s)
		if len(runes) == 0 {
			continue
		}
		width := min(enough, len(runes))
		for i := 0; i+width <= len(runes); i++ {
			if strings.Contains(text, string(runes[i:i+width])) {
				return true
			}
		}
	}
	return false
}
