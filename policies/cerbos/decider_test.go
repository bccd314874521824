package cerbos_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos"
	"github.com/pbmb/pbmb/policies/cerbos/cerbostest"
)

func TestConformance(t *testing.T) { cerbostest.Conformance(t, cerbostest.NewDecider(t)) }

var viewer = &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}, WorkspaceIDs: []string{"w1"}}

var sales = policies.Resource{Kind: policies.KindDataset, ID: "d1", Attr: map[string]any{
	"workspace_id": "w1", "app_ids": []string{}, "endorsement": "Certified", "custom": map[string]any{"department": "retail"},
}}

// AUTHZ-03: nothing is decided without Cerbos, and it recovers by itself.
func TestUnreachableRefuses(t *testing.T) {
	p := cerbostest.NewProgram(t)
	p.Stop()
	d := newDecider(t, p.Target)
	for range 3 {
		refuses(t, d)
	}
	p.Start()
	recovers(t, d)
}

// AUTHZ-01: what is remembered does not outlive the process that decided it.
func TestStoppingForgets(t *testing.T) {
	p := cerbostest.NewProgram(t)
	d := newDecider(t, p.Target)
	warm(t, d)
	p.Stop()
	// The loss is seen when the kernel's word of it has been read.
	for start := time.Now(); ; {
		if _, err := d.Allowed(t.Context(), viewer, policies.Describe, sales); err != nil {
			break
		}
		if time.Since(start) > time.Second {
			t.Fatal("remembered answers are given a second after Cerbos was stopped")
		}
	}
	refuses(t, d)
	p.Start()
	recovers(t, d)
}

// AUTHZ-01 AUTHZ-02 ROLES-47: the first answer after a restart follows the policies
// that the new process read, however warm the memory was.
func TestRestartWithOtherPolicies(t *testing.T) {
	closed := fstest.MapFS{"dataset.yaml": {Data: []byte(`
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: dataset
  version: default
  scope: deployment
  scopePermissions: SCOPE_PERMISSIONS_OVERRIDE_PARENT
  rules:
    - actions: ["*"]
      effect: EFFECT_DENY
      roles: ["*"]
`)}}
	p := cerbostest.NewProgram(t)
	d := newDecider(t, p.Target)
	for _, next := range []struct {
		layers []fstest.MapFS
		want   bool
	}{{[]fstest.MapFS{closed}, false}, {nil, true}} {
		warm(t, d)
		p.Stop()
		if next.layers != nil {
			p.Start(next.layers[0])
		} else {
			p.Start()
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			got, err := d.Allowed(t.Context(), viewer, policies.Describe, sales)
			if err == nil {
				if got != next.want {
					t.Fatalf("the first decision after the restart is %t, want %t", got, next.want)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no decision within 5 s of the restart: %v", err)
			}
		}
		plan, err := d.Plan(t.Context(), viewer, policies.Describe, policies.KindDataset)
		if err != nil || (plan.Kind != policies.Never) != next.want {
			t.Fatalf("the first plan after the restart is %v, %v", plan.Kind, err)
		}
		if !next.want {
			p.Stop()
			p.Start()
			recovers(t, d)
		}
	}
}

// AUTHZ-07: a caller listed at more than a question can carry is refused, and
// nobody else is.
func TestTooLarge(t *testing.T) {
	d := cerbostest.NewDecider(t)
	for _, n := range []int{120_000, 104_850} {
		many := &policies.Principal{Kind: policies.Person, ID: "many", Roles: []string{"viewer", "admin"}, DatasetIDs: ids(n)}
		if ok, err := d.Allowed(t.Context(), many, policies.Read, policies.Book); ok || !errors.Is(err, policies.ErrTooLarge) || !errors.Is(err, policies.ErrUnavailable) {
			t.Errorf("a decision with %d ids: %t, %v", n, ok, err)
		}
		if plan, err := d.Plan(t.Context(), many, policies.Describe, policies.KindDataset); plan.Kind != policies.Never || !errors.Is(err, policies.ErrTooLarge) {
			t.Errorf("a plan with %d ids: %v, %v", n, plan.Kind, err)
		}
	}
	if ok, err := d.Allowed(t.Context(), viewer, policies.Read, policies.Book); !ok || err != nil {
		t.Errorf("another person: %t, %v", ok, err)
	}
	fewer := &policies.Principal{Kind: policies.Person, ID: "many", Roles: []string{"viewer"}, DatasetIDs: ids(10_000)}
	if ok, err := d.Allowed(t.Context(), fewer, policies.Read, policies.Book); !ok || err != nil {
		t.Errorf("10,000 ids: %t, %v", ok, err)
	}
	if _, err := d.Plan(t.Context(), fewer, policies.Describe, policies.KindDataset); err != nil {
		t.Errorf("a plan with 10,000 ids: %v", err)
	}
}

func TestNewRefusesNoTarget(t *testing.T) {
	if _, err := cerbos.New(""); err == nil {
		t.Error("an empty target makes a decider")
	}
}

func newDecider(t testing.TB, target string) *cerbos.Decider {
	t.Helper()
	d, err := cerbos.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

// warm asks until the answers that the tests look at are remembered.
func warm(t *testing.T, d *cerbos.Decider) {
	t.Helper()
	for range 3 {
		if ok, err := d.Allowed(t.Context(), viewer, policies.Describe, sales); !ok || err != nil {
			t.Fatalf("before: %t, %v", ok, err)
		}
		if plan, err := d.Plan(t.Context(), viewer, policies.Describe, policies.KindDataset); plan.Kind != policies.Conditional || err != nil {
			t.Fatalf("before: %v, %v", plan.Kind, err)
		}
	}
}

func refuses(t *testing.T, d *cerbos.Decider) {
	t.Helper()
	start := time.Now()
	if ok, err := d.Allowed(t.Context(), viewer, policies.Describe, sales); ok || !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("without Cerbos: %t, %v", ok, err)
	}
	if plan, err := d.Plan(t.Context(), viewer, policies.Describe, policies.KindDataset); plan.Kind != policies.Never || !errors.Is(err, policies.ErrUnavailable) {
		t.Errorf("without Cerbos: %v, %v", plan.Kind, err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("refusing took %s", took)
	}
}

func recovers(t *testing.T, d *cerbos.Decider) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		ok, err := d.Allowed(t.Context(), viewer, policies.Describe, sales)
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("5 s after Cerbos came back: %v", err)
		}
	}
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
	}
	return out
}

func BenchmarkRemembered(b *testing.B) {
	d := cerbostest.NewDecider(b)
	for _, n := range []int{0, 50, 1_000, 10_000} {
		b.Run(fmt.Sprintf("decision/%d ids", n), func(b *testing.B) {
			p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}, WorkspaceIDs: ids(n)}
			if _, err := d.Allowed(b.Context(), p, policies.Describe, sales); err != nil {
				b.Fatal(err)
			}
			// Every request reads its own strings.
			again := *p
			again.WorkspaceIDs = ids(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Allowed(b.Context(), &again, policies.Describe, sales); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("plan/10000 ids", func(b *testing.B) {
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}, WorkspaceIDs: ids(10_000)}
		for b.Loop() {
			if _, err := d.Plan(b.Context(), p, policies.Describe, policies.KindDataset); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAsked(b *testing.B) {
	d, err := cerbos.New(cerbostest.Start(b), cerbos.WithMemory(0))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	for _, n := range []int{50, 10_000} {
		p := &policies.Principal{Kind: policies.Person, ID: "p", Roles: []string{"viewer"}, WorkspaceIDs: ids(n)}
		b.Run(fmt.Sprintf("decision/%d ids", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Allowed(b.Context(), p, policies.Describe, sales); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("plan/%d ids", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Plan(b.Context(), p, policies.Describe, policies.KindDataset); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
