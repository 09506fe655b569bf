package calls

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quick is far less than the grace of a request, a minute.
const quick = 5 * time.Second

func (s sandbox) expectQuick(begun time.Time) {
	s.t.Helper()
	if took := time.Since(begun); took > quick {
		s.t.Errorf("it took %s", took)
	}
}

func TestAKillBeforeThereIsAShimWaitsForNobodyAndIsCarriedOut(t *testing.T) {
	s := newSandbox(t)
	r := request("sleep", "60")
	c, _, err := s.Enter(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(r.UID); err != nil {
		t.Error(err)
	}
	if err := s.Acknowledge(r.UID); !errors.Is(err, ErrRunning) {
		t.Errorf("acknowledge: %v", err)
	}
	begun := time.Now()
	if err := s.Launch(c, r, nil); err != nil {
		t.Fatal(err)
	}
	s.expect(s.end(c), "Killed")
	s.expectQuick(begun)
}

func TestTERMReachesAToolHoweverSoonItIsAskedFor(t *testing.T) {
	s := newSandbox(t)
	for range 30 {
		c := s.start(request("sleep", "60"))
		begun := time.Now()
		_ = s.Kill(c.UID())
		s.expect(s.end(c), "Killed")
		s.expectQuick(begun)
	}
}

func TestAKillWithoutGraceDoesNotWaitForTheTool(t *testing.T) {
	s := newSandbox(t)
	r := request("sleep", "60")
	r.Grace = 0
	for range 10 {
		c, _, err := s.Enter(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Kill(r.UID)
		if err := s.Launch(c, r, nil); err != nil {
			t.Fatal(err)
		}
		s.expect(s.end(c), "Killed")
		r.UID = request().UID
	}
}

func TestACallWhoseShimHearsNothingEndsLostAndLeavesNobodyBehind(t *testing.T) {
	t.Parallel() // It waits for seconds.
	s := newSandbox(t)
	r := sh("trap '' TERM; (setsid sh -c 'echo $$; sleep 60; sleep 60' &); echo $$; sleep 60; sleep 60")
	r.Timeout, r.Grace = 300*time.Millisecond, 100*time.Millisecond
	c := s.start(r)
	pids := s.output(c, 2)
	kill(c.process.pid, syscall.SIGSTOP)
	exit := s.end(c)
	s.expect(exit, "Lost")
	if most := (patience + quick).Milliseconds(); exit.DurationMs > most {
		t.Errorf("it took %d ms", exit.DurationMs)
	}
	s.expectAllDead(pids)
}

func TestASpareShimThatHearsNothingIsReplaced(t *testing.T) {
	t.Parallel() // It waits for seconds.
	l, err := NewLauncher(theReaper, os.Environ(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, func(c *Config) { c.Launcher = l })
	spare := <-l.spares
	kill(spare.pid, syscall.SIGSTOP)
	l.spares <- spare
	r := request("true")
	r.Env = map[string]string{} // More than a socket holds, in pieces that a program may be given.
	for n := range 16 {
		r.Env["V"+itoa(n)] = strings.Repeat("x", 64<<10)
	}
	c := s.start(r)
	s.expect(s.end(c), "Exited code 0")
	select {
	case <-spare.reaped:
	case <-time.After(quick):
		t.Error("the deaf one lives on")
	}
}

// freeze keeps every signal from some processes, KILL too, until the test ends.
func freeze(t *testing.T, pids ...string) (thaw func()) {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/freezer", "calls-test-"+pids[0])
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("needs root and the freezer of cgroup v1, whose processes cannot be killed: %v", err)
	}
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		write("freezer.state", "THAWED")
		for range 1000 {
			if syscall.Rmdir(group) == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", group)
	})
	for _, pid := range pids {
		write("cgroup.procs", pid)
	}
	write("freezer.state", "FROZEN")
	return func() { write("freezer.state", "THAWED") }
}

func TestALostCallWhoseProcessDoesNotDieHoldsUpNoOther(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("echo $$; exec sleep 60"))
	thaw := freeze(t, s.output(c, 1)[0])
	kill(c.process.pid, syscall.SIGKILL)
	for range 5 {
		begun := time.Now()
		_, exit := s.run(request("true"))
		s.expect(exit, "Exited code 0")
		s.expectQuick(begun)
	}
	if c.Exit() != nil {
		t.Error("it ended while its process lives, and had time left")
	}
	thaw()
	s.expect(s.end(c), "Lost")
}

func TestASupervisorThatEndsSaysHowManyCallsDoNotDie(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("echo $$; exec sleep 60"))
	thaw := freeze(t, s.output(c, 1)[0])
	s.run(request("true"))
	s.KillAll()
	if err := s.AwaitEnd(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), ": 1") {
		t.Errorf("got %v", err)
	}
	thaw()
	s.expect(s.end(c), "Lost")
}

func TestASupervisorThatEndsKillsWhatHasAGraceLongerThanItsTime(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap '' TERM; echo $$; sleep 60; sleep 60"))
	pids := s.output(c, 1)
	s.Terminate()
	if err := s.AwaitEnd(100 * time.Millisecond); err != nil {
		t.Error(err)
	}
	s.expect(s.end(c), "Terminating")
	s.expectAllDead(pids)
}

func TestASupervisorThatEndsEndsAShimThatHearsNothing(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("echo $$; exec sleep 60"))
	pids := s.output(c, 1)
	kill(c.process.pid, syscall.SIGSTOP)
	s.KillAll()
	if err := s.AwaitEnd(100 * time.Millisecond); err != nil {
		t.Error(err)
	}
	s.expect(s.end(c), "Lost")
	s.expectAllDead(pids)
}
