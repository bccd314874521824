package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/policies"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

// A sent request is what a command asked of the deployment.
type sent struct {
	Method, Path string
	Query        url.Values
	Body         string
}

// runner notes what commands ask and answers every request alike.
type runner struct {
	input string
	sent  []sent
	shown []string
}

func (r *runner) Flags(c *cobra.Command) { c.Flags().StringP("output", "o", "", "how to print") }
func (r *runner) Input() io.Reader       { return strings.NewReader(r.input) }

func (r *runner) Secret(context.Context, string) (string, error) { return r.input, nil }

func (r *runner) Call(_ context.Context, _ *cobra.Command, method, path string, query url.Values, body any) (json.RawMessage, error) {
	s := sent{Method: method, Path: path, Query: query}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		s.Body = string(raw)
	}
	r.sent = append(r.sent, s)
	return json.RawMessage(`{}`), nil
}

func (r *runner) Show(_ *cobra.Command, d *operation.Def, _ json.RawMessage) error {
	r.shown = append(r.shown, d.Name)
	return nil
}

type input struct {
	Thing  string   `json:"thing" doc:"The thing" minLength:"1"`
	Color  string   `json:"color,omitempty" doc:"Its colour" enum:"red,blue"`
	MaxAge int      `json:"max_age,omitempty" doc:"How old" default:"7"`
	Ratio  float64  `json:"ratio,omitempty" doc:"How much"`
	Loud   bool     `json:"loud,omitempty" doc:"Loudly"`
	Tag    []string `json:"tag,omitempty" doc:"What it is"`
	Why    string   `json:"why" doc:"Why"`
	Since  string   `json:"since,omitempty" doc:"From when" format:"date-time"`
	Owner  string   `json:"owner,omitempty" doc:"Whose" format:"uuid"`
}

type outcome struct {
	Done bool `json:"done" doc:"Whether it is"`
}

func newOperation(route, line string, surfaces operation.Surface) *operation.Def {
	return operation.Operation[input, outcome]{
		Name: "paint", Title: "Paint a thing", Doc: "Paints it.", Route: route, Command: line, Surfaces: surfaces,
		Effect: operation.Replaces, Ask: operation.OnBook[input](policies.Read),
		Handle: func(context.Context, *operation.Call, input) (outcome, error) { return outcome{}, nil },
	}.Def()
}

func run(r *runner, d []*operation.Def, args ...string) (string, error) {
	var out bytes.Buffer
	root := &cobra.Command{Use: "pbmb", SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &command.UsageError{Err: err} })
	root.AddCommand(command.New(d, r)...)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.Execute()
	return out.String(), err
}

// CLI-13: an operation that nobody has heard of has its command at once, and each
// field travels where REST reads it.
func TestAnOperationIsACommand(t *testing.T) {
	for name, c := range map[string]struct {
		route, line string
		input       string
		args        []string
		want        sent
	}{
		"in the path and the body": {
			"POST /things/{thing}/paint", "things paint <thing>", "",
			[]string{"things", "paint", "Retail/Sales & co", "--why", "it is old", "--color", "red", "--max-age", "3", "--ratio=0.5", "--loud", "--tag", "a,b", "--tag", "c"},
			sent{"POST", "/api/v1/things/Retail%2FSales%20&%20co/paint", nil, `{"color":"red","loud":true,"max_age":3,"ratio":0.5,"tag":["a,b","c"],"why":"it is old"}`},
		},
		"what is not given is not sent": {
			"POST /things", "paint <thing>", "", []string{"paint", "it", "--why", ""},
			sent{"POST", "/api/v1/things", nil, `{"thing":"it","why":""}`},
		},
		"a time and an id": {
			"POST /things", "paint <thing>", "", []string{"paint", "it", "--why", "", "--since", "2027-06-30T00:00:00.5+02:00", "--owner", "13AA8d92-8fce-4478-bcc7-9cc3afc16ae8"},
			sent{"POST", "/api/v1/things", nil, `{"owner":"13AA8d92-8fce-4478-bcc7-9cc3afc16ae8","since":"2027-06-30T00:00:00.5+02:00","thing":"it","why":""}`},
		},
		"in the query": {
			"DELETE /things/{thing}", "things remove <thing>", "", []string{"things", "remove", "it", "--why=a b", "--loud=false"},
			sent{"DELETE", "/api/v1/things/it", url.Values{"why": {"a b"}, "loud": {"false"}}, ""},
		},
		"all that is left": {
			"POST /things", "paint <thing> <why...>", "", []string{"paint", "it", "because", "of", "that"},
			sent{"POST", "/api/v1/things", nil, `{"thing":"it","why":"because of that"}`},
		},
		"an empty argument, where that is a value": {
			"POST /things", "paint <thing> <why>", "", []string{"paint", "it", ""},
			sent{"POST", "/api/v1/things", nil, `{"thing":"it","why":""}`},
		},
		"an argument from standard input": {
			"POST /things", "paint <thing> <why>", "two\nlines\n", []string{"paint", "it", "-"},
			sent{"POST", "/api/v1/things", nil, `{"thing":"it","why":"two\nlines\n"}`},
		},
		"a flag from standard input": {
			"POST /things", "paint <thing>", "piped", []string{"paint", "it", "--why", "-"},
			sent{"POST", "/api/v1/things", nil, `{"thing":"it","why":"piped"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runner{input: c.input}
			if _, err := run(r, []*operation.Def{newOperation(c.route, c.line, operation.API)}, c.args...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]sent{c.want}, r.sent); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(r.shown, []string{"paint"}) {
				t.Errorf("shown: %v", r.shown)
			}
		})
	}
}

// CLI-08: a wrong command line is told before anything is sent.
func TestWrongUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no argument":         {[]string{"things", "paint"}, "<thing> is missing"},
		"an empty argument":   {[]string{"things", "paint", "", "--why", "x"}, "<thing> is missing"},
		"one too many":        {[]string{"things", "paint", "it", "other", "--why", "x"}, `"other" is one argument too many`},
		"a missing flag":      {[]string{"things", "paint", "it"}, "--why is missing: Why"},
		"another choice":      {[]string{"things", "paint", "it", "--why", "x", "--color", "green"}, "must be one of: red, blue"},
		"no whole number":     {[]string{"things", "paint", "it", "--why", "x", "--max-age", "old"}, "must be a whole number"},
		"no number":           {[]string{"things", "paint", "it", "--why", "x", "--ratio", "much"}, "must be a number"},
		"no truth":            {[]string{"things", "paint", "it", "--why", "x", "--loud=maybe"}, "must be true or false"},
		"no time":             {[]string{"things", "paint", "it", "--why", "x", "--since", "2027-06-30"}, "must be a time such as 2027-06-30T00:00:00Z"},
		"no id":               {[]string{"things", "paint", "it", "--why", "x", "--owner", "ada"}, `--owner is "ada", and must be an id`},
		"an unknown flag":     {[]string{"things", "paint", "it", "--colour", "red"}, "unknown flag: --colour"},
		"an unknown word":     {[]string{"things", "print"}, `knows no "print"`},
		"a flag of the field": {[]string{"things", "paint", "--thing", "it"}, "unknown flag: --thing"},
	} {
		r := &runner{}
		_, err := run(r, []*operation.Def{newOperation("POST /things/{thing}/paint", "things paint <thing>", operation.API)}, c.args...)
		if _, isUsage := errors.AsType[*command.UsageError](err); !isUsage || !strings.Contains(err.Error(), c.says) || len(r.sent) > 0 {
			t.Errorf("%s: %v (%T), sent %v", name, err, err, r.sent)
		}
	}
}

// TOOLS-01: what REST serves to the browser alone is no command.
func TestOnlyWhatProgramsMayCall(t *testing.T) {
	for surface, want := range map[operation.Surface]int{operation.API: 1, operation.Connector | operation.API: 1, operation.Connector: 0, operation.Browser: 0} {
		if got := len(command.New([]*operation.Def{newOperation("POST /things", "paint <thing>", surface)}, &runner{})); got != want {
			t.Errorf("surface %d: %d commands", surface, got)
		}
	}
}

func TestHelpSaysWhatTheDeclarationSays(t *testing.T) {
	out, err := run(&runner{}, []*operation.Def{newOperation("POST /things", "things paint <thing>", operation.API)}, "things", "paint", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Paints it.", "<thing>  The thing", "--color text", "Its colour: red, blue", "--max-age number", "(default 7)", "Why (required)", "--output"} {
		if !strings.Contains(out, part) {
			t.Errorf("it lacks %q:\n%s", part, out)
		}
	}
}

// CLI-13, TOOLS-01: every operation of the catalogue that programs may call has
// the command that it declares, and no two have one.
func TestEveryOperationHasItsCommand(t *testing.T) {
	all := catalogue.All(catalogue.Stores{})
	root := &cobra.Command{Use: "pbmb"}
	root.AddCommand(command.New(all, &runner{})...)
	seen := map[*cobra.Command]string{}
	for _, d := range all {
		if d.Surfaces&operation.API == 0 {
			continue
		}
		line, _, _ := strings.Cut(d.Command, " <")
		words := strings.Fields(line)
		c, _, err := root.Find(words)
		if err != nil || c.CommandPath() != "pbmb "+strings.Join(words, " ") || c.Short != d.Title {
			t.Errorf("%s: %q is %q (%v)", d.Name, d.Command, c.CommandPath(), err)
		}
		if other := seen[c]; other != "" {
			t.Errorf("%s and %s have one command", d.Name, other)
		}
		seen[c] = d.Name
	}
	if len(seen) < 15 {
		t.Errorf("only %d commands", len(seen))
	}
	// And the other way round.
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.HasSubCommands() && seen[c] == "" {
			t.Errorf("%s is no operation's", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(root)
}
