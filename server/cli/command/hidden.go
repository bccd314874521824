package command

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/tools/operation"
)

// A hidden field is one that is only written: its value is neither an argument nor
// a flag, which the shell's history and the list of processes would show (CLI-10).
type hidden struct {
	field  string
	schema *huma.Schema
	stdin  bool
}

// maxHidden is how much is read of standard input.
const maxHidden = 1 << 20

// newHidden prepares a command for the hidden field of its operation; it returns
// nil where there is none. No error of such a command repeats what was given: it
// may be the value in the wrong place.
func newHidden(c *cobra.Command, d *operation.Def, args []argument) *hidden {
	var h *hidden
	for field, s := range d.Input.Properties {
		if !s.WriteOnly {
			continue
		}
		if h != nil || s.Type != huma.TypeString || slices.ContainsFunc(args, func(a argument) bool { return a.name == field }) {
			panic(fmt.Sprintf("operation %q: a command asks for one text that is only written, and takes it by no other way", d.Name))
		}
		h = &hidden{field: field, schema: s}
	}
	if h == nil {
		return nil
	}
	c.Flags().BoolVar(&h.stdin, "stdin", false, "read the "+flagName(h.field)+" from standard input instead of asking for it")
	c.Long += "\n\nThe " + flagName(h.field) + " is asked for and not shown. It is never given on the command line."
	c.SetFlagErrorFunc(func(c *cobra.Command, _ error) error { return h.misused(c) })
	c.Args = func(c *cobra.Command, given []string) error {
		if len(given) != len(args) {
			return h.misused(c)
		}
		for i, a := range args {
			s := d.Input.Properties[a.name]
			if given[i] == "" || given[i] == "-" || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(given[i]) {
				return usagef("<%s> is not a %s: %s", flagName(a.name), a.name, c.UseLine())
			}
		}
		return nil
	}
	return h
}

func (h *hidden) misused(c *cobra.Command) error {
	return usagef("the command line is not in order: %s\nThe %s is asked for, or read with --stdin; it is never given on the command line.", c.UseLine(), flagName(h.field))
}

// read asks for the value, or takes what standard input has, without the line break
// at its end.
func (h *hidden) read(c *cobra.Command, run Runner) (string, error) {
	if !h.stdin {
		return run.Secret(c.Context(), h.schema.Description)
	}
	raw, err := io.ReadAll(io.LimitReader(run.Input(), maxHidden+1))
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	if len(raw) > maxHidden {
		return "", errors.New("standard input is far too long for a " + flagName(h.field))
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), nil
}
