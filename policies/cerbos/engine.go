package cerbos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Version is the one version of Cerbos that policies are tested in; scripts/cerbos
// installs it, and Image is the same as a container.
const (
	Version = "0.55.0"
	Image   = "ghcr.io/cerbos/cerbos@sha256:4b9d3b58c4f11c1b8953bc798d8d086e64f276882253ab169625fddc7f432515"
)

// programFolder is where scripts/setup installs the program, in a checkout.
const programFolder = "scripts/cerbos/node_modules/@cerbos"

var errMissing = errors.New("the Cerbos program is missing: run scripts/setup, or name it with PBMB_CERBOS")

// Find returns the path of the Cerbos program: PBMB_CERBOS, else that on PATH,
// else that of the checkout that this program, or the working directory, lies in.
func Find(getenv func(string) string) (string, error) {
	if named := getenv("PBMB_CERBOS"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("PBMB_CERBOS is %s, which is not a program", named)
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath("cerbos"); err == nil {
		return filepath.Abs(path)
	}
	var starts []string
	if executable, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(executable); err == nil {
			starts = append(starts, filepath.Dir(real))
		}
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, start := range starts {
		for folder := start; ; folder = filepath.Dir(folder) {
			found, err := filepath.Glob(filepath.Join(folder, programFolder, "cerbos-*", "cerbos-*"))
			if err == nil && len(found) > 0 {
				return found[0], nil
			}
			if folder == filepath.Dir(folder) {
				break
			}
		}
	}
	return "", errMissing
}

// An Engine is the pinned version of Cerbos, to try policies in: a container of it
// or the program. Make one with [FindEngine].
type Engine struct {
	docker  string // the path of docker, or
	program string // that of Cerbos
}

// FindEngine returns the engine of this machine: the program that PBMB_CERBOS
// names, else a container where Docker runs, else an installed program. A program
// of another version than [Version] is refused. Errors are one sentence.
func FindEngine(ctx context.Context, getenv func(string) string) (*Engine, error) {
	if getenv("PBMB_CERBOS") == "" {
		// The command alone, without a service that it reaches, is no Docker.
		if docker, err := exec.LookPath("docker"); err == nil &&
			exec.CommandContext(ctx, docker, "version", "--format", "{{.Server.Version}}").Run() == nil {
			return &Engine{docker: docker}, nil
		}
	}
	program, err := Find(getenv)
	if errors.Is(err, errMissing) {
		return nil, fmt.Errorf("neither Docker nor Cerbos %s is here: start Docker, or name that program with PBMB_CERBOS", Version)
	}
	if err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s does not say its version (%w): name Cerbos %s with PBMB_CERBOS", program, err, Version)
	}
	if version, _, _ := strings.Cut(string(said), "\n"); strings.TrimSpace(version) != Version {
		return nil, fmt.Errorf("%s is Cerbos %s, and policies are tested in %s alone: install that, or start Docker", program, strings.TrimSpace(version), Version)
	}
	return &Engine{program: program}, nil
}

// A Layer is a folder of policies or tests, and the name under which the engine
// sees it.
type Layer struct{ Folder, As string }

// Compile compiles the policies of all layers together and runs the tests among
// them. It returns what the engine printed and whether all passed; an error, one
// sentence, means that it could not be asked.
func (e *Engine) Compile(ctx context.Context, layers ...Layer) (output string, passed bool, err error) {
	var cmd *exec.Cmd
	if e.docker != "" {
		args := append([]string{"run", "--rm", "--network", "none"}, asWeAre()...)
		for _, l := range layers {
			args = append(args, mount(l.Folder, "/policies/"+l.As)...)
		}
		cmd = exec.CommandContext(ctx, e.docker, append(args, Image, "compile", "--color=never", "/policies")...)
	} else {
		dir, err := os.MkdirTemp("", "pbmb-policies-")
		if err != nil {
			return "", false, err
		}
		defer os.RemoveAll(dir)
		for _, l := range layers {
			if err := os.CopyFS(filepath.Join(dir, l.As), os.DirFS(l.Folder)); err != nil {
				return "", false, fmt.Errorf("reading %s: %w", l.Folder, err)
			}
		}
		cmd = exec.CommandContext(ctx, e.program, "compile", "--color=never", dir)
	}
	out, err := cmd.CombinedOutput()
	if exit, exited := errors.AsType[*exec.ExitError](err); exited && exit.Exited() {
		if e.docker != "" && exit.ExitCode() == dockerFailed {
			return "", false, fmt.Errorf("the image of Cerbos %s cannot be run (%s): see whether this machine reaches ghcr.io, or name that program with PBMB_CERBOS", Version, lastLine(out))
		}
		return string(out), false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("running Cerbos: %w", err)
	}
	return string(out), true, nil
}

// dockerFailed is how docker itself ends where it could not start a container.
const dockerFailed = 125

// asWeAre runs a container as whoever asks, who may be the only one that a mounted
// folder is open to.
func asWeAre() []string {
	return []string{"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())}
}

// mount shows a container a file or folder that it cannot write.
func mount(from, to string) []string { return []string{"--volume", from + ":" + to + ":ro"} }

func lastLine(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if line := strings.TrimSpace(string(lines[i])); line != "" && !strings.HasPrefix(line, "Run 'docker") && !strings.HasPrefix(line, "See 'docker") {
			return strings.TrimPrefix(strings.TrimPrefix(line, "docker: "), "Error response from daemon: ")
		}
	}
	return "docker does not say why"
}

// Serve runs the engine on the policies of a folder, which it reads once, and
// waits until it answers at target, which is what [New] takes. The caller calls
// stop. An error has the end of what the engine printed.
func (e *Engine) Serve(ctx context.Context, policyDir string) (target string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "pbmb-cerbos-")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var cmd *exec.Cmd
	config := filepath.Join(dir, "cerbos.yaml")
	if e.docker != "" {
		port, err := freePort()
		if err != nil {
			cancel()
			return "", nil, err
		}
		target = fmt.Sprintf("127.0.0.1:%d", port)
		name := filepath.Base(dir)
		args := append([]string{"run", "--rm", "--name", name, "--publish", target + ":3593"}, asWeAre()...)
		args = append(append(args, mount(policyDir, "/policies")...), mount(config, "/cerbos.yaml")...)
		cmd = exec.CommandContext(ctx, e.docker, append(args, Image, "server", "--config=/cerbos.yaml", "--log-level=WARN")...)
		cmd.Cancel = func() error {
			_ = exec.Command(e.docker, "kill", name).Run() // it may be gone
			return cmd.Process.Kill()
		}
		err = os.WriteFile(config, configuration(":3593", ":3592", "/policies"), 0o644)
		if err != nil {
			cancel()
			return "", nil, err
		}
	} else {
		target = filepath.Join(dir, "s")
		if err := os.WriteFile(config, Config(target, policyDir), 0o600); err != nil {
			cancel()
			return "", nil, err
		}
		cmd = Command(ctx, e.program, config)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	ended := make(chan struct{})
	stop = func() {
		cancel()
		<-ended
		_ = os.RemoveAll(dir) // what stays is one small file
	}
	if err := cmd.Start(); err != nil {
		close(ended)
		stop()
		return "", nil, fmt.Errorf("running Cerbos: %w", err)
	}
	go func() {
		_ = cmd.Wait() // stopped by us, or its output says why
		close(ended)
	}()
	if err := Answers(ctx, target, ended); err != nil {
		stop()
		return "", nil, fmt.Errorf("Cerbos does not start (%w): %s", err, Tail(out.String(), 12))
	}
	return target, stop, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Answers waits until the Cerbos at target says that it serves, or has ended.
func Answers(ctx context.Context, target string, ended <-chan struct{}) error {
	if strings.HasPrefix(target, "/") {
		target = "unix:" + target
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	health := grpc_health_v1.NewHealthClient(conn)
	for {
		answer, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err == nil && answer.Status == grpc_health_v1.HealthCheckResponse_SERVING {
			return nil
		}
		conn.ResetConnectBackoff()
		select {
		case <-ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Tail is the last lines of what a program printed, without empty ones.
func Tail(output string, lines int) string {
	all := slices.DeleteFunc(strings.Split(output, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
