package serve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolcall-operator/supervisor/internal/proctree"
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

// manyThreads is a program with so many threads, made at this pace.
func manyThreads(n int, pace time.Duration) {
	for range n {
		go func() {
			runtime.LockOSThread()
			time.Sleep(time.Minute)
		}()
		time.Sleep(pace)
	}
	time.Sleep(time.Minute)
}

// pidsMount is where the pids controller of this machine lies.
func pidsMount() string {
	if _, err := os.Stat("/sys/fs/cgroup/pids"); err == nil {
		return "/sys/fs/cgroup/pids"
	}
	return "/sys/fs/cgroup"
}

// crowded is a control group that may have so many processes and threads.
func crowded(t *testing.T, pids int) (folder string) {
	t.Helper()
	folder = group(t, filepath.Join(pidsMount(), "serve-test-"+strconv.Itoa(os.Getpid())))
	if err := os.WriteFile(filepath.Join(folder, "pids.max"), []byte(strconv.Itoa(pids)), 0o644); err != nil {
		t.Skipf("needs the pids controller: %v", err)
	}
	return folder
}

// group makes a control group, which is gone after the test with all that is in it.
func group(t *testing.T, folder string) string {
	t.Helper()
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
	return folder
}

// container is a command in a container of a pod that may have so many processes and threads: the pod's group cannot be seen in there, and the
// container's own, which can, has no limit.
func container(t *testing.T, cmd *exec.Cmd, pids int) (contained *exec.Cmd, pod string) {
	t.Helper()
	pod = crowded(t, pids)
	_ = os.WriteFile(filepath.Join(pod, "cgroup.subtree_control"), []byte("+pids"), 0o644) // On cgroup v2 only.
	inner := group(t, filepath.Join(pod, "container"))
	script := `mount --bind "$0" "$1" && shift && exec "$@"`
	words := append([]string{"--mount", "--cgroup", "sh", "-c", script, inner, pidsMount(), cmd.Path}, cmd.Args[1:]...)
	return within(exec.Command("unshare", words...), inner), pod
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

// stocked is a folder for a serve whose workspace holds this program under another name.
func stocked(t *testing.T, program string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(dir+"/workspace", 0o755); err != nil {
		t.Fatal(err)
	}
	copyOf(t, dir+"/workspace/"+program)
	return dir
}

func TestACallThatFillsTheProcessTableIsKilledAndTheOthersAndServeLive(t *testing.T) {
	group := crowded(t, 256)
	dir := stocked(t, "bomb")
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
	words := append([]string{"-c", `ulimit -Sn 300 && ulimit -Hn 600 && exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)
	o := run(t, exec.Command("bash", words...))
	o.greet()
	o.start("a", "ulimit -Sn; ulimit -Hn")
	if text, exit := o.output(); text != "300\n600\n" {
		t.Errorf("%q, %s", text, exit)
	}
	limits, err := os.ReadFile("/proc/" + strconv.Itoa(o.cmd.Process.Pid) + "/limits")
	if err != nil || !regexp.MustCompile(`Max open files +(599|600) +600`).Match(limits) {
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

// denied is how often the kernel refused a process or thread to a group.
func denied(t *testing.T, group string) string {
	t.Helper()
	events, err := os.ReadFile(group + "/pids.events")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(events))
}

func TestCallsThatAreStartedAtOnceAreRefusedBeforeALimitIsMetThatCannotBeSeen(t *testing.T) {
	serve, pod := container(t, self(t, flags(stocked(t, "program"), "--stdio", "--tasks", "512")...), 512)
	o := run(t, serve)
	o.greet()
	const many = 100
	for n := range many {
		o.ask(n+1, fmt.Sprintf("call-%d", n), "exec ./program threads 2 1us")
	}
	started := 0
	for range many {
		switch answer := o.next(); {
		case strings.Contains(answer, `"started"`):
			started++
		case !strings.Contains(answer, `"Unavailable"`) || !strings.Contains(answer, "processes and threads"):
			t.Fatalf("got %q; stderr: %s", answer, o.errors)
		}
	}
	if started < 10 || started > 50 {
		t.Errorf("%d calls were started", started)
	}
	time.Sleep(300 * time.Millisecond)
	o.send(`{"type":"list","id":1}`)
	if list := o.next(); strings.Count(list, `"Running"`) != started {
		t.Errorf("of %d calls there are %s", started, list)
	}
	if events := denied(t, pod); events != "max 0" {
		t.Errorf("the limit was met: %s", events)
	}
}

func TestTheCallWithTheMostThreadsDiesBeforeALimitIsMetThatCannotBeSeen(t *testing.T) {
	serve, pod := container(t, self(t, flags(stocked(t, "program"), "--stdio", "--tasks", "512")...), 512)
	o := run(t, serve)
	o.greet()
	o.ask(2, "neighbour", "exec ./program threads 20 1ms")
	o.expect(`"started"`)
	o.start("crowd", "exec ./program threads 1000 2ms")
	if _, exit := o.output(); !strings.Contains(exit, `"cause":"TooManyProcesses","code":null`) {
		t.Errorf("it ended %s", exit)
	}
	o.start("after", "echo well")
	if text, exit := o.output(); text != "well\n" || !strings.Contains(exit, `"code":0`) {
		t.Errorf("%q, %s", text, exit)
	}
	o.send(`{"type":"list","id":1}`)
	o.expect(`{"uid":"neighbour","state":"Running"}`)
	if events := denied(t, pod); events != "max 0" {
		t.Errorf("the limit was met: %s", events)
	}
}

func TestWithoutAControlGroupTheProcessesInSightAreCounted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it hides the control groups")
	}
	all, err := proctree.AllTasks()
	if err != nil {
		t.Fatal(err)
	}
	serve := self(t, flags(stocked(t, "program"), "--stdio", "--tasks", strconv.Itoa(all+500))...)
	hidden := append([]string{"--mount", "sh", "-c", `mount -t tmpfs none /sys/fs/cgroup && exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)
	o := run(t, exec.Command("unshare", hidden...))
	o.greet()
	o.start("crowd", "exec ./program threads 1000 2ms")
	if _, exit := o.output(); !strings.Contains(exit, `"TooManyProcesses"`) {
		t.Errorf("it ended %s", exit)
	}
}
