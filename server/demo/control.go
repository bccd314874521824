package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A running demo is told what to do over a socket in its runtime folder, which
// only who runs it opens. A request is a line, an answer one JSON object.
const (
	controlSocket = "control.sock"
	restartCerbos = "restart cerbos"
)

type controlAnswer struct {
	Error string `json:"error,omitempty"`
}

// listenControl serves requests until the returned function is called.
func listenControl(data *folder, do func(context.Context) error) (stop func(), err error) {
	path := filepath.Join(data.runtime, controlSocket)
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
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
			answerControl(ctx, conn, do) // one after another: two restarts at once are one too many
		}
	})
	return func() {
		cancel()
		l.Close()
		running.Wait()
	}, nil
}

func answerControl(ctx context.Context, conn net.Conn, do func(context.Context) error) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // a socket of our own takes it
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	var answer controlAnswer
	if strings.TrimSpace(line) != restartCerbos {
		answer.Error = "this demo knows no such command; is it of another version?"
	} else if err := do(ctx); err != nil {
		answer.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(answer) // whoever asked may have gone
}

// RestartCerbos has the Cerbos of the demo that runs on a data folder read its
// policies anew, and returns when it answers again. Its errors are for people.
func RestartCerbos(ctx context.Context, data string) error {
	path, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	runtime, err := os.ReadFile(filepath.Join(path, "lock"))
	if err != nil || !strings.HasPrefix(string(runtime), runtimePrefix) {
		return fmt.Errorf("no demo has used %s: name its data folder with --data", path)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(string(runtime), controlSocket))
	if err != nil {
		return fmt.Errorf("no demo that you may command runs on %s (%w)", path, cause(err))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintln(conn, restartCerbos); err != nil {
		return err
	}
	var answer controlAnswer
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return fmt.Errorf("the demo on %s ended before it answered", path)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
