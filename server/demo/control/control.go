// Package control tells a running demo what to do, over a Unix socket in its
// runtime folder that only who runs it opens. It reaches nothing else. A request
// is a line, an answer one JSON object.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const restartCerbos = "restart cerbos"

type answer struct {
	Error string `json:"error,omitempty"`
}

// Serve listens at the path of a socket, and calls restart for each request to
// restart Cerbos, one after another, until the returned function is called.
func Serve(socket string, restart func(context.Context) error) (stop func(), err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			handle(ctx, conn, restart)
		}
	})
	return func() {
		cancel()
		l.Close()
		running.Wait()
	}, nil
}

func handle(ctx context.Context, conn net.Conn, restart func(context.Context) error) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // a socket takes one
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	var a answer
	if strings.TrimSpace(line) != restartCerbos {
		a.Error = "this demo knows no such command; is it of another version?"
	} else if err := restart(ctx); err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(a) // whoever asked may have gone
}

// ErrNobody is returned, wrapped, where no demo listens at the socket.
var ErrNobody = errors.New("no demo that you may command listens")

// RestartCerbos asks the demo that listens at the path of a socket to restart its
// Cerbos, and returns when that is done. The demo's own errors are for people.
func RestartCerbos(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNobody, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintln(conn, restartCerbos); err != nil {
		return err
	}
	var a answer
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		return errors.New("the demo ended before it answered")
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}
