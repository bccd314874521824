package authn_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/ratelimit"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/oauth/authn"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

var boss = &policies.Principal{Kind: policies.Person, ID: "boss", Email: "admin@sample.example", Via: policies.ViaBrowser}

// keys is a deployment of which only API keys are there.
type keys struct {
	*authn.APIKeys
	t     *testing.T
	db    *postgrestest.Database
	store *store.Store
	now   time.Time // by the api's clock, which stands
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	t.Parallel()
	db := postgrestest.New(t)
	k := &keys{t: t, db: db, store: store.New(db.API(), setting.Base{}), now: time.Now()}
	k.APIKeys = &authn.APIKeys{
		Callers: k.store, Limits: ratelimit.New(db.API(), func() time.Time { return k.now }),
		Settings: setting.New(db.API(), setting.Base{}), AddressIsProven: true,
	}
	return k
}

func (k *keys) account(name string, sources ...string) store.ServiceAccount {
	k.t.Helper()
	a := store.ServiceAccount{Name: name, Roles: []string{"viewer"}, MaxKeyAgeDays: 90}
	for _, s := range sources {
		a.Sources = append(a.Sources, netip.MustParsePrefix(s))
	}
	made, err := k.store.CreateServiceAccount(k.t.Context(), boss, a)
	if err != nil {
		k.t.Fatal(err)
	}
	return made
}

func (k *keys) key(account store.ServiceAccount) (id, key string) {
	k.t.Helper()
	return k.keyFor(account, 90)
}

func (k *keys) keyFor(account store.ServiceAccount, days int) (id, key string) {
	k.t.Helper()
	key, made, err := k.store.CreateAPIKey(k.t.Context(), boss, account.ID, "", days)
	if err != nil {
		k.t.Fatal(err)
	}
	return made.ID, key
}

// status is how a request with the key is answered.
func (k *keys) status(key, address string) int {
	k.t.Helper()
	if _, err := k.Resolve(k.t.Context(), key, address); err != nil {
		return authn.Status(err)
	}
	return http.StatusOK
}

// age makes a key as old as if it had been made so long ago.
func (k *keys) age(id, by string) {
	k.t.Helper()
	k.db.Exec("update service_account_key set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where id = $1", id, by)
}

// SVC-06: the database's clock tells, whatever the api's shows.
func TestTheDatabaseSaysWhenAKeyExpires(t *testing.T) {
	k := newKeys(t)
	id, key := k.keyFor(k.account("nightly"), 1)
	k.now = k.now.AddDate(1, 0, 0)
	if got := k.status(key, "192.0.2.1"); got != http.StatusOK {
		t.Errorf("with the api's clock a year ahead: %d", got)
	}
	k.age(id, "24 hours")
	k.now = k.now.AddDate(-2, 0, 0)
	if got := k.status(key, "192.0.2.1"); got != http.StatusUnauthorized {
		t.Errorf("past its expiry, with the api's clock a year behind: %d", got)
	}
}

// SVC-10
func TestAKeyWorksFromItsRanges(t *testing.T) {
	k := newKeys(t)
	_, key := k.key(k.account("limited", "203.0.113.0/24", "2001:db8:1::/48", "198.51.100.7/32"))
	_, free := k.key(k.account("free"))
	for address, want := range map[string]int{
		"203.0.113.0": 200, "203.0.113.255": 200, "203.0.112.255": 401, "203.0.114.0": 401,
		"198.51.100.7": 200, "198.51.100.8": 401,
		"2001:db8:1::5": 200, "2001:db8:2::5": 401,
		"::1": 401, "unknown": 401, "": 401,
	} {
		if got := k.status(key, address); got != want {
			t.Errorf("from %q: %d, want %d", address, got, want)
		}
		if got := k.status(free, address); got != http.StatusOK {
			t.Errorf("without ranges, from %q: %d", address, got)
		}
	}
	// SVC-11: a range from before the proxy was unset opens nothing any more.
	k.AddressIsProven = false
	if got := k.status(key, "203.0.113.1"); got != http.StatusUnauthorized {
		t.Errorf("where no address is proven: %d", got)
	}
	if got := k.status(free, "203.0.113.1"); got != http.StatusOK {
		t.Errorf("where no address is proven, without ranges: %d", got)
	}
}

// SVC-12
func TestAnAccountsRequestsAreCounted(t *testing.T) {
	k := newKeys(t)
	one, two := k.account("one"), k.account("two")
	_, first := k.key(one)
	_, second := k.key(one)
	_, other := k.key(two)
	for i := range 60 {
		key := first
		if i%2 == 1 {
			key = second
		}
		if got := k.status(key, "192.0.2.1"); got != http.StatusOK {
			t.Fatalf("request %d: %d", i+1, got)
		}
	}
	p, err := k.Resolve(t.Context(), first, "192.0.2.1")
	limited, ok := errors.AsType[*authn.RateLimitError](err)
	if !ok || limited.PerMinute != 60 || limited.RetryAfter <= 0 || limited.RetryAfter > time.Minute || p == nil || p.ID != one.ID {
		t.Fatalf("request 61: %+v, %v", p, err)
	}
	if got := k.status(second, "192.0.2.1"); got != http.StatusTooManyRequests {
		t.Errorf("by the account's other key: %d", got)
	}
	if got := k.status(other, "192.0.2.1"); got != http.StatusOK {
		t.Errorf("another account: %d", got)
	}
	set := func(value string) {
		k.db.Exec("insert into setting (key, value) values ('service_accounts.rate_per_minute', $1::jsonb) on conflict (key) do update set value = excluded.value", value)
	}
	set("62")
	for i, want := range []int{200, 200, 429} {
		if got := k.status(first, "192.0.2.1"); got != want {
			t.Errorf("request %d of 62: %d", 61+i, got)
		}
	}
	set("1")
	if got := k.status(other, "192.0.2.1"); got != http.StatusTooManyRequests {
		t.Errorf("with the setting lowered: %d", got)
	}
	k.now = k.now.Add(time.Minute)
	if got := k.status(first, "192.0.2.1"); got != http.StatusOK {
		t.Errorf("in the next minute: %d", got)
	}
	// A request that is refused for its address takes nothing of the account's.
	k.now = k.now.Add(time.Minute)
	k.db.Exec("update service_account set source_cidrs = '{203.0.113.0/24}' where id = $1", one.ID)
	for range 3 {
		k.status(first, "192.0.2.1")
	}
	if got := k.status(first, "203.0.113.9"); got != http.StatusOK {
		t.Errorf("after three from elsewhere: %d", got)
	}
}

// queries writes down what is sent to the database.
type queries struct{ sent []string }

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	q.sent = append(q.sent, d.SQL)
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// SVC-02
func TestAKeyIsLookedUpInOneQuery(t *testing.T) {
	k := newKeys(t)
	_, key := k.key(k.account("nightly"))
	config, err := pgxpool.ParseConfig(k.db.URL(postgres.API))
	if err != nil {
		t.Fatal(err)
	}
	traced := &queries{}
	config.ConnConfig.Tracer = traced
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for name, secret := range map[string]string{"a key": key, "an unknown key": store.APIKeyPrefix + "x"} {
		traced.sent = nil
		_, err := store.New(pool, setting.Base{}).CallerByAPIKey(t.Context(), store.Digest(secret))
		if (err == nil) != (secret == key) || len(traced.sent) != 1 || !strings.Contains(traced.sent[0], "where k.digest = $1") {
			t.Errorf("%s: %v after %q", name, err, traced.sent)
		}
	}
	if _, err := k.Resolve(t.Context(), strings.TrimPrefix(key, store.APIKeyPrefix), "192.0.2.1"); !errors.Is(err, authn.ErrInvalidKey) {
		t.Errorf("without the prefix: %v", err)
	}
}

// VIS-01: what the setting says of metadata holds for service accounts too.
func TestAnAccountIsBoundByTheVisibilityOfMetadata(t *testing.T) {
	k := newKeys(t)
	_, key := k.key(k.account("nightly"))
	k.db.Exec(`insert into setting (key, value) values ('access.metadata_visibility', '"policy"')`)
	p, err := k.Resolve(t.Context(), key, "192.0.2.1")
	if err != nil || p.MetadataVisibility != policies.VisibleByPolicy {
		t.Errorf("%+v, %v", p, err)
	}
}
