package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pbmb/pbmb/server/cli/account"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/cli/output"
	"github.com/pbmb/pbmb/tools/catalogue"
	"github.com/pbmb/pbmb/tools/operation"
)

// A CLI is where the commands read and write.
type CLI struct {
	In     io.Reader
	Out    io.Writer
	ErrOut io.Writer
	Getenv func(string) string
	Agent  string // how they name themselves to a deployment
}

// Commands returns the commands for people: those of the catalogue's operations,
// and the two that sign in and out.
func (p *CLI) Commands() []*cobra.Command {
	// Declarations need no stores: operations run at the deployment.
	return append(command.New(catalogue.All(catalogue.Stores{}), p), p.login(), p.logout())
}

var _ command.Runner = (*CLI)(nil)

// Flags implements [command.Runner].
func (p *CLI) Flags(c *cobra.Command) {
	urlFlag(c)
	p.OutputFlags(c)
}

// OutputFlags gives a command the flags that say how its answer is printed.
func (p *CLI) OutputFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringP("output", "o", "", "how to print: "+formats()+" (default a table on a terminal, tsv in a pipe)")
	flags.Bool("no-color", false, "print without colours, as with NO_COLOR")
	_ = c.RegisterFlagCompletionFunc("output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { // declared just now
		return strings.Split(formats(), ", "), cobra.ShellCompDirectiveNoFileComp
	})
}

func urlFlag(c *cobra.Command) {
	c.Flags().String("url", "", "address of the deployment (default PBMB_URL, then that of the last login)")
}

func formats() string {
	all := make([]string, len(output.Formats))
	for i, f := range output.Formats {
		all[i] = string(f)
	}
	return strings.Join(all, ", ")
}

// Input implements [command.Runner].
func (p *CLI) Input() io.Reader { return p.In }

// Secret implements [command.Runner].
func (p *CLI) Secret(ctx context.Context, what string) (string, error) {
	file, isFile := p.In.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return "", &command.UsageError{Err: errors.New("there is no terminal to ask at: pass the value to --stdin")}
	}
	before, err := term.GetState(int(file.Fd()))
	if err != nil {
		return "", fmt.Errorf("asking at the terminal: %w", err)
	}
	fmt.Fprintf(p.ErrOut, "%s (it is not shown): ", what)
	defer fmt.Fprintln(p.ErrOut) // the person's own line break is not shown either
	type typed struct {
		line []byte
		err  error
	}
	done := make(chan typed, 1)
	go func() {
		line, err := term.ReadPassword(int(file.Fd()))
		done <- typed{line, err}
	}()
	select {
	case <-ctx.Done():
		// The reader goes on until the process ends, which must leave the terminal as it was.
		_ = term.Restore(int(file.Fd()), before)
		return "", ctx.Err()
	case t := <-done:
		if t.err != nil {
			return "", fmt.Errorf("asking at the terminal: %w", t.err)
		}
		return string(t.line), nil
	}
}

// Call implements [command.Runner].
func (p *CLI) Call(ctx context.Context, c *cobra.Command, method, path string, query url.Values, body any) (json.RawMessage, error) {
	if _, err := format(c); err != nil { // before anything happens
		return nil, err
	}
	a, err := p.account(c)
	if err != nil {
		return nil, err
	}
	done := p.Waiting(func() string { return "waiting for " + a.URL })
	defer done()
	return a.Call(ctx, method, path, query, body)
}

// Show implements [command.Runner].
func (p *CLI) Show(c *cobra.Command, d *operation.Def, raw json.RawMessage) error {
	f, err := format(c)
	if err != nil {
		return err
	}
	return p.Screen(c).Show(raw, d.Out, f)
}

// CheckOutput says before anything happens that a form of output is not known.
func (p *CLI) CheckOutput(c *cobra.Command) error {
	_, err := format(c)
	return err
}

func format(c *cobra.Command) (output.Format, error) {
	given, err := c.Flags().GetString("output")
	if err != nil {
		return "", err
	}
	f := output.Format(given)
	if f != output.Auto && !slices.Contains(output.Formats, f) {
		return "", &command.UsageError{Err: fmt.Errorf("--output is %q, and must be one of: %s", given, formats())}
	}
	return f, nil
}

func (p *CLI) account(c *cobra.Command) (*account.Account, error) {
	given, err := c.Flags().GetString("url")
	if err != nil {
		return nil, err
	}
	file, err := account.DefaultFile(p.Getenv)
	if err != nil {
		return nil, err
	}
	return account.Choose(given, p.Getenv, file, p.Agent)
}

// Screen is where a command shows what it has to say.
func (p *CLI) Screen(c *cobra.Command) output.Screen {
	s := output.Screen{Out: p.Out, Notes: p.ErrOut}
	file, isFile := p.Out.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.Terminal = true
	s.Width, s.Height, _ = term.GetSize(int(file.Fd())) // none means no bound
	noColor, _ := c.Flags().GetBool("no-color")         // every command that shows has it
	s.Color = !noColor && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"
	if pager := p.Getenv("PAGER"); pager != "" && s.Height > 0 {
		s.Pager = func(text string) error { return page(c.Context(), pager, text, p.Out, p.ErrOut) }
	}
	return s
}

// PoliciesPending asks the deployment at an address, as whoever is signed in there,
// whether its Cerbos runs with older policies than those on its disk.
func (p *CLI) PoliciesPending(ctx context.Context, url string) (bool, error) {
	file, err := account.DefaultFile(p.Getenv)
	if err != nil {
		return false, err
	}
	a, err := account.Choose(url, p.Getenv, file, p.Agent)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	raw, err := a.Call(ctx, "GET", "/api/v1/admin/status", nil, nil)
	if err != nil {
		return false, err
	}
	var status struct {
		Pending bool `json:"policies_pending"`
	}
	err = json.Unmarshal(raw, &status)
	return status.Pending, err
}

// page shows text in the person's pager, which is a command line for the shell.
func page(ctx context.Context, pager, text string, out, errOut io.Writer) error {
	c := exec.CommandContext(ctx, "sh", "-c", pager)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), out, errOut
	c.Env = append(os.Environ(), "LESS=FRX", "LV=-c") // colours, and no page for what fits
	if less := os.Getenv("LESS"); less != "" {
		c.Env = append(c.Env, "LESS="+less)
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("showing the answer in PAGER (%s): %w", pager, err)
	}
	return nil
}
