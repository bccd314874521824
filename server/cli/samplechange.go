package cli

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/sync/sample"
)

// addSampleChanges makes a command of each change of the tenant, below the words
// that it declares. Those fields that are no arguments are flags.
func addSampleChanges(parent *cobra.Command, in io.Reader) {
	for _, change := range sample.Changes() {
		at := parent
		var args []sample.Field
		var use []string
		for _, part := range strings.Fields(change.Command) {
			name, isArgument := strings.CutPrefix(part, "<")
			if isArgument {
				name = strings.TrimSuffix(name, ">")
				i := slices.IndexFunc(change.Fields, func(f sample.Field) bool { return f.Name == name })
				if i < 0 {
					panic(fmt.Sprintf("change %s: its command takes %q, which it does not", change.Path, name))
				}
				args = append(args, change.Fields[i])
			} else if len(use) > 0 {
				at = sampleWord(at, use[0])
				use = nil
			}
			use = append(use, part)
		}
		at.AddCommand(newSampleChange(change, strings.Join(use, " "), args, in))
	}
	for _, c := range parent.Commands() {
		var verbs []string
		for _, below := range c.Commands() {
			verbs = append(verbs, below.Name())
		}
		if c.Short == "" {
			c.Short = "Change a running tenant: " + strings.Join(verbs, ", ")
		}
	}
}

// sampleWord returns the command of a word, which it makes where there is none.
func sampleWord(parent *cobra.Command, word string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == word {
			return c
		}
	}
	c := &cobra.Command{Use: word, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	parent.AddCommand(c)
	return c
}

func newSampleChange(change sample.Change, use string, args []sample.Field, in io.Reader) *cobra.Command {
	var long strings.Builder
	doc := strings.ToUpper(change.Doc[:1]) + change.Doc[1:]
	fmt.Fprintf(&long, "%s.\nIt asks a sample tenant that runs, and prints nothing where that went well.\n", doc)
	if len(args) > 0 {
		long.WriteByte('\n')
	}
	widest := 0
	for _, f := range args {
		widest = max(widest, len(f.Name))
	}
	for _, f := range args {
		fmt.Fprintf(&long, "  %-*s  %s\n", widest+2, "<"+f.Name+">", f.Doc)
	}
	if len(args) > 0 {
		long.WriteString("\nAn argument given as - is read from standard input; \"\" is an empty one.\n")
	}
	fmt.Fprintf(&long, `
The same by HTTP is POST %s%s:

  curl -H "Content-Type: application/json" %s%s%s \
    -d '%s'`, sample.ControlPath, change.Path, defaultSampleURL, sample.ControlPath, change.Path, sampleBody(change.Fields, args))
	c := &cobra.Command{Use: use, Short: doc, Long: long.String(), Example: sampleExamples[change.Path]}
	address := c.Flags().String("url", defaultSampleURL, "address of the running tenant")
	for _, f := range change.Fields {
		if slices.Contains(args, f) {
			continue
		}
		name := strings.ReplaceAll(f.Name, "_", "-")
		switch f.Kind {
		case reflect.Int:
			c.Flags().Int(name, 0, f.Doc)
		case reflect.Bool:
			c.Flags().Bool(name, false, f.Doc)
		default:
			c.Flags().String(name, "", f.Doc)
		}
	}
	c.Args = func(c *cobra.Command, given []string) error {
		if len(given) < len(args) {
			return &command.UsageError{Err: fmt.Errorf("<%s> is missing: %s", args[len(given)].Name, c.UseLine())}
		}
		if len(given) > len(args) {
			return &command.UsageError{Err: fmt.Errorf("%q is one argument too many: %s\nPut a name with spaces in quotes.", given[len(args)], c.UseLine())}
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, given []string) error {
		body := map[string]any{}
		for i, f := range args {
			text, err := argument(given[i], "<"+f.Name+">", in)
			if err != nil {
				return err
			}
			if body[f.Name], err = sampleValue(f, text); err != nil {
				return err
			}
		}
		for _, f := range change.Fields {
			flag := c.Flags().Lookup(strings.ReplaceAll(f.Name, "_", "-"))
			if slices.Contains(args, f) || flag == nil || !flag.Changed {
				continue
			}
			var err error
			if body[f.Name], err = sampleValue(f, flag.Value.String()); err != nil {
				return err
			}
		}
		s, err := newSampleClient(*address)
		if err != nil {
			return err
		}
		return s.control(c.Context(), http.MethodPost, change.Path, body, nil)
	}
	return c
}

// sampleExamples are command lines of changes whose flags need one.
var sampleExamples = map[string]string{
	"faults": `  pbmb sample fault /powerbi --count 3 --status 429 --retry-after 10
  pbmb sample fault "*executeQueries" --delay-ms 5000
  pbmb sample fault /login --drop`,
}

// sampleBody is the body of a change's request, with the arguments of its command
// and without what may be left out.
func sampleBody(fields, args []sample.Field) string {
	var all []string
	for _, f := range fields {
		if !slices.Contains(args, f) {
			continue
		}
		value := `"…"`
		if f.Kind == reflect.Int {
			value = "1"
		}
		all = append(all, fmt.Sprintf("%q: %s", f.Name, value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// sampleValue makes a text of the command line the value that a field takes.
func sampleValue(f sample.Field, text string) (any, error) {
	var value any = text
	var err error
	switch f.Kind {
	case reflect.Int:
		value, err = strconv.Atoi(text)
	case reflect.Bool:
		value, err = strconv.ParseBool(text)
	}
	if err != nil {
		return nil, &command.UsageError{Err: fmt.Errorf("%s is %q, and must be a whole number", f.Name, text)}
	}
	return value, nil
}
