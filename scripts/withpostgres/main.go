// Command withpostgres runs a command while a throwaway PostgreSQL is there for
// its tests: one for all packages, instead of one for each.
//
//	go run ./scripts/withpostgres go test ./...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/pbmb/pbmb/internal/postgres/postgrestest"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run returns the command's exit status.
func run(args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("name the command to run")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, stopServer, err := postgrestest.Start(ctx)
	if err != nil {
		return 0, err
	}
	defer stopServer()

	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.Env = append(os.Environ(), postgrestest.SharedVariable+"="+server.SuperuserURL())
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}
