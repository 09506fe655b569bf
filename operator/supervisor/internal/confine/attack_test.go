package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	refusedCode   = 13
	succeededCode = 0
)

// landlock is the whole of Landlock: any domain at all keeps its processes from tracing those outside, whatever its rules.
const landlock = "landlock-files,landlock-scopes"

// assault is one attack, and the measures without which it succeeds.
type assault struct {
	decision string // of the table in the project's security notes on calls in one sandbox
	attack   string // SUPERVISOR and SIBLING stand for pids, the others for paths of the scene
	without  string
}

var assaults = []assault{
	// A call against the supervisor.
	{"memory and files of process 1", "ptrace SUPERVISOR", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR environ", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR mem", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR maps", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR fd", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR cwd", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR root", landlock + ",dumpable"},
	{"memory and files of process 1", "read-proc SUPERVISOR exe", landlock + ",dumpable"},
	{"memory and files of process 1", "pidfd-getfd SUPERVISOR 1", landlock + ",dumpable,seccomp"},
	{"memory and files of process 1", "process-vm SUPERVISOR", landlock + ",dumpable,seccomp"},
	{"the filter", "prlimit-cpu SUPERVISOR", "seccomp"},
	{"the filter", "sched SUPERVISOR", "seccomp"},
	{"the filter", "setpriority SUPERVISOR", "seccomp"},
	{"the filter", "ioprio SUPERVISOR", "seccomp"},
	{"two layers", "signal SUPERVISOR 0", "landlock-scopes"},
	{"two layers", "signal SUPERVISOR 9", "landlock-scopes"},
	{"abstract socket", "abstract-connect confine-SUPERVISOR", "landlock-scopes"},
	{"memory", "oom-score SUPERVISOR 1000", "landlock-files,dumpable"},

	// A call against another call's tool, which is dumpable like any program: only the domain stands between them.
	{"siblings", "ptrace SIBLING", landlock},
	{"siblings", "read-proc SIBLING environ", landlock},
	{"siblings", "read-proc SIBLING mem", landlock},
	{"siblings", "read-proc SIBLING maps", landlock},
	{"siblings", "read-proc SIBLING fd", landlock},
	{"siblings", "read-proc SIBLING cwd", landlock},
	{"siblings", "read-proc SIBLING root", landlock},
	{"siblings", "read-proc SIBLING exe", landlock},
	{"siblings", "pidfd-getfd SIBLING 1", landlock + ",seccomp"},
	{"siblings", "process-vm SIBLING", landlock + ",seccomp"},
	{"the filter", "prlimit-cpu SIBLING", "seccomp"},
	{"the filter", "sched SIBLING", "seccomp"},
	{"the filter", "affinity SIBLING", "seccomp"},
	{"the filter", "affinity SUPERVISOR", "seccomp"},
	{"the filter", "setpriority SIBLING", "seccomp"},
	{"the filter", "ioprio SIBLING", "seccomp"},
	{"two layers", "signal SIBLING 15", "landlock-scopes"},
	{"memory", "oom-score SIBLING 1000", "landlock-files"},

	// Objects of the kernel that every call of the pod shares.
	{"the filter", "sysv-shm-put 7731 text", "seccomp"},
	{"the filter", "sysv-shm-get 7731", "seccomp"},
	{"the filter", "mqueue-put confine-test text", "seccomp,landlock-files"},
	{"the filter", "mqueue-get confine-test", "seccomp,landlock-files"},
	{"the filter", "keyring-put confine-test text", "seccomp"},
	{"the filter", "keyring-get confine-test", "seccomp"},
	{"the filter", "io-uring", "seccomp"},
	{"the filter", "userfaultfd", "seccomp"},

	// Files. Any domain at all refuses a link or rename between folders that it does not grant.
	{"private inputs", "list-sibling-inputs INPUTS", "private-inputs"},
	{"private inputs", "open INPUTS/sibling/secret", "private-inputs"},
	{"private inputs", "hardlink INPUTS/sibling/secret OUT/stolen", landlock},
	{"private inputs", "rename INPUTS/sibling/secret OUT/stolen", landlock},
	{"no whole roots", "create INPUTS/sibling/planted", "landlock-files"},
	{"no whole roots", "open ELSEWHERE/file", "landlock-files"},
	{"no whole roots", "create ELSEWHERE/planted", "landlock-files"},
	{"terminals", "pts", "pts"},
}

// scene is what a call finds around it.
type scene struct {
	supervisor, sibling, terminal *exec.Cmd
	inputs, own, out, elsewhere   string
}

func stage(t *testing.T) scene {
	t.Helper()
	top := folder(t, place, strings.ReplaceAll(t.Name(), "/", "-"))
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	s := scene{inputs: folder(t, top, "in"), out: folder(t, top, "out"), elsewhere: folder(t, top, "elsewhere")}
	s.own = folder(t, s.inputs, "own")
	for _, file := range []string{filepath.Join(folder(t, s.inputs, "sibling"), "secret"), filepath.Join(s.elsewhere, "file")} {
		if err := os.WriteFile(file, []byte("not yours\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(file, outsider, outsider); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// people starts the processes that an attack may be after; what is left out for the attacker is left out for them too.
func (s *scene) people(t *testing.T, without string) {
	t.Helper()
	tool := filepath.Join(place, "tool")
	s.supervisor = started(t, as(roleSupervisor, without, Box{}))
	s.sibling = started(t, as(roleTool, without, boxOf(s.out, s.own), tool, "alloc", "4096", "1m"))
	s.terminal = unconfined(tool, "hold-pty", "1m")
	started(t, s.terminal)
}

// unconfined is the tool as the same user, in no domain.
func unconfined(args ...string) *exec.Cmd {
	command := exec.Command(args[0], args[1:]...)
	command.SysProcAttr = as("", "", Box{}).SysProcAttr
	return command
}

func (s scene) arguments(attack string) []string {
	attack = strings.NewReplacer(
		"SUPERVISOR", strconv.Itoa(s.supervisor.Process.Pid), "SIBLING", strconv.Itoa(s.sibling.Process.Pid),
		"INPUTS", s.inputs, "OUT", s.out, "ELSEWHERE", s.elsewhere,
	).Replace(attack)
	return append([]string{filepath.Join(place, "tool")}, strings.Fields(attack)...)
}

func TestEveryAttackOfACallIsRefused(t *testing.T) {
	needLandlock(t)
	s := stage(t)
	s.people(t, "")
	for _, a := range assaults {
		t.Run(a.attack, func(t *testing.T) {
			code, said := answer(t, as(roleTool, "", boxOf(s.out, s.own), s.arguments(a.attack)...))
			if code != refusedCode {
				t.Errorf("%s: exit code %d: %s", a.decision, code, said)
			}
		})
	}
	for _, victim := range []*exec.Cmd{s.supervisor, s.sibling} {
		if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%v did not survive: %v", victim.Args, err)
		}
	}
}

func TestEveryAttackSucceedsWithoutItsMeasure(t *testing.T) {
	if !weakened(t) {
		t.Skip("an ordinary build leaves nothing out; `go test -tags weaken` runs this")
	}
	needLandlock(t)
	t.Cleanup(func() { forget(t) })
	for _, a := range assaults {
		t.Run(a.attack, func(t *testing.T) {
			s := stage(t)
			s.people(t, a.without)
			box := boxOf(s.out, s.own)
			if a.without == "pts" {
				box.Devices = append(box.Devices, "/dev/pts")
			}
			code, said := answer(t, as(roleTool, a.without, box, s.arguments(a.attack)...))
			if code != succeededCode {
				t.Errorf("%s: exit code %d without %s: %s", a.decision, code, a.without, said)
			}
		})
	}
}

func TestEachMeasureStandsAloneWhereItIsTheOnlyOne(t *testing.T) {
	if !weakened(t) {
		t.Skip("an ordinary build leaves nothing out; `go test -tags weaken` runs this")
	}
	needLandlock(t)
	s := stage(t)
	s.people(t, landlock) // so that the sibling and the supervisor are in no domain, and the supervisor is hardened
	for _, attack := range []string{"ptrace SUPERVISOR", "read-proc SUPERVISOR environ", "read-proc SUPERVISOR mem", "read-proc SUPERVISOR fd"} {
		if code, said := answer(t, as(roleTool, landlock, boxOf(s.out, s.own), s.arguments(attack)...)); code != refusedCode {
			t.Errorf("non-dumpable without Landlock: %s: exit code %d: %s", attack, code, said)
		}
	}
	for _, attack := range []string{"process-vm SIBLING", "pidfd-getfd SIBLING 1"} {
		if code, said := answer(t, as(roleTool, landlock, boxOf(s.out, s.own), s.arguments(attack)...)); code != refusedCode {
			t.Errorf("the filter without Landlock: %s: exit code %d: %s", attack, code, said)
		}
	}
}

// asRoot is a tool in its box that was not made another user first.
func asRoot(without string, s scene, args ...string) *exec.Cmd {
	command := as(roleTool, without, boxOf(s.out, s.own), args...)
	command.SysProcAttr.Credential = nil
	return command
}

func TestACallOfRootHoldsNoCapabilityThatReadsSiblings(t *testing.T) {
	needLandlock(t)
	if os.Getuid() != 0 {
		t.Skip("the tests do not run as root")
	}
	s := stage(t)
	s.people(t, "")
	if code, said := answer(t, asRoot("", s, "/bin/grep", "CapEff:\t0*$", "-P", "/proc/self/status")); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	attacks := []string{"read-proc SIBLING environ", "read-proc SIBLING maps", "read-proc SUPERVISOR environ"}
	for _, attack := range attacks {
		if code, said := answer(t, asRoot("", s, s.arguments(attack)...)); code != refusedCode {
			t.Errorf("%s: exit code %d: %s", attack, code, said)
		}
	}
	if !weakened(t) {
		return
	}
	if code, said := answer(t, asRoot("capabilities", s, s.arguments(attacks[0])...)); code != succeededCode {
		t.Logf("a kernel that does not let CAP_PERFMON in: exit code %d: %s", code, said)
	}
}

func TestAnAttackOnNobodyIsNeitherRefusedNorASuccess(t *testing.T) {
	needLandlock(t)
	s := stage(t)
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(gone.Process.Pid)
	for _, attack := range [][]string{{"ptrace", pid}, {"read-proc", pid, "mem"}, {"signal", pid, "0"}, {"abstract-connect", "nobody-" + pid}} {
		code, said := answer(t, as(roleTool, "", boxOf(s.out, s.own), append([]string{filepath.Join(place, "tool")}, attack...)...))
		if code == refusedCode || code == succeededCode {
			t.Errorf("%v: exit code %d: %s", attack, code, said)
		}
	}
}

// forget removes what the attacks that succeeded left in the kernel.
func forget(t *testing.T) {
	t.Helper()
	_ = exec.Command("ipcrm", "-M", "7731").Run() // Absent when the attack did not run.
	queue := unconfined(filepath.Join(place, "tool"), "mqueue-remove", "confine-test")
	_ = queue.Run()
}

func TestKillOfAllFromAScopeReachesExactlyItsOwnCall(t *testing.T) {
	needLandlock(t)
	s := stage(t)
	s.people(t, "")
	marker := fmt.Sprintf("marked-%d", os.Getpid())
	tool := filepath.Join(place, "tool")
	args := []string{strconv.Itoa(s.supervisor.Process.Pid), tool, "family", marker, "1m"}
	if code, said := answer(t, as(roleShim, "", boxOf(s.out, s.own), args...)); code != 0 || said != "killed" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if _, left := answer(t, exec.Command(tool, "find-pids", marker)); left != "" {
		t.Errorf("still there: %s", left)
	}
	for _, stranger := range []*exec.Cmd{s.supervisor, s.sibling, s.terminal} {
		if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%v was reached: %v", stranger.Args, err)
		}
	}
}
