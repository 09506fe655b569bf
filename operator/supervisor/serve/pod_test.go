package serve

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pod is a serve that is process 1 of its own process namespace, as in a container.
type pod struct {
	t   *testing.T
	pid string // of process 1, seen from outside
}

func newPod(t *testing.T) pod {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: it makes a process namespace")
	}
	dir := t.TempDir()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--pid", "--net", "--fork", "--kill-child", "--mount-proc", "--", path}, flags(dir)...)
	unshare := exec.Command("unshare", args...)
	unshare.Stderr = os.Stderr
	if err := unshare.Start(); err != nil {
		t.Skipf("needs unshare of util-linux: %v", err)
	}
	t.Cleanup(func() { _ = unshare.Process.Kill(); _ = unshare.Wait() })
	children := "/proc/" + strconv.Itoa(unshare.Process.Pid) + "/task/" + strconv.Itoa(unshare.Process.Pid) + "/children"
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		child, _ := os.ReadFile(children)
		p := pod{t, strings.TrimSpace(string(child))}
		if p.pid != "" && p.listens() {
			return p
		}
	}
	t.Fatal("serve does not listen")
	return pod{}
}

func (p pod) listens() bool {
	sockets, _ := os.ReadFile("/proc/" + p.pid + "/net/unix")
	return strings.Contains(string(sockets), "@toolcall-supervisor")
}

// exec runs a command in the pod, as a container runtime does: its parent is outside.
func (p pod) exec(words ...string) *exec.Cmd {
	p.t.Helper()
	path, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, "SUPERVISOR", path)
	}
	return exec.Command("nsenter", append([]string{"-t", p.pid, "-p", "-m", "-n", "--"}, words...)...)
}

func TestAnOperatorComesInByExecAndItsCallsOutliveItsConnection(t *testing.T) {
	p := newPod(t)
	o := run(t, p.exec("SUPERVISOR", "connect"))
	o.greet()
	o.start("a", "echo first; sleep 0.3; echo second")
	o.expect("first")
	_ = o.cmd.Process.Kill()
	again := run(t, p.exec("SUPERVISOR", "connect"))
	again.greet()
	again.start("a", "echo never")
	if text, exit := again.output(); text != "first\nsecond\n" || !strings.Contains(exit, `"code":0`) {
		t.Errorf("%q, %s", text, exit)
	}
}

func TestAProcessThatWasStartedInsideIsNotAnOperator(t *testing.T) {
	p := newPod(t)
	o := run(t, p.exec("sh", "-c", "SUPERVISOR connect; exit")) // connect is a child of sh, and not of the runtime.
	if got := o.next(); got != "" {
		t.Errorf("it was answered %q", got)
	}
}

func TestAToolDoesNotReachTheSocketOfServe(t *testing.T) {
	p := newPod(t)
	o := run(t, p.exec("SUPERVISOR", "connect"))
	o.greet()
	path, _ := os.Executable()
	o.start("a", "cp "+path+" $TMPDIR/c 2>/dev/null; "+path+" connect 2>&1 </dev/null; $TMPDIR/c connect 2>&1 </dev/null")
	if text, _ := o.output(); strings.Contains(text, "hello") || strings.Contains(text, "process 1") {
		t.Errorf("got %q", text)
	}
}

func TestAToolThatIsOrphanedIsReapedByProcess1sShim(t *testing.T) {
	p := newPod(t)
	o := run(t, p.exec("SUPERVISOR", "connect"))
	o.greet()
	o.start("a", "for i in 1 2 3; do (sh -c 'exit 0' &) ; done; sleep 0.2; ls /proc | grep -c '^[0-9]'")
	if _, exit := o.output(); !strings.Contains(exit, `"code":0`) {
		t.Errorf("got %s", exit)
	}
}

func TestAPodThatIsToldToStopEndsSoonAfterItsExitsWereTaken(t *testing.T) {
	p := newPod(t)
	o := run(t, p.exec("SUPERVISOR", "connect"))
	o.greet()
	o.start("a", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done")
	o.expect("ready")
	pid, _ := strconv.Atoi(p.pid)
	process, _ := os.FindProcess(pid)
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, exit := o.output(); !strings.Contains(exit, `"cause":"Terminating","code":0`) {
		t.Errorf("got %s", exit)
	}
	o.send(`{"type":"acknowledge","id":1,"uid":"a"}`)
	for end := time.Now().Add(5 * time.Second); isAlive(p.pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("serve lingers")
		}
	}
}
