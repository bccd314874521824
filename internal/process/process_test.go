package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pbmb/pbmb/internal/process"
)

// TestMain lets this test binary stand in for a parent that starts a child and
// is killed before it can stop it.
func TestMain(m *testing.M) {
	if os.Getenv("PROCESS_TEST_PARENT") != "" {
		child, err := process.Start(process.Command{Path: "/bin/sleep", Args: []string{"600"}})
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString(strconv.Itoa(child.PID()) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

// OPS-03
func TestChildDiesWithAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "PROCESS_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent said %q", line)
	}
	if !running(pid) {
		t.Fatalf("the child %d is not running before its parent is killed", pid)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait() // it was killed: the error says so
	for deadline := time.Now().Add(10 * time.Second); running(pid); {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("the child %d still runs 10 s after its parent was killed", pid)
		}
		time.Sleep(10 * time.Millisecond) // nothing tells when a grandchild ends
	}
}

// OPS-03
func TestStopKillsAChildThatIgnoresTheSignal(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	child, err := process.Start(process.Command{
		Path:   "/bin/sh",
		Args:   []string{"-c", "trap '' TERM; echo ready; while :; do /bin/sleep 1; done"},
		Output: in,
	})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	child.Stop(50 * time.Millisecond)
	if running(child.PID()) {
		t.Errorf("the child still runs after Stop")
	}
	child.Stop(0) // a second time does nothing
}

func TestStopIsGentleFirst(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	child, err := process.Start(process.Command{
		Path:   "/bin/sh",
		Args:   []string{"-c", "trap 'exit 0' TERM; echo ready; while :; do /bin/sleep 0.05; done"},
		Output: in,
	})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	child.Stop(time.Minute)
	if err := child.Err(); err != nil {
		t.Errorf("got %v, want the exit status 0 of the child's own handler", err)
	}
}

// running reports whether there is such a process, zombies not counted: who
// reaps an orphan is the machine's matter.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}
