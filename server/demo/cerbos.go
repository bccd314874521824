package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pbmb/pbmb/internal/process"
	"github.com/pbmb/pbmb/policies/cerbos"
	defaults "github.com/pbmb/pbmb/policies/default"
	"github.com/pbmb/pbmb/policies/deployment"
)

// cerbosName is what Cerbos is called among the programs.
const cerbosName = "Cerbos"

// startCerbos starts Cerbos on the shipped policies with those of the data folder
// over them, and returns its address.
func (p *programs) startCerbos(ctx context.Context, getenv func(string) string) (string, error) {
	program, err := cerbos.Find(getenv)
	if err != nil {
		return "", err
	}
	if p.cerbos, err = p.reachable(program); err != nil {
		return "", err
	}
	sockets, err := p.data.sockets("cerbos")
	if err != nil {
		return "", err
	}
	socket := filepath.Join(sockets, "cerbos.sock")
	if err := p.layPolicies(ctx); err != nil {
		return "", fmt.Errorf("%w\nPut that right, or move the file out of the way", err)
	}
	configFile := filepath.Join(p.data.path, "cerbos.yaml")
	if err := os.WriteFile(configFile, cerbos.Config(socket, p.policyFolder()), 0o644); err != nil {
		return "", err
	}
	err = p.keep(ctx, cerbosName, func(ctx context.Context) (child, error) {
		return p.runCerbos(ctx, p.cerbos, configFile, socket)
	})
	return "unix:" + socket, err
}

// policyFolder is what Cerbos reads: copies, so that nothing changes under it.
func (p *programs) policyFolder() string { return filepath.Join(p.data.path, "policies") }

// layPolicies puts the policies as they are now where Cerbos reads them when it
// next starts. Where they cannot lie over the shipped ones, or do not compile, it
// says why and leaves the ones before in place.
func (p *programs) layPolicies(ctx context.Context) error {
	own := filepath.Join(p.data.path, filepath.FromSlash(deployment.PolicyFolder))
	next := p.policyFolder() + ".new"
	if err := cerbos.LayPolicies(next, defaults.Files, os.DirFS(own)); err != nil {
		if _, wrong := errors.AsType[*deployment.Error](err); wrong {
			return fmt.Errorf("the policies in %s cannot be used: %w", own, err)
		}
		return err
	}
	compile := cerbos.Compile(ctx, p.cerbos, next)
	compile.Dir = "/"
	if p.data.account.Credential != nil {
		compile.SysProcAttr = &syscall.SysProcAttr{Credential: p.data.account.Credential}
	}
	if out, err := compile.CombinedOutput(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			return fmt.Errorf("running Cerbos: %w", err)
		}
		return fmt.Errorf("the policies in %s do not compile:\n%s", p.data.path, cerbos.Tail(string(out), 20))
	}
	if err := os.RemoveAll(p.policyFolder()); err != nil {
		return err
	}
	return os.Rename(next, p.policyFolder())
}

// restartCerbos has Cerbos read its policies anew. Where those are not right, the
// one that runs goes on as it is.
func (p *programs) restartCerbos(ctx context.Context) error {
	if p.cerbos == "" {
		return errors.New("this demo uses a Cerbos that it did not start: restart that where it runs")
	}
	if err := p.layPolicies(ctx); err != nil {
		return fmt.Errorf("%w\nCerbos was not restarted and decides by the policies that it had", err)
	}
	return p.restart(ctx, cerbosName)
}

// A server is a child process without more to it.
type server struct {
	*process.Process
}

func (s server) Stop() { s.Process.Stop(5 * time.Second) }

func (p *programs) runCerbos(ctx context.Context, program, configFile, socket string) (child, error) {
	log, err := os.OpenFile(filepath.Join(p.data.path, "cerbos.log"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// A killed process leaves its sockets behind, which the next could not open.
	for _, name := range []string{socket, socket + ".http"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	command := cerbos.Command(ctx, program, configFile)
	started, err := process.Start(process.Command{
		Path:       command.Path,
		Args:       command.Args[1:],
		Env:        command.Env,
		Dir:        "/",
		Credential: p.data.account.Credential,
		Output:     log,
	})
	if err != nil {
		return nil, err
	}
	running := server{started}
	if err := cerbos.Answers(ctx, socket, running.Done()); err != nil {
		running.Stop()
		return nil, fmt.Errorf("Cerbos does not start (%w): see %s", err, log.Name())
	}
	return running, nil
}

// reachable is a path of the program that its account can reach. Where that is
// not the one it was found under, as in a checkout below /root, it is copied.
func (p *programs) reachable(program string) (string, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	if p.data.account.Reaches(program) == nil {
		return program, nil
	}
	source, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("cerbos-%d-%d", info.Size(), info.ModTime().Unix())
	copied := filepath.Join(p.data.path, name)
	if _, err := os.Stat(copied); err == nil {
		return copied, nil
	}
	old, err := os.ReadDir(p.data.path)
	if err != nil {
		return "", err
	}
	for _, entry := range old {
		if strings.HasPrefix(entry.Name(), "cerbos-") {
			os.Remove(filepath.Join(p.data.path, entry.Name())) // only space is lost where it stays
		}
	}
	target, err := os.OpenFile(copied+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	defer target.Close()
	if _, err := io.Copy(target, source); err != nil {
		return "", err
	}
	if err := target.Close(); err != nil {
		return "", err
	}
	return copied, os.Rename(copied+".new", copied)
}
