// Package cerbostest starts the real Cerbos program for tests, has a fake decider
// for tests that need none, and the suite that the real one and the fake both pass.
package cerbostest

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
)

// A Program is a Cerbos process that a test may stop and start.
type Program struct {
	Target string // what cerbos.New takes

	t   testing.TB
	dir string

	mu  sync.Mutex
	cmd *exec.Cmd
	out bytes.Buffer
}

// Start runs Cerbos with the shipped policies below those of layers, waits until
// it answers, and ends it with the test. It returns what cerbos.New takes.
func Start(t testing.TB, layers ...fs.FS) (target string) {
	t.Helper()
	return NewProgram(t, layers...).Target
}

// NewDecider returns a decider over a Cerbos process of its own.
func NewDecider(t testing.TB, layers ...fs.FS) *cerbos.Decider {
	t.Helper()
	return newDecider(t, Start(t, layers...))
}

func newDecider(t testing.TB, target string) *cerbos.Decider {
	t.Helper()
	d, err := cerbos.New(target)
	if err != nil {
		t.Fatalf("making the decider: %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// NewProgram is Start for a test that restarts it.
func NewProgram(t testing.TB, layers ...fs.FS) *Program {
	t.Helper()
	// A Unix socket's path is short; the test's own folder may not be.
	dir, err := os.MkdirTemp("", "cerbos")
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Target: filepath.Join(dir, "pdp.sock"), t: t, dir: dir}
	t.Cleanup(func() {
		p.Stop()
		_ = os.RemoveAll(dir)
	})
	p.Start(layers...)
	return p
}

// Start runs the program with the shipped policies below those of layers.
func (p *Program) Start(layers ...fs.FS) {
	p.t.Helper()
	policyDir, config := filepath.Join(p.dir, "policies"), filepath.Join(p.dir, "cerbos.yaml")
	if err := cerbos.LayPolicies(policyDir, defaults.Files, layers...); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(config, cerbos.Config(p.Target, policyDir), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.out.Reset()
	p.cmd = cerbos.Command(context.Background(), Binary(p.t), config)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	err := p.cmd.Start()
	p.mu.Unlock()
	if err != nil {
		p.t.Fatalf("starting Cerbos: %v", err)
	}
	p.wait()
}

// wait returns when the program answers.
func (p *Program) wait() {
	p.t.Helper()
	d, err := cerbos.New(p.Target)
	if err != nil {
		p.t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	someone := &policies.Principal{Kind: policies.Person, ID: "someone", Roles: []string{policies.RoleViewer}}
	for {
		_, err := d.Allowed(ctx, someone, policies.Read, policies.Book)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			p.Stop()
			p.t.Fatalf("Cerbos does not answer: %v\n%s", err, p.out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop kills the program and waits until it is gone.
func (p *Program) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // killed: the error says only that
	p.cmd = nil
	// What a killed process leaves behind would stop the next one from listening.
	_ = os.Remove(p.Target)
	_ = os.Remove(p.Target + ".http")
}

// Binary finds the Cerbos program: in CERBOS_BIN, on the path, or where
// scripts/cerbos installs it. A test without one is skipped.
func Binary(t testing.TB) string {
	t.Helper()
	if file := os.Getenv("CERBOS_BIN"); file != "" {
		return file
	}
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "scripts/cerbos/node_modules/@cerbos/cerbos-linux-x64/cerbos-linux-x64")
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	file, err := exec.LookPath("cerbos")
	if err != nil {
		t.Skip("the Cerbos program is not installed: npm ci in scripts/cerbos")
	}
	return file
}
