// Command pbmb is the Power BI Metrics Book: the api, the worker, the sample
// tenant and the demonstration of all of them, by subcommand.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/pbmb/pbmb/server/cli"
)

// gcPercent trades memory, of which an idle process holds little, for the
// processor's time: at the default, a seventh of a request goes into collecting.
const gcPercent = 300

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
