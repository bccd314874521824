package cli

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/internal/fetch"
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
	return c
}
