// Package process runs child processes that do not outlive us: each is asked
// to end when it is stopped, and by the kernel when this process dies without
// stopping it.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A Command says what to run. The child gets exactly the environment in Env.
type Command struct {
	Path       string
	Args       []string // without the program's name
	Env        []string
	Dir        string
	Credential *syscall.Credential // who to run as; nil for who we are
	Output     *os.File            // takes standard output and standard error; nil discards them

	// Terminate asks the child to end: SIGTERM where it is zero.
	Terminate syscall.Signal
}

// A Process is a child that was started.
type Process struct {
	cmd       *exec.Cmd
	terminate syscall.Signal
	done      chan struct{}
	err       error // set before done is closed
}

// Start starts the child in a process group of its own, so that an interrupt
// typed at a terminal reaches us alone and we stop children in our order.
func Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append([]string{}, c.Env...) // never nil, which would mean ours
	cmd.Dir = c.Dir
	if c.Output != nil { // a nil *os.File in an interface is not nil
		cmd.Stdout, cmd.Stderr = c.Output, c.Output
	}
	terminate := c.Terminate
	if terminate == 0 {
		terminate = syscall.SIGTERM
	}
	cmd.SysProcAttr = attributes(terminate)
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Credential = c.Credential

	p := &Process{cmd: cmd, terminate: terminate, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the death of the thread that started the child for
		// the death of its parent, so this thread stays until the child ends.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	return p, nil
}

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the child ended; it is nil for exit status 0. Call it after
// Done is closed.
func (p *Process) Err() error { return p.err }

// Stop asks the child to end, waits up to grace, and then kills its whole
// process group. It returns when the child is gone, and does nothing to one
// that is gone already.
func (p *Process) Stop(grace time.Duration) {
	select {
	case <-p.done:
		return
	default:
	}
	// ErrProcessDone: it ended just now, and Done tells.
	if err := p.cmd.Process.Signal(p.terminate); err != nil && !errors.Is(err, os.ErrProcessDone) {
		grace = 0
	}
	select {
	case <-p.done:
	case <-time.After(grace):
		// ESRCH means the same again.
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		<-p.done
	}
}
