package people

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/server/cli/account"
	"github.com/pbmb/pbmb/server/cli/command"
)

func (p *CLI) login() *cobra.Command {
	var open bool
	c := &cobra.Command{
		Use: "login", Short: "Sign in to a deployment", Args: noArgs,
		Long: `Signs in by the browser: it prints an address and a code, and waits until somebody
who is signed in there has typed the code and allowed it. The credentials are kept
in one file that only you can read. Later commands use the deployment of the last
login, unless --url or PBMB_URL names another.`,
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := p.account(c)
			if err != nil {
				return err
			}
			if a.URL == "" {
				return &command.UsageError{Err: errors.New("--url is missing: name the deployment, such as pbmb login --url https://pbmb.example.com")}
			}
			done := func() {}
			err = a.Login(c.Context(), func(prompt account.Prompt) {
				fmt.Fprintf(p.ErrOut, "Open   %s\nType   %s\n", prompt.Address, prompt.Code)
				if open {
					if err := openBrowser(prompt.Address); err != nil {
						fmt.Fprintf(p.ErrOut, "No browser could be opened (%v).\n", err)
					}
				}
				done = p.Waiting(func() string {
					return "waiting for you, " + time.Until(prompt.Until).Round(time.Second).String() + " left"
				})
			})
			done()
			if err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "Signed in at %s\n", a.URL)
			return nil
		},
	}
	urlFlag(c)
	c.Flags().BoolVar(&open, "open", false, "open the address in a browser")
	return c
}

func (p *CLI) logout() *cobra.Command {
	c := &cobra.Command{
		Use: "logout", Short: "End a login, at the deployment and here", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := p.account(c)
			if err != nil {
				return err
			}
			if a.URL == "" {
				return fmt.Errorf("%w anywhere", account.ErrNotSignedIn)
			}
			if err := a.Logout(c.Context()); err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "Signed out at %s\n", a.URL)
			return nil
		},
	}
	urlFlag(c)
	return c
}

// openBrowser opens an address of the deployment that the person named.
func openBrowser(address string) error {
	switch runtime.GOOS {
	case "darwin":
		return exec.Command("open", address).Run()
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", address).Run()
	}
	return exec.Command("xdg-open", address).Run()
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &command.UsageError{Err: fmt.Errorf("%s takes no %q", c.CommandPath(), args[0])}
	}
	return nil
}
