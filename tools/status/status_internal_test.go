package status

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pbmb/pbmb/knowledge/check"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/policies"
)

// SYNC-10: what is told of a sync as it grows older, by a clock that the test moves.
func TestSyncsGrowOld(t *testing.T) {
	t.Parallel()
	began := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	full := Sync{State: "succeeded", StartedAt: began, EndedAt: began.Add(time.Minute), SucceededAt: began, Every: 24 * time.Hour}
	incremental := full
	incremental.Every = time.Hour
	for passed, want := range map[time.Duration]struct {
		age    string
		checks []string
		said   []string
	}{
		time.Hour:                    {"1 h 0 min", []string{}, nil},
		2 * time.Hour:                {"2 h 0 min", []string{}, nil},
		2*time.Hour + time.Second:    {"2 h 0 min", []string{checkIncremental}, []string{"What the book has of the tenant is 2 h 0 min old"}},
		48 * time.Hour:               {"2 d 0 h", []string{checkIncremental}, []string{"What the book has of the tenant is 2 d 0 h old"}},
		50*time.Hour + time.Second:   {"2 d 2 h", []string{checkFull, checkIncremental}, []string{"The last full sync that succeeded is 2 d 2 h old", "What the book has"}},
		48*time.Hour + time.Second:   {"2 d 0 h", []string{checkFull, checkIncremental}, []string{"The last full sync that succeeded is 2 d 0 h old", "What the book has"}},
		59*time.Minute + time.Second: {"59 min", []string{}, nil},
	} {
		now := began.Add(passed)
		out, err := getAt(now, &full, &incremental)
		if err != nil {
			t.Fatal(err)
		}
		if out.FullSync.Age != want.age || !out.FullSync.AsOf.Equal(began) || out.IncrementalSync.Age != want.age {
			t.Errorf("after %s: %+v and %+v, want the age %q", passed, out.FullSync, out.IncrementalSync, want.age)
		}
		if !slices.Equal(out.FailingChecks, want.checks) {
			t.Errorf("after %s: failing %q, want %q", passed, out.FailingChecks, want.checks)
		}
		if len(out.Warnings) != len(want.said) {
			t.Errorf("after %s: %q, want %q", passed, out.Warnings, want.said)
			continue
		}
		for i, w := range out.Warnings {
			if !strings.HasPrefix(w, want.said[i]) {
				t.Errorf("after %s: %q, want %q", passed, w, want.said[i])
			}
		}
	}
	never, err := getAt(began, &Sync{Every: 24 * time.Hour}, &Sync{Every: time.Hour})
	if err != nil || !slices.Equal(never.FailingChecks, []string{checkFull, checkIncremental}) || len(never.Warnings) != 1 || never.FullSync.State != "none" {
		t.Errorf("never synced: %+v, %v", never, err)
	}
	// One that failed since is said, and does not count as fresh.
	incremental.State = "failed"
	late, err := getAt(began.Add(3*time.Hour), &full, &incremental)
	if err != nil || !slices.Equal(late.FailingChecks, []string{checkIncremental}) || len(late.Warnings) != 2 {
		t.Errorf("a failed one: %+v, %v", late, err)
	}
}

// fixed is a deployment whose syncs are given.
type fixed struct{ full, incremental *Sync }

func (f fixed) Syncs(context.Context) (full, incremental *Sync, err error) {
	return f.full, f.incremental, nil
}
func (fixed) Secrets(context.Context) ([]secret.Info, error)   { return nil, nil }
func (fixed) ConnectionsToRemake(context.Context) (int, error) { return 0, nil }
func (fixed) FailingChecks(context.Context) ([]check.ID, error) {
	return []check.ID{check.SyncAge}, nil // which is told anew
}
func (fixed) PoliciesPending(context.Context) (bool, error)                        { return false, nil }
func (fixed) Admins(context.Context) (people, groups int, err error)               { return 2, 0, nil }
func (fixed) MayManageSettings(context.Context, *policies.Principal) (bool, error) { return true, nil }

func getAt(now time.Time, full, incremental *Sync) (Output, error) {
	return get(context.Background(), fixed{full, incremental}, nil, "d", "v", now)
}

// SECRET-26: what is said of a secret as its end comes nearer.
func TestWarnings(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 6, 30, 9, 0, 0, 0, time.UTC)
	scanner := secret.Info{Definition: secret.Definition{Name: secret.ScannerClient}, Check: secret.Readable, ExpiresAt: end}
	const day = 24 * time.Hour
	for left, want := range map[time.Duration]string{
		31 * day: "",
		30 * day: "The secret scanner.client_secret ends on 2027-06-30.",
		8 * day:  "The secret scanner.client_secret ends on 2027-06-30.",
		7 * day:  "The secret scanner.client_secret ends on 2027-06-30, within a week: make a new one where it was issued and set it.",
		0:        "The secret scanner.client_secret ended on 2027-06-30: make a new one where it was issued and set it.",
	} {
		got := warnings(nil, nil, []secret.Info{scanner}, 0, false, end.Add(-left))
		if len(got) > 1 || len(got) == 0 != (want == "") || len(got) == 1 && got[0] != want {
			t.Errorf("%v before the end: %q, want %q", left, got, want)
		}
	}
	lost := secret.Info{Definition: secret.Definition{Name: secret.AppClient}, Check: secret.Unreadable}
	if got := warnings(nil, nil, []secret.Info{lost}, 0, false, end); len(got) != 1 {
		t.Errorf("an unreadable one: %q", got)
	}
	// ROLES-50
	if got := warnings(nil, nil, nil, 0, true, end); len(got) != 1 || got[0] != "The policies on disk are newer than those that Cerbos decides by: restart Cerbos." {
		t.Errorf("with newer policies on disk: %q", got)
	}
}
