package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/pbmb/pbmb/internal/fetch"
	"github.com/pbmb/pbmb/server/config"
	"github.com/pbmb/pbmb/server/demo"
	"github.com/pbmb/pbmb/server/wire"
	"github.com/pbmb/pbmb/sync/sample"
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

func newSample(out, errOut io.Writer) *cobra.Command {
	var listen string
	var cfg sample.Config
	serve := &cobra.Command{
		Use: "serve", Short: "Serve the stand-in for Entra, Graph and Power BI", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			listener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listening on %s: %w", listen, err)
			}
			defer listener.Close()
			url := "http://" + listener.Addr().String()
			cfg.URL, cfg.Log = url, newLog(errOut, config.Development)
			tenant, err := sample.New(cfg)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "sample tenant %s at %s\n", sample.TenantID, url)
			return demo.ServeUntilDone(c.Context(), listener, tenant.Handler())
		},
	}
	serve.Flags().StringVar(&listen, "listen", demo.DefaultSampleListen, "host and port")
	serve.Flags().StringArrayVar(&cfg.Models, "model", nil, "a .bim file or TMDL folder to add; repeatable")
	serve.Flags().IntVar(&cfg.Workspaces, "workspaces", 0, "by how many made-up workspaces the tenant grows")
	serve.Flags().Uint64Var(&cfg.Seed, "seed", 0, "what they are made up from")
	serve.Flags().BoolVar(&cfg.Unlimited, "unlimited", false, "turn off Power BI's limits on calls")
	parent := &cobra.Command{
		Use: "sample", Short: "The sample tenant by itself", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	parent.AddCommand(serve)
	return parent
}
