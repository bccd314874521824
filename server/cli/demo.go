package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/server/cli/command"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/server/wire"
)

func newDemo(out, errOut io.Writer) *cobra.Command {
	var o demo.Options
	var verbose bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run everything on the sample tenant, with a private PostgreSQL and Cerbos",
		Long: `Runs the whole product on this machine: a private PostgreSQL, Cerbos, the
sample tenant, the api and the worker. Everything that it starts stops with it,
and what it keeps is in one folder.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			level := slog.LevelWarn
			if verbose {
				level = slog.LevelInfo
			}
			o.Out, o.Log = out, slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
			return demo.Run(c.Context(), o, wire.DemoParts(fetch.Options{}, o.Log))
		},
	}
	flags := c.Flags()
	flags.StringVar(&o.Data, "data", demo.DefaultData(os.Getenv), "folder of what it keeps")
	flags.StringVar(&o.Listen, "listen", demo.DefaultListen, "host and port of the api")
	flags.StringVar(&o.SampleListen, "sample-listen", demo.DefaultSampleListen, "host and port of the sample tenant")
	flags.StringArrayVar(&o.Models, "model", nil, "a .bim file or TMDL folder to add; repeatable")
	flags.StringVar(&o.ReadyFile, "ready-file", "", "file to write, as JSON, once everything is ready")
	flags.BoolVar(&verbose, "verbose", false, "log every request")
	c.AddCommand(newDemoRestart())
	return c
}

func newDemoRestart() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use: "restart cerbos", Short: "Have the Cerbos of a running demo read its policies anew",
		Long: `Restarts the Cerbos of the demo that runs on the data folder, which reads the
policies in access/policies there when it starts. Where they do not compile, it
goes on with those that it has. A deployment does this by
docker compose restart cerbos.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "cerbos" {
				return &command.UsageError{Err: errors.New("say what to restart: pbmb demo restart cerbos")}
			}
			return nil
		},
		ValidArgs: []string{"cerbos"},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := demo.RestartCerbos(c.Context(), data); err != nil {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(), "Cerbos was restarted and has read its policies.")
			return nil
		},
	}
	c.Flags().StringVar(&data, "data", demo.DefaultData(os.Getenv), "data folder of the demo")
	return c
}
