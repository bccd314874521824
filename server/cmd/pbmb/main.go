// Command pbmb is the Power BI Metrics Book: the api, the worker, the sample
// tenant and the demonstration of all of them, by subcommand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pbmb/pbmb/server/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
