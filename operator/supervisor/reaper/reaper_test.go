package reaper

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/proctree"
)

// The reaper takes every wait status of the process: no test here may use os/exec.
var theReaper *Reaper

func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	theReaper = Start()
	os.Exit(m.Run())
}

func shell(script string) func() (int, error) {
	return func() (int, error) {
		return syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	}
}

func expectReaped(t *testing.T, reaped <-chan struct{}) {
	t.Helper()
	select {
	case <-reaped:
	case <-time.After(10 * time.Second):
		t.Error("it was not reaped")
	}
}

func TestAChildIsReapedHoweverSoonItEnds(t *testing.T) {
	for range 30 {
		_, reaped, err := theReaper.Fork(shell("exit 0"))
		if err != nil {
			t.Fatal(err)
		}
		expectReaped(t, reaped)
	}
}

func TestAChildThatEndedBeforeItWasKnownIsReapedToo(t *testing.T) {
	_, reaped, err := theReaper.Fork(func() (int, error) {
		pid, err := shell("exit 0")()
		time.Sleep(50 * time.Millisecond)
		return pid, err
	})
	if err != nil {
		t.Fatal(err)
	}
	expectReaped(t, reaped)
}

func TestAForkThatFailsIsTold(t *testing.T) {
	_, _, err := theReaper.Fork(func() (int, error) {
		return syscall.ForkExec("/no/such/file", []string{"x"}, &syscall.ProcAttr{})
	})
	if err != syscall.ENOENT {
		t.Errorf("got %v", err)
	}
}

func TestStraysDieWithAllThatDescendsFromThemAndKnownChildrenLive(t *testing.T) {
	known, reaped, err := theReaper.Fork(shell("sleep 60 & sleep 60 & wait"))
	if err != nil {
		t.Fatal(err)
	}
	// A stray that forks all the time: each process of it is replaced by its child within a few milliseconds, for 500 generations at most.
	if _, err := shell(`trap '' TERM; hop() { [ $1 = 500 ] || { sleep 0.002; hop $(($1 + 1)) & }; }; for i in 1 2 3 4 5 6; do hop 0 & done; sleep 60`)(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if !theReaper.KillStrays(10 * time.Second) {
		t.Error("some are left")
	}
	below, err := proctree.Descendants(os.Getpid())
	family, _ := proctree.Descendants(known)
	if err != nil || len(below) != len(family)+1 || len(family) != 2 || !slices.Contains(below, known) {
		t.Errorf("left: %v, of the known one: %v, %v", below, family, err)
	}
	for _, pid := range append(family, known) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	expectReaped(t, reaped)
}
