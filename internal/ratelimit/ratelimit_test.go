package ratelimit_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/ratelimit"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// noon is a time in the middle of the day and ten seconds into a minute.
var noon = time.Date(2026, 5, 4, 12, 0, 10, 0, time.UTC)

func newRule(t *testing.T, name string, most int, window time.Duration) ratelimit.Rule {
	t.Helper()
	rule, err := ratelimit.NewRule(name, most, window)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// NET-24
func TestNewRuleRefusesAWindowThatOutlivesItsCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window time.Duration
		fine   bool
	}{{time.Minute, true}, {24 * time.Hour, true}, {24*time.Hour + time.Second, false}, {0, false}} {
		if _, err := ratelimit.NewRule("r", 1, c.window); (err == nil) != c.fine {
			t.Errorf("a window of %s: %v, want fine: %t", c.window, err, c.fine)
		}
	}
	for name, most := range map[string]int{"": 1, "r": 0} {
		if _, err := ratelimit.NewRule(name, most, time.Minute); err == nil {
			t.Errorf("the rule %q of %d was taken", name, most)
		}
	}
}

// NET-21
func TestTakeRefusesTheOneTooManyOfOneSubject(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	now := noon
	limiter := ratelimit.New(db.API(), func() time.Time { return now })
	rule := newRule(t, "token", 3, time.Minute)

	expect := func(why, subject string, wantOK bool, wantRetry time.Duration) {
		t.Helper()
		ok, retry, err := limiter.Take(t.Context(), rule, subject)
		if err != nil || ok != wantOK || retry != wantRetry {
			t.Errorf("%s: got %t, %s, %v, want %t, %s", why, ok, retry, err, wantOK, wantRetry)
		}
	}
	for range 3 {
		expect("within the limit", "192.0.2.1", true, 0)
	}
	expect("one too many", "192.0.2.1", false, 50*time.Second)
	expect("another subject", "192.0.2.2", true, 0)
	now = noon.Add(49 * time.Second)
	expect("in the last second of the window", "192.0.2.1", false, time.Second)
	now = noon.Add(50 * time.Second)
	expect("in the next window", "192.0.2.1", true, 0)

	if ok, _, err := limiter.Count(t.Context(), "another rule", "192.0.2.1", 1, time.Minute); !ok || err != nil {
		t.Errorf("another rule: %t, %v", ok, err)
	}
	if _, _, err := limiter.Count(t.Context(), "long", "192.0.2.1", 1, 25*time.Hour); err == nil {
		t.Error("a window of 25 h was counted")
	}
}

// NET-22
func TestTakeHoldsOverRestartsAndInstances(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	const most, tries = 10, 40
	var allowed atomic.Int32
	var wg sync.WaitGroup
	for range tries {
		// A limiter for each try has nothing to remember by itself.
		limiter := ratelimit.New(db.API(), func() time.Time { return noon })
		wg.Go(func() {
			ok, _, err := limiter.Allow(t.Context(), "search", "somebody", most)
			if err != nil {
				t.Error(err)
			}
			if ok {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if allowed.Load() != most {
		t.Errorf("%d of %d at once were allowed, want %d", allowed.Load(), tries, most)
	}
	var count int
	db.QueryRow("select count from request_rate where rule = 'search' and subject = 'somebody'", nil, &count)
	if count != most {
		t.Errorf("the row counts %d, want %d", count, most)
	}
}

// NET-36
func TestTakeCountsAnIPv6NetworkAsOne(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	limiter := ratelimit.New(db.API(), func() time.Time { return noon })
	for _, c := range []struct {
		subject string
		want    bool
	}{{"2001:db8:0:1::1", true}, {"2001:db8:0:1:ffff::2", false}, {"2001:db8:0:2::1", true}} {
		if ok, _, err := limiter.Allow(t.Context(), "r", c.subject, 1); err != nil || ok != c.want {
			t.Errorf("%s: got %t, %v, want %t", c.subject, ok, err, c.want)
		}
	}
}

// NET-23
func TestDeleteOldKeepsTheLastDay(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for age, subject := range map[time.Duration]string{
		0: "new", 24 * time.Hour: "a day", 24*time.Hour + time.Second: "older", 100 * time.Hour: "much older",
	} {
		db.Exec("insert into request_rate (rule, subject, window_start, count) values ('r', $1, $2, 1)", subject, noon.Add(-age))
	}
	deleted, err := ratelimit.DeleteOld(t.Context(), db.Worker(), noon)
	if err != nil || deleted != 2 {
		t.Errorf("deleted %d, %v, want 2", deleted, err)
	}
	var left int
	db.QueryRow("select count(*) from request_rate where subject in ('new', 'a day')", nil, &left)
	if left != 2 {
		t.Errorf("%d of the two younger rows are left", left)
	}
}
