package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
	"github.com/pbmb/pbmb/policies/deployment"
)

// A Result is how one step of a check ended.
type Result struct {
	Step string
	Err  error  // nil where it passed; several lines where several things are wrong
	Note string // what else there is to say; of a step that passed

	// Unchecked says that nothing was wrong so far as this version can look.
	Unchecked bool
}

// A Checker checks one folder.
type Checker struct {
	Dir    string
	Getenv func(string) string // the environment, which says where Cerbos is

	// Before and After are told of each step; both may be nil.
	Before func(step string)
	After  func(Result)

	engine    *cerbos.Engine
	engineErr error
}

// Check takes every step, each whatever became of the others, and reports
// whether all passed. An error means that there is nothing to check.
func (c *Checker) Check(ctx context.Context) (passed bool, err error) {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return false, fmt.Errorf("%s is not a folder: name that of a deployment, as pbmb init makes it", c.Dir)
	}
	passed = true
	for _, step := range []struct {
		name string
		run  func(context.Context) Result
	}{
		{"policy scopes", c.scopes},
		{"policy tests", c.tests},
		{"describe rules", c.describeRules},
		{EnvFile, c.env},
		{BookFile, c.book},
	} {
		if step.name == BookFile && !c.has(BookFile) {
			continue
		}
		if c.Before != nil {
			c.Before(step.name)
		}
		r := step.run(ctx)
		r.Step = step.name
		passed = passed && r.Err == nil
		if c.After != nil {
			c.After(r)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return passed, nil
}

func (c *Checker) path(name string) string { return filepath.Join(c.Dir, filepath.FromSlash(name)) }

func (c *Checker) has(name string) bool {
	_, err := os.Stat(c.path(name))
	return err == nil
}

func (c *Checker) policies() (*deployment.Set, error) {
	set, err := deployment.Read(os.DirFS(c.path(deployment.PolicyFolder)))
	return set, inFolder(err)
}

// inFolder gives the files of errors their path from the deployment's folder.
func inFolder(err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, inFolder(e))
		}
		return errors.Join(all...)
	}
	if e, ok := errors.AsType[*deployment.Error](err); ok {
		named := &deployment.Error{Reason: e.Reason}
		for _, f := range e.Files {
			named.Files = append(named.Files, deployment.PolicyFolder+"/"+f)
		}
		return named
	}
	return err
}

func (c *Checker) scopes(context.Context) Result {
	set, err := c.policies()
	if err != nil {
		return Result{Err: err}
	}
	return Result{Err: inFolder(set.Check())}
}

// pinned finds the engine once for all steps.
func (c *Checker) pinned(ctx context.Context) (*cerbos.Engine, error) {
	if c.engine == nil && c.engineErr == nil {
		c.engine, c.engineErr = cerbos.FindEngine(ctx, c.Getenv)
	}
	return c.engine, c.engineErr
}

var executed = regexp.MustCompile(`(?m)^(\d+) tests? executed`)

// tailLines is enough to show which tests failed, and in which file.
const tailLines = 30

func (c *Checker) tests(ctx context.Context) Result {
	policies, err := c.count(deployment.PolicyFolder, deployment.IsPolicy)
	if err != nil {
		return Result{Err: err}
	}
	tests, err := c.count(deployment.TestFolder, deployment.IsTest)
	if err != nil {
		return Result{Err: err}
	}
	if policies+tests == 0 {
		return Result{Note: "none: the shipped policies decide alone"}
	}
	engine, err := c.pinned(ctx)
	if err != nil {
		return Result{Err: err}
	}
	shipped, err := shippedFolder()
	if err != nil {
		return Result{Err: err}
	}
	defer os.RemoveAll(shipped)
	layers := []cerbos.Layer{{Folder: shipped, As: "shipped"}}
	for _, folder := range []string{deployment.PolicyFolder, deployment.TestFolder} {
		if !c.has(folder) {
			continue
		}
		abs, err := filepath.Abs(c.path(folder))
		if err != nil {
			return Result{Err: err}
		}
		layers = append(layers, cerbos.Layer{Folder: abs, As: folder})
	}
	out, passed, err := engine.Compile(ctx, layers...)
	switch {
	case err != nil:
		return Result{Err: err}
	case !passed:
		return Result{Err: errors.New(cerbos.Tail(out, tailLines))}
	}
	note := "no tests: what these policies must allow belongs into " + deployment.TestFolder
	if found := executed.FindStringSubmatch(out); found != nil && found[1] != "0" {
		note = found[1] + " in Cerbos " + cerbos.Version
	}
	return Result{Note: note}
}

// count counts the files below a folder that is says yes to.
func (c *Checker) count(folder string, is func(string) bool) (n int, err error) {
	err = filepath.WalkDir(c.path(folder), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && is(d.Name()) {
			n++
		}
		return err
	})
	return n, err
}

// shippedFolder has the shipped policies. Whoever calls it removes it.
func shippedFolder() (string, error) {
	dir, err := os.MkdirTemp("", "pbmb-shipped-")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, defaults.Files)
}

// Lines are the lines of a text, without empty ones at its end.
func Lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
