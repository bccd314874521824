package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/policies/deployment"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/cli/output"
	"github.com/pbmb/pbmb/server/cli/people"
	"github.com/pbmb/pbmb/server/folder"
)

func newInit() *cobra.Command {
	return &cobra.Command{
		Use: "init [folder]", Short: "Make the folder of a deployment",
		Long: `Makes what the folder of a deployment starts from, in the working directory or
the one that is named: access/policies and access/tests for policies of your own,
and .env for the values that the processes are started with, which only you can
read. What is there already stays as it is.`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error {
			made, err := folder.Init(folderOf(args))
			for _, path := range made {
				fmt.Fprintf(c.OutOrStdout(), "made %s\n", path)
			}
			if err != nil {
				return err
			}
			if len(made) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "Everything was there already.")
				return nil
			}
			fmt.Fprintln(c.OutOrStdout(), "Fill in .env next; pbmb check says what is missing.")
			return nil
		},
	}
}

// errChecked is returned where a step failed, which its own lines have said.
var errChecked = errors.New("not everything is as it should be")

func newCheck(p *people.CLI) *cobra.Command {
	var matrix bool
	c := &cobra.Command{
		Use: "check [folder]", Short: "Check the folder of a deployment before anything is started",
		Long: `Checks the folder of a deployment, the working directory or the one that is
named. No process of the deployment needs to run.

  policy scopes    each policy has the scope deployment, and all agree on
                   scopePermissions
  policy tests     the tests in access/tests pass, over the shipped policies, in
                   the pinned version of Cerbos: with Docker, or as a program
  describe rules   lists can follow every rule on who may describe a dataset
  .env             it holds every value that the processes need, for you alone
  book.yml         where there is one: its form

Where you are signed in at the deployment that .env names, it also says whether
that runs with older policies than those on disk.`,
		Args: oneFolder,
		RunE: func(c *cobra.Command, args []string) error { return check(c, p, folderOf(args), matrix) },
	}
	c.Flags().BoolVar(&matrix, "matrix", false, "print what each role may do, and what your policies change")
	c.Flags().Bool("no-color", false, "print without colours, as with NO_COLOR")
	return c
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return &command.UsageError{Err: fmt.Errorf("%s takes one folder", c.CommandPath())}
	}
	return nil
}

func folderOf(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return "."
}

func check(c *cobra.Command, p *people.CLI, dir string, matrix bool) error {
	screen := p.Screen(c)
	out := c.OutOrStdout()
	done := func() {}
	checker := &folder.Checker{
		Dir: dir, Getenv: p.Getenv,
		Before: func(step string) { done = p.Waiting(func() string { return step }) },
		After: func(r folder.Result) {
			done()
			writeResult(out, screen, r)
		},
	}
	passed, err := checker.Check(c.Context())
	if err != nil {
		return err
	}
	if pending(c.Context(), p, checker.PublicURL()) {
		fmt.Fprintln(out, screen.Style(output.Warning, "restart Cerbos")+": the deployment runs with older policies than those in "+deployment.PolicyFolder)
	}
	if matrix {
		done := p.Waiting(func() string { return "matrix" })
		m, err := checker.Matrix(c.Context())
		done()
		if err != nil {
			return fmt.Errorf("the matrix: %w", err)
		}
		fmt.Fprintln(out)
		writeMatrix(out, screen, m)
	}
	if !passed {
		return errChecked
	}
	return nil
}

// pending asks the deployment, where the person is signed in and may know, whether
// its Cerbos has older policies loaded. Nothing is wrong where nobody can say.
func pending(ctx context.Context, p *people.CLI, url string) bool {
	if url == "" {
		return false
	}
	yes, err := p.PoliciesPending(ctx, url)
	return err == nil && yes
}

func writeResult(w io.Writer, s output.Screen, r folder.Result) {
	state, style := "ok", output.Good
	switch {
	case r.Err != nil:
		state, style = "failed", output.Bad
	case r.Unchecked:
		state, style = "unchecked", output.Warning
	}
	fmt.Fprintf(w, "%s %s", s.Style(style, state), r.Step)
	if r.Note != "" {
		fmt.Fprint(w, s.Style(output.Quiet, " ("+r.Note+")"))
	}
	fmt.Fprintln(w)
	if r.Err != nil {
		for _, line := range folder.Lines(output.Clean(r.Err.Error())) {
			fmt.Fprintln(w, strings.TrimRight("  "+line, " "))
		}
	}
}

// writeMatrix writes a table with a column for each role, and what differs from
// the shipped policies.
func writeMatrix(w io.Writer, s output.Screen, m *folder.Matrix) {
	resources, actions := 0, 0
	for _, r := range m.Rows {
		resources, actions = max(resources, len(r.Resource)), max(actions, len(r.Action))
	}
	head := strings.Repeat(" ", resources+2+actions)
	for _, role := range m.Roles {
		head += "  " + fill(role, len("allow*"))
	}
	fmt.Fprintln(w, s.Style(output.Bold, strings.TrimRight(head, " ")))
	before := ""
	for _, r := range m.Rows {
		name := r.Resource
		if name == before {
			name = ""
		}
		before = r.Resource
		line := fill(name, resources) + "  " + fill(string(r.Action), actions)
		for i, role := range m.Roles {
			cell, style := "deny", output.Quiet
			if r.Allowed[i] {
				cell, style = "allow", output.Plain
			}
			if r.Allowed[i] != r.Shipped[i] {
				cell, style = cell+"*", output.Warning
			}
			gap := strings.Repeat(" ", max(runewidth.StringWidth(role), len("allow*"))-len(cell))
			if i == len(m.Roles)-1 {
				gap = ""
			}
			line += "  " + s.Style(style, cell) + gap
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	differences := m.Differences()
	switch len(differences) {
	case 0:
		fmt.Fprintln(w, "No difference from the shipped policies.")
	case 1:
		fmt.Fprintln(w, "* 1 difference from the shipped policies:")
	default:
		fmt.Fprintf(w, "* %d differences from the shipped policies:\n", len(differences))
	}
	for _, d := range differences {
		may := "may not"
		if d.Allowed {
			may = "may"
		}
		fmt.Fprintf(w, "  %s %s %s: %s\n", d.Role, may, d.Action, d.Resource)
	}
	fmt.Fprintln(w, "Each role is asked about by itself, for a person and one example of each resource; a condition on others shows in your policies' own tests.")
}

// fill is text in a column of some width.
func fill(text string, width int) string { return runewidth.FillRight(text, width) }
