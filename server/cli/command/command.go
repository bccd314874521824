package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/server/restapi"
	"github.com/pbmb/pbmb/tools/operation"
)

// A UsageError is a wrong command line, as opposed to one that failed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// A Runner runs operations for the commands.
type Runner interface {
	// Flags gives a command the flags that all of them have.
	Flags(c *cobra.Command)

	// Call sends one request of an operation to the deployment.
	Call(ctx context.Context, c *cobra.Command, method, path string, query url.Values, body any) (json.RawMessage, error)

	// Show writes its answer.
	Show(c *cobra.Command, d *operation.Def, raw json.RawMessage) error

	// Input is what is read where an argument is "-".
	Input() io.Reader

	// Secret asks for a value at the terminal, without showing it.
	Secret(ctx context.Context, what string) (string, error)
}

// New returns the commands of all operations that REST serves to programs, below
// the words that they share.
func New(operations []*operation.Def, run Runner) []*cobra.Command {
	root := &cobra.Command{}
	for _, d := range operations {
		if d.Surfaces&operation.API == 0 {
			continue
		}
		words, args := parse(d)
		parent := root
		for _, word := range words[:len(words)-1] {
			parent = below(parent, word)
		}
		parent.AddCommand(newCommand(d, words[len(words)-1], args, run))
	}
	describe(root)
	commands := root.Commands()
	root.RemoveCommand(commands...)
	return commands
}

// An argument is an input field that is taken from its place in the line.
type argument struct {
	name string
	rest bool // it takes all that is left
}

// parse splits a declared command line. It panics on one that contradicts its
// operation, which a test over the catalogue meets first.
func parse(d *operation.Def) (words []string, args []argument) {
	for part := range strings.FieldsSeq(d.Command) {
		name, isArgument := strings.CutPrefix(part, "<")
		if !isArgument {
			words = append(words, part)
			continue
		}
		name, rest := strings.CutSuffix(strings.TrimSuffix(name, ">"), "...")
		if d.Input.Properties[name] == nil {
			panic(fmt.Sprintf("operation %q: its command takes %q, which is no field of its input", d.Name, name))
		}
		args = append(args, argument{name, rest})
	}
	if len(words) == 0 {
		panic(fmt.Sprintf("operation %q: its command has no word", d.Name))
	}
	return words, args
}

// below returns parent's command of that word, which it makes where there is none.
func below(parent *cobra.Command, word string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == word {
			return c
		}
	}
	c := &cobra.Command{
		Use: word,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("%s knows no %q: %[1]s --help lists what there is", c.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	parent.AddCommand(c)
	return c
}

// describe says of each word what is below it.
func describe(c *cobra.Command) {
	var names []string
	for _, child := range c.Commands() {
		describe(child)
		names = append(names, child.Name())
	}
	if c.Short == "" {
		c.Short = strings.Join(names, ", ")
	}
}

func newCommand(d *operation.Def, word string, args []argument, run Runner) *cobra.Command {
	use := []string{word}
	for _, a := range args {
		use = append(use, "<"+flagName(a.name)+strings.Repeat("...", btoi(a.rest))+">")
	}
	c := &cobra.Command{Use: strings.Join(use, " "), Short: d.Title, Long: long(d, args)}
	c.Args = func(_ *cobra.Command, given []string) error { return checkArgs(c, d, args, given) }
	flags := newFlags(c, d, args)
	hidden := newHidden(c, d, args)
	run.Flags(c)
	c.RunE = func(c *cobra.Command, given []string) error {
		input, err := flags.values(run.Input())
		if err != nil {
			return err
		}
		for i, a := range args {
			value := given[i]
			if a.rest {
				value = strings.Join(given[i:], " ")
			}
			if input[a.name], err = convert(d.Input.Properties[a.name], "<"+flagName(a.name)+">", value, run.Input()); err != nil {
				return err
			}
		}
		if hidden != nil {
			if input[hidden.field], err = hidden.read(c, run); err != nil {
				return err
			}
		}
		path, query, body := request(d, input)
		raw, err := run.Call(c.Context(), c, d.Method, path, query, body)
		if err != nil {
			return err
		}
		return run.Show(c, d, raw)
	}
	return c
}

func long(d *operation.Def, args []argument) string {
	var b strings.Builder
	b.WriteString(d.Doc)
	for i, a := range args {
		if i == 0 {
			b.WriteString("\n")
		}
		s := d.Input.Properties[a.name]
		fmt.Fprintf(&b, "\n  <%s>  %s", flagName(a.name), s.Description)
		if len(s.Enum) > 0 {
			fmt.Fprintf(&b, " (%s)", choices(s))
		}
	}
	if len(args) > 0 {
		b.WriteString("\n\nAn argument or a text flag given as - is read from standard input.")
	}
	return b.String()
}

func checkArgs(c *cobra.Command, d *operation.Def, args []argument, given []string) error {
	for i, a := range args {
		least := d.Input.Properties[a.name].MinLength
		mayBeEmpty := (least == nil || *least == 0) && !slices.Contains(d.PathParams, a.name)
		if i >= len(given) || (given[i] == "" && !mayBeEmpty) {
			return usagef("<%s> is missing: %s", flagName(a.name), c.UseLine())
		}
		if a.rest {
			return nil
		}
	}
	if len(given) > len(args) {
		return usagef("%q is one argument too many: %s\nPut a name with spaces in quotes.", given[len(args)], c.UseLine())
	}
	return nil
}

// request is where the fields of an input travel, as package restapi reads them.
func request(d *operation.Def, input map[string]any) (path string, query url.Values, body any) {
	path = restapi.Prefix + d.Path
	for _, name := range d.PathParams {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(fmt.Sprint(input[name])))
	}
	rest := maps.Clone(input)
	maps.DeleteFunc(rest, func(name string, _ any) bool { return slices.Contains(d.PathParams, name) })
	if d.Method == http.MethodGet || d.Method == http.MethodDelete {
		query = url.Values{}
		for name, v := range rest {
			query.Set(name, fmt.Sprint(v))
		}
		return path, query, nil
	}
	if len(rest) == 0 {
		return path, nil, nil
	}
	return path, nil, rest
}

// convert makes a text of the command line the value that its field takes.
func convert(s *huma.Schema, what, given string, input io.Reader) (any, error) {
	if given == "-" && s.Type == huma.TypeString {
		raw, err := io.ReadAll(input)
		if err != nil {
			return nil, fmt.Errorf("reading %s from standard input: %w", what, err)
		}
		given = string(raw)
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == given }) {
		return nil, usagef("%s is %q, and must be one of: %s", what, given, choices(s))
	}
	switch s.Type {
	case huma.TypeString:
		return given, checkFormat(s, what, given)
	case huma.TypeInteger:
		n, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			return nil, usagef("%s is %q, and must be a whole number", what, given)
		}
		return n, nil
	case huma.TypeNumber:
		n, err := strconv.ParseFloat(given, 64)
		if err != nil {
			return nil, usagef("%s is %q, and must be a number", what, given)
		}
		return n, nil
	case huma.TypeBoolean:
		b, err := strconv.ParseBool(given)
		if err != nil {
			return nil, usagef("%s is %q, and must be true or false", what, given)
		}
		return b, nil
	}
	if !json.Valid([]byte(given)) {
		return nil, usagef("%s must be JSON", what)
	}
	return json.RawMessage(given), nil
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// checkFormat says what the deployment would refuse in the words of its schema.
func checkFormat(s *huma.Schema, what, given string) error {
	switch s.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, given); err != nil {
			return usagef("%s is %q, and must be a time such as 2027-06-30T00:00:00Z", what, given)
		}
	case "uuid":
		if !uuid.MatchString(given) {
			return usagef("%s is %q, and must be an id as a list prints it", what, given)
		}
	}
	return nil
}

func choices(s *huma.Schema) string {
	all := make([]string, len(s.Enum))
	for i, e := range s.Enum {
		all[i] = fmt.Sprint(e)
	}
	return strings.Join(all, ", ")
}

// flagName is an input field as the command line has it: max-rows for max_rows.
func flagName(field string) string { return strings.ReplaceAll(field, "_", "-") }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
