package reaper

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// frozen is a group whose processes no signal reaches, KILL neither: what a process is that waits for a dead network disk.
type frozen struct {
	t      *testing.T
	folder string
}

func newFrozen(t *testing.T) frozen {
	t.Helper()
	f := frozen{t, filepath.Join("/sys/fs/cgroup/freezer", "reaper-test-"+strconv.Itoa(os.Getpid()))}
	if err := os.Mkdir(f.folder, 0o755); err != nil {
		t.Skipf("needs root and the freezer of cgroup v1, whose processes cannot be killed: %v", err)
	}
	t.Cleanup(func() { f.thaw(); f.remove() })
	return f
}

func (f frozen) write(file, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, file), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f frozen) take(pid int) {
	f.t.Helper()
	f.write("cgroup.procs", strconv.Itoa(pid))
	f.write("freezer.state", "FROZEN")
}

func (f frozen) thaw() { f.write("freezer.state", "THAWED") }

// remove waits until the kernel has let the last process go.
func (f frozen) remove() {
	for range 1000 {
		if syscall.Rmdir(f.folder) == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Errorf("%s cannot be removed", f.folder)
}

func TestAStrayThatDoesNotDieHoldsUpNobodyAndIsHuntedOn(t *testing.T) {
	group := newFrozen(t)
	stray, err := shell("exec sleep 60")()
	if err != nil {
		t.Fatal(err)
	}
	group.take(stray)
	hunted := make(chan bool, 1)
	go func() { hunted <- theReaper.KillStrays(time.Second) }()
	time.Sleep(50 * time.Millisecond)
	for range 5 { // Expected within 10 s, in which a fork that waited for the hunt would not come.
		_, reaped, err := theReaper.Fork(shell("exit 0"))
		if err != nil {
			t.Fatal(err)
		}
		expectReaped(t, reaped)
	}
	if <-hunted {
		t.Error("a process that cannot be killed is called gone")
	}
	group.thaw()
	if !theReaper.KillStrays(10 * time.Second) {
		t.Error("it is not hunted any more")
	}
	if err := syscall.Kill(stray, 0); err != syscall.ESRCH {
		t.Errorf("the stray: %v", err)
	}
}

func TestAChildThatWasReapedIsNotKilled(t *testing.T) {
	pid, reaped, err := theReaper.Fork(shell("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	expectReaped(t, reaped)
	theReaper.Kill(pid, reaped) // Its pid may be anybody's.
	other, still, err := theReaper.Fork(shell("exec sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	theReaper.Kill(other, reaped)
	select {
	case <-still:
		t.Error("the kill of a reaped child reached another")
	case <-time.After(50 * time.Millisecond):
	}
	theReaper.Kill(other, still)
	expectReaped(t, still)
}
