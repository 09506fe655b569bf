package serve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bomb forks for ever, as fast as the kernel does. Its children only stay: after a bare fork nothing of the Go runtime may be used.
func bomb() {
	for {
		if pid, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0); errno == 0 && pid == 0 {
			for {
				syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		}
	}
}

// crowded is a control group that may have so many processes and threads.
func crowded(t *testing.T, pids int) (folder string) {
	t.Helper()
	parent := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(parent); err != nil {
		parent = "/sys/fs/cgroup"
	}
	folder = filepath.Join(parent, "serve-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Skipf("needs a control group of its own to fill: %v", err)
	}
	t.Cleanup(func() {
		for range 1000 {
			killAll(folder)
			if syscall.Rmdir(folder) == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", folder)
	})
	if err := os.WriteFile(filepath.Join(folder, "pids.max"), []byte(strconv.Itoa(pids)), 0o644); err != nil {
		t.Skipf("needs the pids controller: %v", err)
	}
	return folder
}

// within is a command that enters a control group first.
func within(cmd *exec.Cmd, group string) *exec.Cmd {
	words := append([]string{"-c", `echo $$ >"$0" && exec "$@"`, group + "/cgroup.procs", cmd.Path}, cmd.Args[1:]...)
	return exec.Command("sh", words...)
}

func killAll(group string) {
	members, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		for _, member := range strings.Fields(string(members)) {
			if pid, err := strconv.Atoi(member); err == nil {
				_ = syscall.Kill(pid, signal)
			}
		}
	}
}

func TestACallThatFillsTheProcessTableIsKilledAndTheOthersAndServeLive(t *testing.T) {
	group := crowded(t, 256)
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/workspace", 0o755); err != nil {
		t.Fatal(err)
	}
	copyOf(t, dir+"/workspace/bomb")
	o := run(t, within(self(t, flags(dir, "--stdio")...), group))
	o.greet()
	o.ask(2, "neighbour", "sleep 60")
	o.expect(`"started"`)
	for n := range 5 {
		o.start("bomb-"+strconv.Itoa(n), "exec ./bomb bomb")
		if _, exit := o.output(); !strings.Contains(exit, `"TooManyProcesses"`) {
			t.Errorf("a bomb ended %s", exit)
		}
	}
	o.start("after", "echo well")
	if text, exit := o.output(); text != "well\n" || !strings.Contains(exit, `"code":0`) {
		t.Errorf("%q, %s", text, exit)
	}
	o.send(`{"type":"list","id":1}`)
	o.expect(`{"uid":"neighbour","state":"Running"}`)
}

func TestWhereFewProcessesAreLeftAStartIsRefusedAndServeLives(t *testing.T) {
	group := crowded(t, 256)
	o := run(t, within(self(t, flags(t.TempDir(), "--stdio")...), group))
	o.greet()
	o.start("a", "true")
	o.output()
	time.Sleep(200 * time.Millisecond) // Its shim is gone, and there is another in its place.
	current, err := os.ReadFile(group + "/pids.current")
	if err != nil {
		t.Fatal(err)
	}
	used, _ := strconv.Atoi(strings.TrimSpace(string(current)))
	for _, row := range []struct {
		limit  int
		answer string
	}{{used + 5, "processes"}, {256, `"started"`}} {
		if err := os.WriteFile(group+"/pids.max", []byte(strconv.Itoa(row.limit)), 0o644); err != nil {
			t.Fatal(err)
		}
		o.ask(1, "b", "true")
		o.expect(row.answer)
	}
}

func TestToolsKeepTheLimitOfOpenFilesThatServeRaisesForItself(t *testing.T) {
	serve := self(t, flags(t.TempDir(), "--stdio")...)
	words := append([]string{"-c", `ulimit -Sn 500 && ulimit -Hn 2000 && exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)
	o := run(t, exec.Command("bash", words...))
	o.greet()
	o.start("a", "ulimit -Sn; ulimit -Hn")
	if text, exit := o.output(); text != "500\n2000\n" {
		t.Errorf("%q, %s", text, exit)
	}
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(o.cmd.Process.Pid) + "/limits")
	if err != nil || !regexp.MustCompile(`Max open files +(1999|2000) +2000`).Match(limits) {
		t.Errorf("serve has %s, %v", limits, err)
	}
}

func TestWithFewFilesLeftToOpenAStartIsRefusedAndNoOutputIsLost(t *testing.T) {
	serve := self(t, flags(t.TempDir(), "--stdio")...)
	words := append([]string{"-c", `ulimit -n 64 && exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)
	o := run(t, exec.Command("sh", words...))
	o.greet()
	started := 0
	for n := range 20 {
		o.ask(n+1, fmt.Sprintf("call-%d", n), "sleep 0.5; echo out; echo err >&2; sleep 60")
		if answer := o.next(); strings.Contains(answer, `"Unavailable"`) && strings.Contains(answer, "files") {
			break
		}
		started++
	}
	if started < 2 || started == 20 {
		t.Errorf("%d calls were started", started)
	}
	for range started * 2 {
		o.expect("\n")
	}
}
