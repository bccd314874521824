package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/cli/people"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/sync/sample"
	"github.com/pbmb/pbmb/tools/operation"
)

// What the commands that ask the sample tenant print.
type (
	sampleResult struct {
		Columns []sampleColumn `json:"columns"`
		Rows    [][]any        `json:"rows"`
		Note    string         `json:"note,omitempty"`
	}
	sampleColumn struct {
		Name string `json:"name"`
	}
	sampleDatasets struct {
		Items []sample.DatasetEntry `json:"items"`
	}
	samplePeople struct {
		Items []samplePerson `json:"items"`
	}
	samplePerson struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Title    string `json:"title"`
		Disabled bool   `json:"disabled"`
		Guest    bool   `json:"guest"`
		SignIn   string `json:"sign_in_name"`
	}
)

func newSampleQuery(p *people.CLI) *cobra.Command {
	var as string
	var models []string
	c := &cobra.Command{
		Use: "query <dataset> <dax>", Short: "Run a DAX query over the sample company as one of its people",
		Long: `Runs a DAX query as executeQueries does: with the person's rights, row-level
security, limits and errors. Without --url the company is loaded for this query
alone, with the models of --model.

  <dataset>  name or id of the dataset
  <dax>      the query; - reads it from standard input`,
		Example: `  pbmb sample query Sales 'EVALUATE { [Net sales] }'
  pbmb sample query "Regional sales" 'EVALUATE VALUES ( Region[Region] )' --as grace@sample.example -o json
  pbmb sample query Sales - --url ` + defaultSampleURL + ` < query.dax`,
		Args: exactly("<dataset>", "<dax>"),
		RunE: func(c *cobra.Command, args []string) error {
			dax, err := argument(args[1], "<dax>", p.In)
			if err != nil {
				return err
			}
			if strings.TrimSpace(dax) == "" {
				return &command.UsageError{Err: errors.New("<dax> is empty: a query starts with EVALUATE or DEFINE, such as EVALUATE { [Net sales] }")}
			}
			return askSample(c, p, models, reflect.TypeFor[sampleResult](), func(ctx context.Context, s *sampleClient) (any, error) {
				return s.query(ctx, args[0], dax, as)
			})
		},
	}
	c.Flags().StringVar(&as, "as", "viewer@sample.example", "whose rights it runs under: a sign-in name or email")
	askFlags(c, p, &models)
	return c
}

func newSampleDatasets(p *people.CLI) *cobra.Command {
	var models []string
	c := &cobra.Command{
		Use: "datasets", Short: "List the datasets of the sample company", Args: noArgs,
		Long: `Lists the datasets of the sample company. Their ids, which the REST API wants, are
in every form of the output but the table.`,
		Example: "  pbmb sample datasets -o tsv",
		RunE: func(c *cobra.Command, _ []string) error {
			return askSample(c, p, models, reflect.TypeFor[sampleDatasets](), func(ctx context.Context, s *sampleClient) (any, error) {
				var out sampleDatasets
				return &out, s.get(ctx, "datasets", &out.Items)
			})
		},
	}
	askFlags(c, p, &models)
	return c
}

func newSamplePeople(p *people.CLI) *cobra.Command {
	var models []string
	c := &cobra.Command{
		Use: "people", Short: "List the people of the sample company", Args: noArgs,
		Long: `Lists the people of the sample company, under whose names and rights the others of
these commands work. A tenant that was made large has three more.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return askSample(c, p, models, reflect.TypeFor[samplePeople](), func(ctx context.Context, s *sampleClient) (any, error) {
				var all []sample.Person
				err := s.get(ctx, "people", &all)
				out := samplePeople{Items: make([]samplePerson, len(all))}
				for i, a := range all {
					out.Items[i] = samplePerson{a.Email, a.Name, a.Title, a.Disabled, a.Guest, a.UPN}
				}
				return out, err
			})
		},
	}
	askFlags(c, p, &models)
	return c
}

func newSampleToken(p *people.CLI) *cobra.Command {
	var url, resource string
	c := &cobra.Command{
		Use: "token [<person>]", Short: "Print an access token of a running sample tenant",
		Long: `Prints an access token of a person, or of the scanner's registration where nobody
is named, for use in the header Authorization: Bearer. It is what a sign-in gives,
without its pages.`,
		Example: `  curl -H "Authorization: Bearer $(pbmb sample token ada@sample.example)" ` + defaultSampleURL + sample.PowerBIPath + `/v1.0/myorg/groups`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &command.UsageError{Err: fmt.Errorf("%q is one argument too many: %s", args[1], c.UseLine())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			s, err := newSampleClient(url)
			if err != nil {
				return err
			}
			person := ""
			if len(args) == 1 {
				person = args[0]
			}
			token, err := s.token(c.Context(), person, resource)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Out, token)
			return err
		},
	}
	c.Flags().StringVar(&url, "url", defaultSampleURL, "address of the running tenant")
	c.Flags().StringVar(&resource, "for", "powerbi", "whose API takes it: powerbi or graph")
	return c
}

func askFlags(c *cobra.Command, p *people.CLI, models *[]string) {
	c.Flags().String("url", "", "address of a running tenant, such as "+defaultSampleURL+" (default none: the company is loaded for this command)")
	c.Flags().StringArrayVar(models, "model", nil, "a .bim file or TMDL folder to add; repeatable; not with --url")
	p.OutputFlags(c)
}

// askSample asks the tenant at --url, or one that runs for this command alone, and
// prints the answer.
func askSample(c *cobra.Command, p *people.CLI, models []string, shape reflect.Type, ask func(context.Context, *sampleClient) (any, error)) error {
	url, err := c.Flags().GetString("url")
	if err != nil {
		return err
	}
	if url != "" && len(models) > 0 {
		return &command.UsageError{Err: errors.New("--model adds to a tenant that runs for this command alone: give it to the one at --url when that is started")}
	}
	if err := p.CheckOutput(c); err != nil { // before anything happens
		return err
	}
	done := p.Waiting(func() string { return "loading the sample company" })
	defer done()
	ctx := c.Context()
	if url == "" {
		var stop func()
		if url, stop, err = startSample(ctx, models); err != nil {
			return err
		}
		defer stop()
	}
	s, err := newSampleClient(url)
	if err != nil {
		return err
	}
	answer, err := ask(ctx, s)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	done()
	return p.Show(c, &operation.Def{Out: shape}, raw)
}

// startSample serves a tenant of its own until stop is called.
func startSample(ctx context.Context, models []string) (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening on this machine: %w", err)
	}
	tenant, err := sample.New(sample.Config{Models: models, Unlimited: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		listener.Close()
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = demo.ServeUntilDone(ctx, listener, tenant.Handler()) // the request that failed says more
	}()
	return "http://" + listener.Addr().String(), func() { cancel(); <-served }, nil
}

// exactly takes so many arguments as are named, none of them empty.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) || args[i] == "" {
				return &command.UsageError{Err: fmt.Errorf("%s is missing: %s", name, c.UseLine())}
			}
		}
		if len(args) > len(names) {
			return &command.UsageError{Err: fmt.Errorf("%q is one argument too many: %s\nPut a name with spaces in quotes.", args[len(names)], c.UseLine())}
		}
		return nil
	}
}

// argument is a text of the command line, or what standard input has where it is -.
func argument(given, name string, in io.Reader) (string, error) {
	if given != "-" {
		return given, nil
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("reading %s from standard input: %w", name, err)
	}
	return string(raw), nil
}
