package wire

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/pbmb/pbmb/internal/fetch/fetchtest"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
	"github.com/pbmb/pbmb/internal/vault"
	"github.com/pbmb/pbmb/knowledge/secret"
	"github.com/pbmb/pbmb/knowledge/setting"
	"github.com/pbmb/pbmb/knowledge/store/relationship"
	"github.com/pbmb/pbmb/oauth/connection"
	"github.com/pbmb/pbmb/oauth/protocol"
	"github.com/pbmb/pbmb/oauth/provider"
	oauthstore "github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/sync/worker"
)

// TestMain lets this test binary rotate an identity, for a test that kills it. What
// a whole deployment does leaves by clients of its own (FETCH-02).
func TestMain(m *testing.M) {
	fetchtest.RefuseDefaultTransport()
	if folder := os.Getenv("ROTATE_TEST_FOLDER"); folder != "" {
		cfg := config.Config{IdentityFolder: folder, DatabaseAPI: os.Getenv("DATABASE_URL_API"), DatabaseWorker: os.Getenv("DATABASE_URL_WORKER")}
		if _, err := RotateIdentity(context.Background(), cfg, vault.Container(os.Getenv("ROTATE_TEST_CONTAINER"))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	postgrestest.Main(m)
}

// A rotation is a deployment's database and identities, with everything set that is
// sealed in it.
type rotation struct {
	*testing.T
	db     *postgrestest.Database
	cfg    config.Config
	people map[string]string // a person's token, as it was first connected
}

var someAdmin = &policies.Principal{Kind: policies.Person, ID: "p1", Email: "admin@sample.example", Via: policies.ViaBrowser}

var allSecrets = map[secret.Name]string{
	secret.AppClient: "the app's secret", secret.ScannerClient: "the scanner's secret", secret.EmbeddingKey: "sk-the-embedding-key",
	secret.CSVLinkKey: "the key of links", secret.OfProvider("google"): "the provider's secret",
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{T: t, db: postgrestest.New(t), people: map[string]string{}}
	r.cfg = config.Config{
		IdentityFolder: t.TempDir(), DatabaseAPI: r.db.URL(postgres.API), DatabaseWorker: r.db.URL(postgres.Worker),
	}
	r.worker()
	a := r.api()
	for name, value := range allSecrets {
		if _, err := a.secrets.Set(t.Context(), someAdmin, name, value, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		r.connect(a, fmt.Sprintf("person%d", i))
	}
	return r
}

// A process is what an api or a worker holds once it has started.
type process struct {
	vault    *vault.Vault
	secrets  *secret.Store
	keys     *provider.Keys
	entra    *refresher
	accounts *connection.Connections
	rekeyer  rekeyer
}

func (r *rotation) start(c vault.Container) *process {
	r.Helper()
	v, err := openVault("", identityFile(r.cfg, c))
	if err != nil {
		r.Fatal(err)
	}
	pool := r.db.API()
	if c == vault.Worker {
		pool = r.db.Worker()
	}
	if err := settleIdentity(r.Context(), pool, c, v); err != nil {
		r.Fatal(err)
	}
	return &process{vault: v, secrets: secret.New(pool, c, v)}
}

// worker and api start a process as package wire does.
func (r *rotation) worker() *process { return r.start(vault.Worker) }

func (r *rotation) api() *process {
	r.Helper()
	p := r.start(vault.API)
	var err error
	if p.keys, err = provider.LoadKeys(r.Context(), oauthstore.New(r.db.API(), setting.Base{}), p.vault, time.Now); err != nil {
		r.Fatal(err)
	}
	p.entra = &refresher{}
	p.accounts = connection.New(r.db.API(), p.vault, p.entra, nil, anyAccount, time.Now, slog.New(slog.DiscardHandler))
	p.rekeyer = rekeyer{r.db.API(), p.vault, p.accounts}
	return p
}

// refresher gives tokens that are named after the one that was spent.
type refresher struct{ connection.Entra }

func (refresher) Refresh(_ context.Context, spent string, _ []string) (*oauth2.Token, error) {
	return &oauth2.Token{AccessToken: "access after " + spent, RefreshToken: spent + "+", Expiry: time.Now().Add(time.Hour)}, nil
}

// connect stores a person's tokens as a connection does.
func (r *rotation) connect(p *process, name string) {
	r.Helper()
	var id string
	r.db.QueryRow("insert into person (email, name) values ($1 || '@sample.example', $1) returning id::text", []any{name}, &id)
	r.people[id] = "token of " + name
	var sealed [2][]byte
	for i := range sealed {
		var err error
		if sealed[i], err = p.vault.Seal([]byte(id + "\n" + r.people[id])); err != nil {
			r.Fatal(err)
		}
	}
	r.db.Exec(`insert into powerbi_connection (person_id, state, object_id, access_token, access_expires_at, refresh_token)
		values ($1, 'connected', gen_random_uuid(), $2, now() + interval '1 hour', $3)`, id, sealed[0], sealed[1])
}

// check reports what does not open in an api and a worker.
func (r *rotation) check(api, worker *process) {
	r.Helper()
	for name, want := range allSecrets {
		d, _ := secret.Define(name)
		for c, s := range map[vault.Container]*secret.Store{vault.API: api.secrets, vault.Worker: worker.secrets} {
			got, err := s.Open(r.Context(), name)
			if reads := slices.Contains(d.Readers, c); reads && (err != nil || got != want) || !reads && !errors.Is(err, vault.ErrNotReader) {
				r.Errorf("%s in the %s: %q, %v", name, c, got, err)
			}
		}
	}
	for id, want := range r.people {
		if got, err := api.accounts.Token(r.Context(), id); err != nil || got.Access != want {
			r.Errorf("the token of %s: %q, %v", want, got.Access, err)
		}
	}
}

// openedBy counts what the database has for the api, or for the worker, by the
// identity that opens it.
func (r *rotation) openedBy(c vault.Container, v *vault.Vault) map[vault.Recipient]int {
	r.Helper()
	found := map[vault.Recipient]int{}
	statement := "select ciphertext from secret_ciphertext where reader = 'worker'"
	if c == vault.API {
		statement = `select ciphertext from secret_ciphertext where reader = 'api' union all select private_key from jwks
			union all select access_token from powerbi_connection union all select refresh_token from powerbi_connection`
	}
	var all [][]byte
	r.db.QueryRow("select array_agg(x) from ("+statement+") q(x)", nil, &all)
	for _, sealed := range all {
		by, err := v.Opener(sealed)
		if err != nil {
			r.Errorf("something of the %s: %v", c, err)
		}
		found[by]++
	}
	return found
}

func (r *rotation) rotate(c vault.Container) vault.Recipient {
	r.Helper()
	got, err := RotateIdentity(r.Context(), r.cfg, c)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// retired are the files of retired identities.
func (r *rotation) retired(c vault.Container) []string {
	r.Helper()
	files, err := filepath.Glob(identityFile(r.cfg, c) + ".retired-*")
	if err != nil {
		r.Fatal(err)
	}
	return files
}

func (r *rotation) jobs() string {
	r.Helper()
	var jobs string
	r.db.QueryRow("select coalesce(string_agg(queue || ' ' || state, ', ' order by id), '') from river_job where kind = 'rekey_tokens'", nil, &jobs)
	return jobs
}

func (r *rotation) site() protocol.Site {
	r.Helper()
	site, err := protocol.NewSite("https://book.example")
	if err != nil {
		r.Fatal(err)
	}
	return site
}

// token is an access token as an api signs it with its newest key.
func (r *rotation) token(p *process) string {
	r.Helper()
	var kid string
	var sealed []byte
	r.db.QueryRow("select kid, private_key from jwks order by created_at desc limit 1", nil, &kid, &sealed)
	seed, err := p.vault.Open(sealed)
	if err != nil {
		r.Fatal(err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, &provider.Claims{GrantID: "g", RegisteredClaims: jwt.RegisteredClaims{
		Issuer: r.site().Issuer(), Subject: "s", Audience: jwt.ClaimStrings{"https://book.example/api/v1"},
		IssuedAt: jwt.NewNumericDate(time.Now().Add(-time.Minute)), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Minute)),
	}})
	token.Header["typ"], token.Header["kid"] = "at+jwt", kid
	text, err := token.SignedString(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// verifies reports whether an api takes a token.
func (r *rotation) verifies(p *process, token string) {
	r.Helper()
	if _, err := provider.New(r.site(), oauthstore.New(r.db.API(), setting.Base{}), nil, p.keys, time.Now, nil).Verify(r.Context(), token); err != nil {
		r.Errorf("a token does not verify: %v", err)
	}
}

// SECRET-21, SECRET-22
func TestRotatingTheApi(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	running, w := r.api(), r.worker()
	old := running.vault.Recipient()
	r.db.Exec("delete from river_job")
	before := r.token(running)

	fresh := r.rotate(vault.API)
	if fresh == old {
		t.Fatal("it is the same identity")
	}
	if published, err := vault.Published(t.Context(), r.db.API(), vault.API); err != nil || published != fresh {
		t.Errorf("published is %s, %v", published, err)
	}
	if got := r.jobs(); got != "api available" {
		t.Errorf("queued %q, want one job of the api", got)
	}
	if got := r.retired(vault.API); len(got) != 1 {
		t.Errorf("retired files %q, want the old one's", got)
	}
	// The running api goes on, and seals what it seals for the old identity.
	r.check(running, w)
	var person string
	r.db.QueryRow("update powerbi_connection set access_expires_at = now() where person_id = (select person_id from powerbi_connection limit 1) returning person_id::text", nil, &person)
	refreshed := "access after " + r.people[person]
	if got, err := running.accounts.Token(t.Context(), person); err != nil || got.Access != refreshed {
		t.Fatalf("refreshed to %q, %v", got.Access, err)
	}
	r.people[person] = refreshed
	var sealed []byte
	r.db.QueryRow("select access_token from powerbi_connection where person_id = $1", []any{person}, &sealed)
	if by, err := running.vault.Opener(sealed); err != nil || by != old {
		t.Errorf("the running api sealed for %s, %v, want the old identity", by, err)
	}
	for _, statement := range []string{"select array_agg(ciphertext) from secret_ciphertext where reader = 'api'", "select array_agg(private_key) from jwks"} {
		var all [][]byte
		r.db.QueryRow(statement, nil, &all)
		for _, sealed := range all {
			if by, err := running.vault.Opener(sealed); err != nil || by != fresh {
				t.Errorf("%s: one is for %s, %v, want the new identity alone", statement, by, err)
			}
		}
	}

	restarted := r.api()
	if restarted.vault.Recipient() != fresh {
		t.Error("the restarted api has another identity")
	}
	r.check(restarted, w)
	r.verifies(restarted, before)
	r.verifies(running, r.token(restarted))
	if err := restarted.rekeyer.RekeyTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check(restarted, w)
	if got := r.openedBy(vault.API, restarted.vault); len(got) != 1 || got[fresh] == 0 {
		t.Errorf("after resealing, by identity: %v", got)
	}
	if got := r.retired(vault.API); len(got) != 0 {
		t.Errorf("retired files %q are left", got)
	}
	r.check(r.api(), w) // from files alone
}

// SECRET-21, SECRET-25: the secret of a provider that an admin tries just now too.
func TestRotatingTheApiDuringATrial(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	running := r.api()
	people := oauthstore.New(r.db.API(), setting.Base{})
	var person string
	r.db.QueryRow("select id::text from person limit 1", nil, &person)
	try := func(id string, since time.Duration) string {
		t.Helper()
		sealed, err := running.vault.Seal([]byte("secret of " + id))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-since)
		trial, err := people.StartTrial(t.Context(), person, oauthstore.Provider{ID: id}, sealed, at, at.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return trial
	}
	trials := map[string]string{"before": try("before", 0)}
	try("over", 2*time.Hour)
	r.rotate(vault.API)
	trials["after"] = try("after", 0) // by an api that has not restarted
	restarted := r.api()
	if err := restarted.rekeyer.RekeyTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.retired(vault.API); len(got) != 0 {
		t.Errorf("retired files %q are left", got)
	}
	restarted = r.api() // from files alone
	for id, trial := range trials {
		kept, err := people.Trial(t.Context(), trial, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := restarted.vault.Open(kept.ClientSecret); err != nil || string(got) != "secret of "+id {
			t.Errorf("the trial %s a rotation: %q, %v", id, got, err)
		}
	}
	var left int
	if r.db.QueryRow("select count(*) from sign_in_trial", nil, &left); left != len(trials) {
		t.Errorf("%d trials are left, want %d", left, len(trials))
	}
}

// SECRET-21, SECRET-25
func TestRotatingTheWorker(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	a, running := r.api(), r.worker()
	fresh := r.rotate(vault.Worker)
	r.check(a, running) // before it restarts
	if got := r.openedBy(vault.Worker, running.vault); len(got) != 1 || got[fresh] != 2 {
		t.Errorf("by identity: %v, want two rows for the new one", got)
	}
	if got := r.retired(vault.Worker); len(got) != 0 {
		t.Errorf("retired files %q are left", got)
	}
	if got := r.jobs(); got != "" {
		t.Errorf("the worker's rotation queued %s", got)
	}
	restarted := r.worker()
	r.check(a, restarted)
	// What is set from now on is for the new identity.
	if _, err := a.secrets.Set(t.Context(), someAdmin, secret.ScannerClient, allSecrets[secret.ScannerClient], time.Time{}); err != nil {
		t.Fatal(err)
	}
	r.check(a, restarted)
}

// SECRET-23: an api that has not restarted leaves tokens as they are, whoever
// queued the job, and the restarted one takes it up.
func TestAStaleApiRekeysNothing(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	stale, w := r.api(), r.worker()
	old := stale.vault.Recipient()
	fresh := r.rotate(vault.API)

	run := func(p *process) *worker.Runner {
		runner, err := worker.NewAPI(r.db.API(), worker.APIJobs{Used: relationship.New(r.db.API()), Rekeyer: p.rekeyer}, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := runner.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		return runner
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the jobs are %s", what, r.jobs())
			}
		}
	}
	runner := run(stale)
	until("the stale api refuses", func() bool { return r.jobs() == "api scheduled" })
	if err := stale.rekeyer.RekeyTokens(t.Context()); !errors.Is(err, worker.ErrStaleIdentity) {
		t.Errorf("asked again: %v", err)
	}
	if got := r.openedBy(vault.API, stale.vault); got[old] != 2*len(r.people) {
		t.Errorf("by identity: %v, want the tokens for the old one", got)
	}
	if err := runner.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}

	r.db.Exec("delete from river_job")
	restarted := r.api()
	runner = run(restarted)
	until("the restarted api reseals", func() bool { return r.jobs() == "api completed" })
	if err := runner.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := r.openedBy(vault.API, restarted.vault); len(got) != 1 || got[fresh] == 0 {
		t.Errorf("by identity: %v", got)
	}
	r.check(restarted, w)
}

// SECRET-24
func TestTokensAreNeverSealedForWhatTheDatabaseNames(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	w := r.worker()
	r.rotate(vault.API)
	restarted := r.api()
	forged, err := vault.FromFile(filepath.Join(t.TempDir(), "forged"))
	if err != nil {
		t.Fatal(err)
	}
	r.db.Exec("update container_identity set recipient = $1 where container = 'api'", forged.Recipient())
	if err := restarted.rekeyer.RekeyTokens(t.Context()); !errors.Is(err, worker.ErrStaleIdentity) {
		t.Errorf("the job: %v, want it refused", err)
	}
	// Even past that look, the key in memory decides; so it does for secrets.
	if err := restarted.accounts.Rekey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := restarted.secrets.Set(t.Context(), someAdmin, secret.AppClient, allSecrets[secret.AppClient], time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := r.openedBy(vault.API, restarted.vault); len(got) != 1 || got[restarted.vault.Recipient()] == 0 {
		t.Errorf("by identity: %v", got)
	}
	var all [][]byte
	r.db.QueryRow(`select array_agg(x) from (select ciphertext from secret_ciphertext union all select private_key from jwks
		union all select access_token from powerbi_connection union all select refresh_token from powerbi_connection) q(x)`, nil, &all)
	for _, sealed := range all {
		if _, err := forged.Open(sealed); !errors.Is(err, vault.ErrNotReader) {
			t.Fatalf("the forged identity opens something: %v", err)
		}
	}
	r.check(restarted, w)
}

// SECRET-25
func TestARetiredIdentityStaysWhileItIsUsed(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	stale, w := r.api(), r.worker()
	r.rotate(vault.API)
	restarted := r.api()
	if err := restarted.rekeyer.accounts.Rekey(t.Context()); err != nil {
		t.Fatal(err)
	}
	remains := func(what string, want int) {
		t.Helper()
		if err := removeRetired(t.Context(), r.db.API(), vault.API, restarted.vault, restarted.accounts); err != nil {
			t.Fatal(err)
		}
		if got := r.retired(vault.API); len(got) != want {
			t.Errorf("%s: retired files %q, want %d", what, got, want)
		}
	}
	// An api that had not restarted stores one more token, and then one more secret.
	r.connect(stale, "late")
	remains("with a token", 1)
	r.check(restarted, w)
	if err := restarted.accounts.Rekey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := stale.secrets.Set(t.Context(), someAdmin, secret.AppClient, allSecrets[secret.AppClient], time.Time{}); err != nil {
		t.Fatal(err)
	}
	remains("with a secret", 1)
	if err := settleIdentity(t.Context(), r.db.API(), vault.API, restarted.vault); err != nil {
		t.Fatal(err)
	}
	remains("with nothing", 0)
	r.check(restarted, w)
}

// A rotation that is killed at any moment loses nothing, and neither does the next.
//
// SECRET-21
func TestAKilledRotationLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	for round := range 12 {
		c := []vault.Container{vault.API, vault.Worker}[round%2]
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ROTATE_TEST_FOLDER="+r.cfg.IdentityFolder, "ROTATE_TEST_CONTAINER="+string(c),
			"DATABASE_URL_API="+r.cfg.DatabaseAPI, "DATABASE_URL_WORKER="+r.cfg.DatabaseWorker)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rand.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGKILL) }) // it may be done
		_ = cmd.Wait()                                                                                                     // however it ended
		r.check(r.api(), r.worker())
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	r.rotate(vault.API)
	restarted := r.api()
	if err := restarted.rekeyer.RekeyTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.rotate(vault.Worker)
	r.check(r.api(), r.worker())
	entries, err := os.ReadDir(r.cfg.IdentityFolder)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[strings.TrimSuffix(e.Name(), ".next")] = true
	}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, []string{"api", "worker"}) {
		t.Errorf("left in the folder: %q", got)
	}
}

// An identity that the environment gives is its owner's to rotate.
//
// SECRET-03, SECRET-21
func TestRotatingInTheEnvironment(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	r.cfg.APIIdentity = "AGE-SECRET-KEY-1…"
	if _, err := RotateIdentity(t.Context(), r.cfg, vault.API); err == nil || !strings.Contains(err.Error(), "API_AGE_IDENTITY") || strings.Contains(err.Error(), "AGE-SECRET-KEY") {
		t.Errorf("%v, want an error that says how", err)
	}
	read := func(folder string) string {
		content, err := os.ReadFile(filepath.Join(folder, "api"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(strings.SplitAfter(string(content), "\n")[1])
	}
	old := read(r.cfg.IdentityFolder)
	folder := t.TempDir()
	if _, err := vault.FromFile(filepath.Join(folder, "api")); err != nil {
		t.Fatal(err)
	}
	// A new one before the old one, and a start.
	v, err := openVault(read(folder)+" "+old, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := settleIdentity(t.Context(), r.db.API(), vault.API, v); err != nil {
		t.Fatal(err)
	}
	p := &process{vault: v, secrets: secret.New(r.db.API(), vault.API, v)}
	p.accounts = connection.New(r.db.API(), v, &refresher{}, nil, anyAccount, time.Now, slog.New(slog.DiscardHandler))
	r.check(p, r.worker())
	if err := (rekeyer{r.db.API(), v, p.accounts}).RekeyTokens(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.openedBy(vault.API, v); len(got) != 1 || got[v.Recipient()] == 0 {
		t.Errorf("by identity: %v", got)
	}
}

// anyAccount lets people connect accounts other than their own.
func anyAccount(context.Context) (bool, error) { return false, nil }
