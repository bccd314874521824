package secret_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/policies"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var admin = &policies.Principal{Kind: policies.Person, ID: "p1", Email: "admin@sample.example", Via: policies.ViaBrowser}

// stores are those of both containers, each with an identity of its own. Only the
// api has started.
type stores struct {
	db          *postgrestest.Database
	api, worker *secret.Store
	vaults      map[vault.Container]*vault.Vault
	files       map[vault.Container]string
}

func newStores(t *testing.T) *stores {
	t.Helper()
	s := &stores{db: postgrestest.New(t), vaults: map[vault.Container]*vault.Vault{}, files: map[vault.Container]string{}}
	for _, c := range []vault.Container{vault.API, vault.Worker} {
		s.files[c] = filepath.Join(t.TempDir(), string(c))
		v, err := vault.FromFile(s.files[c])
		if err != nil {
			t.Fatal(err)
		}
		s.vaults[c] = v
	}
	s.api = secret.New(s.db.API(), vault.API, s.vaults[vault.API])
	s.worker = secret.New(s.db.Worker(), vault.Worker, s.vaults[vault.Worker])
	s.start(t, vault.API)
	return s
}

func (s *stores) pool(c vault.Container) *pgxpool.Pool {
	if c == vault.API {
		return s.db.API()
	}
	return s.db.Worker()
}

// start publishes a container's identity, as its first start does.
func (s *stores) start(t *testing.T, c vault.Container) {
	t.Helper()
	if _, err := s.vaults[c].Publish(t.Context(), s.pool(c), c); err != nil {
		t.Fatal(err)
	}
}

func find(list []secret.Info, name secret.Name) secret.Info {
	for _, i := range list {
		if i.Name == name {
			return i
		}
	}
	return secret.Info{}
}

// Each secret is sealed for its readers and nobody else, whoever set it.
//
// SECRET-07, SECRET-08, SECRET-09, SECRET-10
func TestReaders(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	both := map[vault.Container]*secret.Store{vault.API: s.api, vault.Worker: s.worker}
	for name, readers := range map[secret.Name]map[vault.Container]bool{
		secret.ScannerClient:        {vault.Worker: true},
		secret.AppClient:            {vault.API: true},
		secret.CSVLinkKey:           {vault.API: true},
		secret.OfProvider("google"): {vault.API: true},
		secret.EmbeddingKey:         {vault.API: true, vault.Worker: true},
	} {
		value := "value-of-" + string(name)
		if _, err := s.api.Set(t.Context(), admin, name, value, time.Time{}); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for c, v := range s.vaults {
			var sealed []byte
			var recipient vault.Recipient
			var n int
			s.db.QueryRow("select count(*), coalesce(min(recipient), ''), coalesce((array_agg(ciphertext))[1], '') from secret_ciphertext where name = $1 and reader = $2",
				[]any{name, c}, &n, &recipient, &sealed)
			rows += n
			if !readers[c] {
				if n != 0 {
					t.Errorf("%s is sealed for the %s", name, c)
				}
				if got, err := both[c].Open(t.Context(), name); !errors.Is(err, vault.ErrNotReader) {
					t.Errorf("%s opens in the %s: %q, %v", name, c, got, err)
				}
				continue
			}
			if n != 1 || recipient != v.Recipient() {
				t.Errorf("%s has %d rows of the %s, for %s", name, n, c, recipient)
			}
			if got, err := both[c].Open(t.Context(), name); err != nil || got != value {
				t.Errorf("%s in the %s: %q, %v", name, c, got, err)
			}
			for other, o := range s.vaults {
				if _, err := o.Open(sealed); (err == nil) != (other == c) {
					t.Errorf("the row of %s for the %s, opened by the %s: %v", name, c, other, err)
				}
			}
		}
		if rows != len(readers) {
			t.Errorf("%s has %d rows, want %d", name, rows, len(readers))
		}
	}
}

// SECRET-08: neither a row that names the api nor one under another name lets the
// api open what was sealed for the worker.
func TestTheApiOpensNothingOfTheWorkers(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	if _, err := s.api.Set(t.Context(), admin, secret.ScannerClient, "the scanner's secret", time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.db.Exec("insert into secret_ciphertext (name, reader, recipient, ciphertext) select 'powerbi.client_secret', 'api', recipient, ciphertext from secret_ciphertext")
	s.db.Exec("insert into secret_ciphertext (name, reader, recipient, ciphertext) select name, 'api', recipient, ciphertext from secret_ciphertext where reader = 'worker'")
	for _, name := range []secret.Name{secret.ScannerClient, secret.AppClient} {
		if got, err := s.api.Open(t.Context(), name); !errors.Is(err, vault.ErrNotReader) {
			t.Errorf("%s: %q, %v, want ErrNotReader", name, got, err)
		}
	}
	err := postgres.Tx(t.Context(), s.db.API(), func(tx pgx.Tx) error { return secret.Reseal(t.Context(), tx, vault.API, s.vaults[vault.API]) })
	if err != nil {
		t.Errorf("resealing what is not the api's: %v", err)
	}
	if got, err := s.api.Open(t.Context(), secret.AppClient); !errors.Is(err, vault.ErrNotReader) {
		t.Errorf("after resealing: %q, %v", got, err)
	}
}

// The worker may reseal its own rows and reads no others.
//
// SECRET-08, SECRET-09
func TestTheWorkersRole(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	for _, name := range []secret.Name{secret.AppClient, secret.ScannerClient} {
		if _, err := s.api.Set(t.Context(), admin, name, "a value", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := s.db.Worker().QueryRow(t.Context(), "select count(*) from secret_ciphertext where reader = 'api'").Scan(&n); err != nil || n != 0 {
		t.Errorf("the worker sees %d rows of the api's, %v", n, err)
	}
	tag, err := s.db.Worker().Exec(t.Context(), "update secret_ciphertext set ciphertext = 'x' where reader = 'api'")
	if err != nil || tag.RowsAffected() != 0 {
		t.Errorf("the worker changed %d rows of the api's, %v", tag.RowsAffected(), err)
	}
	for _, statement := range []string{
		"insert into secret_ciphertext (name, reader, recipient, ciphertext) values ('x', 'worker', '', '')",
		"delete from secret_ciphertext", "update secret_ciphertext set reader = 'api'", "update secret_ciphertext set last_four = 'x'",
	} {
		if _, err := s.db.Worker().Exec(t.Context(), statement); !errors.Is(postgres.Translate(err), postgres.ErrDenied) {
			t.Errorf("%s: %v, want it denied", statement, err)
		}
	}
}

// What cannot be sealed for its reader is not kept at all.
func TestSettingNeedsTheReader(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	for _, name := range []secret.Name{secret.ScannerClient, secret.EmbeddingKey} {
		_, err := s.api.Set(t.Context(), admin, name, "a-value", time.Time{})
		if e, ok := errors.AsType[*secret.NoReaderError](err); !ok || e.Reader != vault.Worker {
			t.Errorf("%s: %v, want a NoReaderError", name, err)
		}
		if set, err := s.api.IsSet(t.Context(), name); set || err != nil {
			t.Errorf("%s is set: %v, %v", name, set, err)
		}
	}
	if _, err := s.api.Open(t.Context(), secret.AppClient); !errors.Is(err, secret.ErrNotSet) {
		t.Errorf("opening what nobody set: %v", err)
	}
	if _, err := s.api.Open(t.Context(), "unknown"); !errors.Is(err, secret.ErrUnknown) {
		t.Errorf("opening what there is not: %v", err)
	}
}

// SECRET-15
func TestSettingIsAudited(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	const value = "canary-7f3a-value-that-is-long"
	ends := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	if _, err := s.api.Set(t.Context(), admin, secret.AppClient, value, ends); err != nil {
		t.Fatal(err)
	}
	if _, err := s.api.Set(t.Context(), admin, secret.AppClient, value+"2", time.Time{}); err != nil {
		t.Fatal(err)
	}
	var rows, all string
	s.db.QueryRow("select json_agg(json_build_array(action, outcome, element, detail, principal_name) order by id)::text from audit_event", nil, &rows)
	s.db.QueryRow("select string_agg(e::text, ' ') from audit_event e", nil, &all)
	want := `[["set_secret","allow","powerbi.client_secret",{"expires_at":"2027-06-30T00:00:00Z"},"admin@sample.example"],` +
		`["set_secret","allow","powerbi.client_secret",{},"admin@sample.example"]]`
	var got, wanted any
	if json.Unmarshal([]byte(rows), &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
		t.Fatal(rows)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(wanted)
	if string(a) != string(b) {
		t.Errorf("audited\n%s, want\n%s", a, b)
	}
	if strings.Contains(all, "canary") || strings.Contains(all, "long") || strings.Contains(all, hex.EncodeToString([]byte(value))) {
		t.Errorf("the audit has of the value: %s", all)
	}
	if _, err := s.api.Set(t.Context(), admin, secret.AppClient, "bad\n", time.Time{}); err == nil {
		t.Fatal("it was taken")
	}
	var n int
	s.db.QueryRow("select count(*) from audit_event", nil, &n)
	if n != 2 {
		t.Errorf("%d rows, want none for what was refused", n)
	}
}

// SECRET-13
func TestList(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	ends := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	for _, name := range []secret.Name{secret.EmbeddingKey, secret.ScannerClient, secret.OfProvider("okta")} {
		if _, err := s.api.Set(t.Context(), admin, name, "a-value-of-enough-length", ends); err != nil {
			t.Fatal(err)
		}
	}
	// The worker lost its identity's file, and made another.
	other, err := vault.FromFile(filepath.Join(t.TempDir(), "worker"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Publish(t.Context(), s.db.Worker(), vault.Worker); err != nil {
		t.Fatal(err)
	}
	list, err := s.api.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range list {
		got = append(got, string(i.Name)+" "+string(i.Check)+" "+i.LastFour)
		if set := i.Check != secret.Missing; set != (i.SetBy == "admin@sample.example") || set != i.ExpiresAt.Equal(ends) || set == i.SetAt.IsZero() {
			t.Errorf("%+v", i)
		}
	}
	want := "powerbi.client_secret missing , results.csv_link_key missing , scanner.client_secret unreadable ngth, " +
		"search.api_key unreadable ngth, sign_in.okta.client_secret readable ngth"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// Two admins who set a secret with two readers at once leave one of their values,
// and the same one for both.
//
// SECRET-10
func TestSettingAtOnce(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	s.start(t, vault.Worker)
	errs := make(chan error)
	values := []string{"first", "second", "third", "fourth"}
	for _, value := range values {
		go func() {
			_, err := s.api.Set(t.Context(), admin, secret.EmbeddingKey, value, time.Time{})
			errs <- err
		}()
	}
	for range values {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	a, errA := s.api.Open(t.Context(), secret.EmbeddingKey)
	w, errW := s.worker.Open(t.Context(), secret.EmbeddingKey)
	if errA != nil || errW != nil || a != w {
		t.Errorf("the api has %q, %v, and the worker %q, %v", a, errA, w, errW)
	}
}

// FETCH-13: what goes with its provider goes in the same transaction.
func TestDelete(t *testing.T) {
	t.Parallel()
	s := newStores(t)
	name := secret.OfProvider("okta")
	if _, err := s.api.Set(t.Context(), admin, name, "a value", time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []bool{false, true} {
		err := postgres.Tx(t.Context(), s.db.API(), func(tx pgx.Tx) error {
			if err := secret.Delete(t.Context(), tx, name); err != nil || gone {
				return err
			}
			return errors.New("something else failed")
		})
		if (err == nil) != gone {
			t.Fatal(err)
		}
		if set, err := s.api.IsSet(t.Context(), name); err != nil || set == gone {
			t.Errorf("set %v, %v, want gone %v", set, err, gone)
		}
	}
}
