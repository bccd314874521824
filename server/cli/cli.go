// Package cli is the pbmb command: the processes that an operator runs, the
// demonstration, and what people do at a deployment. The first two read the
// environment and leave the rest to package wire; the third is put together from
// the packages below this one, which know a deployment by its REST API alone.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/internal/postgres"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/cli/output"
	"github.com/pbmb/pbmb/server/cli/people"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/wire"
)

// Main runs one command line and returns its exit code.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot(in, out, errOut)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err != nil {
		for line := range strings.Lines(output.Clean(err.Error())) {
			fmt.Fprintf(errOut, "pbmb: %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return exitCode(err)
}

func newRoot(in io.Reader, out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "pbmb",
		Short:         "The Power BI Metrics Book",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &command.UsageError{Err: err} })
	forPeople := &people.CLI{In: in, Out: out, ErrOut: errOut, Getenv: os.Getenv, Agent: "pbmb/" + wire.Version}
	root.AddCommand(newDemo(out, errOut), newServer(errOut), newSample(forPeople), newInit(), newCheck(forPeople), newVersion())
	root.AddCommand(forPeople.Commands()...)
	return root
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &command.UsageError{Err: fmt.Errorf("%s knows no %q: %s --help lists what there is", c.CommandPath(), args[0], c.CommandPath())}
	}
	return nil
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), wire.Version) },
	}
}

func newServer(errOut io.Writer) *cobra.Command {
	server := &cobra.Command{
		Use: "server", Short: "Run a process of a deployment, configured by the environment", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	server.AddCommand(
		&cobra.Command{
			Use: "api", Short: "Serve the browser, clients and programs", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				cfg := config.Read(os.Getenv)
				log := newLog(errOut, cfg.Environment)
				if err := cfg.CheckAPI(); err != nil {
					return err
				}
				listener, err := net.Listen("tcp", cfg.Listen)
				if err != nil {
					return fmt.Errorf("listening on %s: %w", cfg.Listen, err)
				}
				defer listener.Close()
				api, err := wire.API(c.Context(), cfg, listener, nil, fetch.Options{}, log)
				if err != nil {
					return err
				}
				return api.Run(c.Context())
			},
		},
		&cobra.Command{
			Use: "worker", Short: "Mirror the tenant's metadata", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				cfg := config.Read(os.Getenv)
				worker, err := wire.Worker(c.Context(), cfg, newLog(errOut, cfg.Environment))
				if err != nil {
					return err
				}
				return worker.Run(c.Context())
			},
		},
		newRotateIdentity(),
		&cobra.Command{
			Use: "migrate", Short: "Bring the database up to this version", Args: noArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				url := config.Read(os.Getenv).DatabaseMigrator
				if url == "" {
					return errors.New("DATABASE_URL_MIGRATOR must be a PostgreSQL address for the role migrator")
				}
				return postgres.Migrate(c.Context(), url)
			},
		},
	)
	return server
}

// newLog writes JSON for machines in production and text for people elsewhere.
func newLog(w io.Writer, e config.Environment) *slog.Logger {
	if e.Relaxed() {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
