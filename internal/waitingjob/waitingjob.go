// Package waitingjob queues a job of which one at most waits, however many ask for
// it, and of which one more may wait while one runs. River's own unique jobs count
// the running one too, so whatever comes up during a run would be lost to them.
package waitingjob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/postgres"
)

// A Job is what is queued. Its handler gets one attempt: a job that failed and waits
// for its next would be a second one that waits. Who needs another run queues it.
type Job struct {
	Kind  string // its name
	Queue string
	Args  string // JSON
}

// The states in which a job waits, as River keeps them: bit 7 is available, 3
// pending, 2 retryable and 0 scheduled. Bit 1, running, is not set.
const waitingStates = "10110001"

// Queue makes sure, as a part of tx, that a run of the job begins after tx has
// committed, and that none which begins before takes its place: a job that waits
// already is locked until then, so that a runner, which skips locked rows, leaves it.
//
// Two transactions that both find none waiting follow one another. Call it last.
func Queue(ctx context.Context, tx pgx.Tx, j Job) error {
	key := sha256.Sum256([]byte(j.Kind + "\x00" + j.Queue))
	for {
		var id int64
		err := tx.QueryRow(ctx, `
			select id from river_job
			where unique_key = $1 and unique_states is not null and state in ('available', 'pending', 'retryable', 'scheduled')
			limit 1 for share`, key[:]).Scan(&id)
		if err == nil {
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("looking for a waiting job %s: %w", j.Kind, postgres.Translate(err))
		}
		made, err := tx.Exec(ctx, `
			insert into river_job (kind, queue, args, max_attempts, unique_key, unique_states)
			values ($1, $2, $3::text::jsonb, 1, $4, $5::text::bit(8))
			on conflict (unique_key) where unique_key is not null and unique_states is not null and river_job_state_in_bitmask(unique_states, state)
			do nothing`, j.Kind, j.Queue, j.Args, key[:], waitingStates)
		if err != nil {
			return fmt.Errorf("queuing the job %s: %w", j.Kind, postgres.Translate(err))
		}
		if made.RowsAffected() == 1 {
			return nil
		}
		// Somebody's came first, and may have been taken by now.
	}
}
