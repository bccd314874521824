package check_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/check"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

const secret = "wiQ8~abcdefghij_klmnop"

// asks answers the api's checks all alike.
func asks(c vault.Container, err error) map[check.ID]check.Ask {
	m := map[check.ID]check.Ask{}
	for _, id := range check.Of(c) {
		m[id] = func(context.Context) error { return err }
	}
	return m
}

// ends runs a container's checks, each of which ends with err, and returns how
// they are kept and what was logged.
func ends(t *testing.T, db *postgrestest.Database, c vault.Container, err error) (map[check.ID]check.Outcome, string) {
	t.Helper()
	pool := map[vault.Container]func() *check.Store{
		vault.API:    func() *check.Store { return check.NewStore(db.API()) },
		vault.Worker: func() *check.Store { return check.NewStore(db.Worker()) },
	}[c]()
	var log bytes.Buffer
	r, newErr := check.NewRunner(check.Options{
		Container: c, Store: pool, Log: slog.New(slog.NewTextHandler(&log, nil)), Held: func(context.Context) []string { return []string{secret} },
	}, asks(c, err))
	if newErr != nil {
		t.Fatal(newErr)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	outcomes, err := check.NewStore(db.API()).Outcomes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return outcomes, log.String()
}

// JOBS-10: every known failure of every check ends with its own sentence, which
// fits, whatever names are in it.
func TestEachFailureHasItsSentence(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	names := slices.Repeat([]string{"Some.Permission.With.A.Long.Name"}, 20)
	for _, d := range check.Definitions() {
		seen := map[string]check.Code{}
		for _, f := range d.Known {
			outcomes, _ := ends(t, db, d.Runs, &check.Error{Code: f.Code, Names: names, Cause: errors.New("what the log says")})
			got := outcomes[d.ID]
			before, after, named := strings.Cut(f.Sentence, "%s")
			if !strings.HasPrefix(got.Answer, before) || !strings.HasSuffix(got.Answer, after) || named && !strings.Contains(got.Answer, names[0]) {
				t.Errorf("%s, %s: answers %q", d.ID, f.Code, got.Answer)
			}
			if n := len([]rune(got.Answer)); n > check.MaxAnswer || !strings.HasSuffix(got.Answer, ".") {
				t.Errorf("%s, %s: %d characters: %s", d.ID, f.Code, n, got.Answer)
			}
			if want := map[bool]check.State{false: check.Failed, true: check.Unknown}[f.Undecided]; got.State != want {
				t.Errorf("%s, %s: is %s, want %s", d.ID, f.Code, got.State, want)
			}
			if other := seen[got.Answer]; other != "" {
				t.Errorf("%s: %s and %s have one sentence", d.ID, other, f.Code)
			}
			seen[got.Answer] = f.Code
		}
	}
}

// What nobody knows is one fixed sentence, and its cause is in the log alone.
func TestAnUnknownFailureSaysNothingOfItself(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, err := range []error{errors.New("a MARK of the cause"), &check.Error{Code: "MARK", Cause: errors.New("a cause")}} {
		outcomes, log := ends(t, db, vault.API, err)
		if got := outcomes[check.Database]; got.State != check.Unknown || strings.Contains(got.Answer, "MARK") || !strings.Contains(log, "MARK") {
			t.Errorf("got %+v, and the log %s", got, log)
		}
	}
	outcomes, log := ends(t, db, vault.API, nil)
	if got := outcomes[check.Database]; got.State != check.Passed || got.CheckedAt.IsZero() || log != "" {
		t.Errorf("got %+v, and the log %s", got, log)
	}
}

// JOBS-11: whoever answers may repeat the secret that it was given.
func TestAnAnswerThatRepeatsASecretIsSwapped(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for name, c := range map[string]struct {
		echo    string
		swapped bool
	}{
		"all of it":                   {secret, true},
		"eight characters":            {secret[5:13], true},
		"eight characters within":     {"Read" + secret[len(secret)-8:] + ".All", true},
		"seven characters":            {secret[5:12], false},
		"seven and others":            {secret[:7] + "X" + secret[8:15], false},
		"a name that has none of it":  {"Report.Read.All", false},
		"half of it in front, a rest": {"x" + secret[:4] + " " + secret[4:8], false},
	} {
		outcomes, log := ends(t, db, vault.API, &check.Error{Code: check.TooMuch, Names: []string{c.echo}, Cause: errors.New("echoed " + c.echo)})
		got := outcomes[check.AppRegistration]
		if shown := strings.Contains(got.Answer, c.echo); shown == c.swapped || got.State != check.Failed {
			t.Errorf("%s: kept as %+v", name, got)
		}
		if strings.Contains(log, c.echo) == c.swapped {
			t.Errorf("%s: logged as %s", name, log)
		}
	}
}

// JOBS-05: each container asks the checks of its own list, all of them and no others.
func TestEachContainerAsksItsOwn(t *testing.T) {
	t.Parallel()
	want := map[vault.Container][]check.ID{
		vault.API:    {check.Database, check.Policies, check.Secrets, check.AppRegistration, check.SyncAge},
		vault.Worker: {check.Scanner, check.WhatToSync},
	}
	for c, ids := range want {
		if got := check.Of(c); !slices.Equal(got, ids) {
			t.Errorf("the %s has the checks %q, want %q", c, got, ids)
		}
		if _, err := check.NewRunner(check.Options{Container: c}, asks(c, nil)); err != nil {
			t.Error(err)
		}
		missing, extra := asks(c, nil), asks(c, nil)
		delete(missing, ids[0])
		extra["another"] = extra[ids[0]]
		for name, m := range map[string]map[check.ID]check.Ask{"one is missing": missing, "one is the other's": extra} {
			if _, err := check.NewRunner(check.Options{Container: c}, m); err == nil {
				t.Errorf("%s: %s, and that is taken", c, name)
			}
		}
	}
}
