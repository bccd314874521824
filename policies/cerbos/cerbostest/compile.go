package cerbostest

import (
	"os/exec"
	"testing"
)

// Compile compiles the policies below dir and runs their tests, as the pinned
// Cerbos program does, and returns what it printed and whether all passed.
func Compile(t testing.TB, dir string) (output string, passed bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Binary(t), "compile", "--color=never", dir).CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("running cerbos compile: %v", err)
	}
	return string(out), err == nil
}
