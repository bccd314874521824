package sample

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pbmb/pbmb/sync/sample/embedding"
	"github.com/pbmb/pbmb/sync/sample/growth"
	"github.com/pbmb/pbmb/testdata/company"
)

// A Tenant is the company's side at Microsoft. Its methods may be called while
// it serves.
type Tenant struct {
	cfg     Config
	now     func() time.Time
	log     *slog.Logger
	keys    *keyRing
	grants  *grants
	limits  *limits
	faults  *faults
	asked   *requestLog
	did     activityLog
	devices devices
	embeds  *embedTokens

	embedder func() (*embedding.Embedder, error) // read when it is first asked for

	identityProviders []*identityProvider

	noting sync.Mutex // guards notes
	notes  []string

	mu          sync.RWMutex // guards what the company's state is
	people      []*person
	groups      []*group
	held        *held
	grown       *grown   // nil where the tenant did not grow
	estates     []estate // held is the first
	scans       map[string]*scan
	byObject    map[string]*person
	routes      []string             // of Power BI's API, as they are mounted
	controls    []string             // the requests of the test API, as they are mounted
	failing     failedScans          // what the next scans end with
	delay       time.Duration        // until a change of access counts
	consents    map[string][]string  // delegated permissions of the app registration, by resource
	permissions map[string][]string  // application permissions, by client
	refreshed   map[string]time.Time // when somebody asked for that last, by object id
}

// New reads the company and the added models, and is ready to serve. It reads no
// rows yet: those of a dataset are loaded when it is first queried.
func New(cfg Config) (*Tenant, error) {
	t := &Tenant{
		cfg: cfg, now: cfg.Now, log: cfg.Log,
		faults: &faults{}, asked: &requestLog{}, scans: map[string]*scan{}, held: &held{},
		embedder: sync.OnceValues(embedding.New), delay: cfg.PermissionDelay, devices: devices{list: map[string]*device{}}, refreshed: map[string]time.Time{},
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.log == nil {
		t.log = slog.Default()
	}
	t.consents, t.permissions = maps.Clone(consented), map[string][]string{}
	if cfg.NeededOnly {
		t.consents = maps.Clone(needed)
		t.consents[AppAudience] = consented[AppAudience]
	}
	t.limits = &limits{off: cfg.Unlimited, now: t.now}
	t.grants = &grants{now: t.now, codes: map[string]*grant{}, refresh: map[string]*grant{}, sessions: map[string]string{}}
	t.embeds = &embedTokens{now: t.now}
	t.estates = []estate{t.held}
	var err error
	if t.keys, err = newKeyRing(t.now()); err != nil {
		return nil, err
	}
	if err := t.loadCompany(company.Files); err != nil {
		return nil, fmt.Errorf("loading the sample company: %w", err)
	}
	if err := t.addModels(cfg.Models); err != nil {
		return nil, err
	}
	if cfg.Workspaces < 0 || cfg.Workspaces > growth.MaxWorkspaces {
		return nil, fmt.Errorf("the tenant can grow by 0 to %d workspaces, not by %d", growth.MaxWorkspaces, cfg.Workspaces)
	}
	if cfg.Workspaces > 0 {
		t.grown = newGrown(cfg.Workspaces, cfg.Seed, t.now())
		t.estates = append(t.estates, t.grown)
	}
	return t, nil
}

// id derives the id of a thing from its kind and name.
func id(kind, name string) string {
	return uuid.NewSHA1(uuid.MustParse(TenantID), []byte(kind+"/"+name)).String()
}

// Handler serves the whole tenant.
func (t *Tenant) Handler() http.Handler {
	mux := http.NewServeMux()
	t.mountEntra(mux)
	t.mountGraph(mux)
	t.mountPowerBI(mux)
	for _, p := range t.identityProviders {
		p.mount(mux)
	}
	t.mountEmbeddings(mux)
	t.mountReportPage(mux)
	t.mountPortal(mux)
	t.mountControl(mux)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		page(w, http.StatusOK, "front", t.People())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, ControlPath) {
			t.asked.add(r.Method, r.URL.Path)
			if t.faults.answer(w, r) {
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// A Person is somebody of the tenant.
type Person struct {
	Email    string // their mail; for members also the sign-in name
	UPN      string // the sign-in name
	Name     string
	Title    string
	ObjectID string
	Disabled bool
	Guest    bool
}

// People lists everybody of the company in the order of its file, and of a tenant
// that grew those by whom it is tried: one who reaches most of it, one who reaches
// a part, and one who reaches nothing.
func (t *Tenant) People() []Person {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []Person
	people := t.people
	if t.grown != nil {
		people = append(slices.Clip(people), t.grown.faces()...)
	}
	for _, p := range people {
		list = append(list, p.public())
	}
	return list
}

// Notes are the sentences about what of the added models cannot be evaluated.
func (t *Tenant) Notes() []string {
	t.noting.Lock()
	defer t.noting.Unlock()
	return slices.Clone(t.notes)
}

// base is the address under which the caller reaches the tenant.
func (t *Tenant) base(r *http.Request) string {
	if t.cfg.URL != "" {
		return strings.TrimSuffix(t.cfg.URL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// DatasetID returns the id of the first dataset with a name, or the empty text.
func (t *Tenant) DatasetID(name string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d := t.datasetNamed(name); d != nil {
		return d.id
	}
	return ""
}

// WorkspaceID returns the id of the workspace with a name, or the empty text.
func (t *Tenant) WorkspaceID(name string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if w := t.workspaceNamed(name); w != nil {
		return w.id
	}
	return ""
}
