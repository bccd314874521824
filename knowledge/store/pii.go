package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pbmb/pbmb/internal/audit"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/pii"
	"github.com/pbmb/pbmb/policies"
)

const ruleColumns = `kind, table_name, name, pii, released, note, version, changed_at, changed_by_name, changed_via`

type ruleRow struct {
	Kind      string    `db:"kind"`
	Table     string    `db:"table_name"`
	Name      string    `db:"name"`
	PII       bool      `db:"pii"`
	Released  bool      `db:"released"`
	Note      string    `db:"note"`
	Version   int64     `db:"version"`
	ChangedAt time.Time `db:"changed_at"`
	ChangedBy string    `db:"changed_by_name"`
	Via       string    `db:"changed_via"`
}

func (r ruleRow) rule() pii.Decision {
	return pii.Decision{
		Ref: pii.Ref{Kind: pii.Kind(r.Kind), Table: r.Table, Name: r.Name},
		PII: r.PII, Released: r.Released, Note: r.Note, Version: r.Version, ChangedBy: r.ChangedBy, ChangedAt: r.ChangedAt, Via: r.Via,
	}
}

// ListRules returns the rules by kind and name, the marked or the cleared ones
// alone where marked says so.
func (s *Store) ListRules(ctx context.Context, marked *bool) ([]pii.Decision, error) {
	found, err := s.pool.Query(ctx, `select `+ruleColumns+` from pii_rule where $1::boolean is null or pii = $1
		order by kind = 'measure', table_folded, name_folded`, marked)
	if err != nil {
		return nil, fmt.Errorf("listing rules: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(found, pgx.RowToStructByName[ruleRow])
	if err != nil {
		return nil, fmt.Errorf("listing rules: %w", postgres.Translate(err))
	}
	rules := make([]pii.Decision, len(list))
	for i, r := range list {
		rules[i] = r.rule()
	}
	return rules, nil
}

// A decision is what a change makes of a name.
type decision struct {
	State pii.State `db:"state"`
	Note  string    `db:"note"`
}

// SetRule makes ref marked, cleared or released, in place of whatever was decided
// for the same name before.
func (s *Store) SetRule(ctx context.Context, by *policies.Principal, ref pii.Ref, state pii.State, note string) (pii.Change, error) {
	action := map[pii.State]string{pii.IsMarked: "mark_pii", pii.IsCleared: "clear_pii", pii.IsReleased: "release_pii"}[state]
	return s.change(ctx, by, action, ref, func(pgx.Tx, decision) (decision, error) { return decision{state, note}, nil })
}

// RemoveRule takes the decision for ref away, or returns [knowledge.ErrNotFound].
func (s *Store) RemoveRule(ctx context.Context, by *policies.Principal, ref pii.Ref) (pii.Change, error) {
	return s.change(ctx, by, "remove_pii_rule", ref, func(_ pgx.Tx, before decision) (decision, error) {
		if before.State == pii.Undecided {
			return decision{}, knowledge.ErrNotFound
		}
		return decision{State: pii.Undecided}, nil
	})
}

// RestoreRule takes back the last change of what is decided for ref, which must be
// the one with the given version: [knowledge.ErrConflict] where there was another
// since, [knowledge.ErrNotFound] where nothing was ever decided.
func (s *Store) RestoreRule(ctx context.Context, by *policies.Principal, ref pii.Ref, version int64) (pii.Change, error) {
	return s.change(ctx, by, "restore_pii_rule", ref, func(tx pgx.Tx, _ decision) (decision, error) {
		var last int64
		var to decision
		err := tx.QueryRow(ctx, `select version, before, before_note from pii_rule_change
			where kind = $1 and table_folded = $2 and name_folded = $3 order by version desc limit 1`,
			ref.Kind, knowledge.Fold(ref.Table), knowledge.Fold(ref.Name)).Scan(&last, &to.State, &to.Note)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return decision{}, knowledge.ErrNotFound
		case err == nil && last != version:
			return decision{}, knowledge.ErrConflict
		}
		return to, err
	})
}

// change makes of what is decided for ref what next says, and keeps the change.
// Changes of one name wait for each other, also where it has no rule yet.
func (s *Store) change(ctx context.Context, by *policies.Principal, action string, ref pii.Ref,
	next func(tx pgx.Tx, before decision) (decision, error)) (done pii.Change, err error) {
	args := pgx.NamedArgs{
		"kind": ref.Kind, "table": ref.Table, "name": ref.Name, "table_folded": knowledge.Fold(ref.Table), "name_folded": knowledge.Fold(ref.Name),
		"by": by.ID, "by_name": by.Label(), "via": by.Via,
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "pii_rule\x1f"+string(ref.Kind)+"\x1f"+knowledge.Fold(ref.Table)+"\x1f"+knowledge.Fold(ref.Name)); err != nil {
			return err
		}
		before := decision{State: pii.Undecided}
		err := tx.QueryRow(ctx, `select case when pii then 'marked' when released then 'released' else 'cleared' end, note from pii_rule
			where kind = @kind and table_folded = @table_folded and name_folded = @name_folded`, args).Scan(&before.State, &before.Note)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		after, err := next(tx, before)
		if err != nil {
			return err
		}
		args["before"], args["before_note"], args["after"], args["after_note"] = before.State, before.Note, after.State, after.Note
		done = pii.Change{Ref: ref, Before: before.State, After: after.State, Note: after.Note, By: by.Label(), Via: string(by.Via)}
		err = tx.QueryRow(ctx, `
			insert into pii_rule_change (kind, table_name, name, table_folded, name_folded, before, before_note, after, after_note,
				changed_by, changed_by_name, changed_via)
			values (@kind, @table, @name, @table_folded, @name_folded, @before, @before_note, @after, @after_note, @by, @by_name, @via)
			returning version, changed_at`, args).Scan(&done.Version, &done.At)
		if err != nil {
			return err
		}
		if err := keepRule(ctx, tx, args, done); err != nil {
			return err
		}
		return audit.Write(ctx, tx, by, audit.Event{
			Action: action, Outcome: audit.Allow, Element: ref.String(),
			Detail: map[string]any{"kind": ref.Kind, "before": before.State, "after": after.State, "version": done.Version},
		})
	})
	if err != nil {
		return pii.Change{}, fmt.Errorf("deciding on %s: %w", ref, err)
	}
	return done, nil
}

// keepRule makes the rule what the change decided.
func keepRule(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, c pii.Change) error {
	if c.After == pii.Undecided {
		_, err := tx.Exec(ctx, `delete from pii_rule where kind = @kind and table_folded = @table_folded and name_folded = @name_folded`, args)
		return err
	}
	args["version"], args["at"], args["pii"] = c.Version, c.At, c.After == pii.IsMarked
	args["released"] = c.After == pii.IsReleased
	_, err := tx.Exec(ctx, `
		insert into pii_rule (kind, table_name, name, table_folded, name_folded, pii, released, note, version, changed_at, changed_by, changed_by_name, changed_via)
		values (@kind, @table, @name, @table_folded, @name_folded, @pii, @released, @after_note, @version, @at, @by, @by_name, @via)
		on conflict (kind, table_folded, name_folded) do update set
			pii = excluded.pii, released = excluded.released, note = excluded.note, version = excluded.version, changed_at = excluded.changed_at,
			changed_by = excluded.changed_by, changed_by_name = excluded.changed_by_name, changed_via = excluded.changed_via`, args)
	return err
}

// Rules returns every rule.
func (s *Store) Rules(ctx context.Context) ([]pii.Rule, error) {
	found, err := s.pool.Query(ctx, `select kind, table_name as "table", name, pii, released from pii_rule`)
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", postgres.Translate(err))
	}
	rules, err := pgx.CollectRows(found, pgx.RowToStructByName[pii.Rule])
	if err != nil {
		return nil, fmt.Errorf("reading the rules: %w", postgres.Translate(err))
	}
	return rules, nil
}
