package calls

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"toolcall-operator/supervisor/wire"
)

func TestASecondStartAttachesAndStartsNothing(t *testing.T) {
	s := newSandbox(t)
	mark := filepath.Join(s.workspace, "runs")
	r := sh("echo ran >>" + mark)
	first := s.start(r)
	second, attached, err := s.Start(r, nil)
	if err != nil || !attached || second != first {
		t.Errorf("attached %v, same %v, %v", attached, second == first, err)
	}
	s.end(first)
	if _, attached, err := s.Start(r, nil); err != nil || !attached {
		t.Errorf("after the end: attached %v, %v", attached, err)
	}
	if runs, _ := os.ReadFile(mark); string(runs) != "ran\n" {
		t.Errorf("it ran %q", runs)
	}
}

func TestOfManyStartsAtOnceOneStarts(t *testing.T) {
	s := newSandbox(t)
	mark := filepath.Join(s.workspace, "runs")
	r := sh("echo ran >>" + mark)
	var fresh atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c, attached, err := s.Start(r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if !attached {
				fresh.Add(1)
			}
			<-c.Ended()
		})
	}
	all.Wait()
	if runs, _ := os.ReadFile(mark); fresh.Load() != 1 || string(runs) != "ran\n" {
		t.Errorf("%d starts, it ran %q", fresh.Load(), runs)
	}
}

func TestAnAcknowledgedCallIsATombstoneThatNeverStartsAgain(t *testing.T) {
	s := newSandbox(t)
	r := request("true")
	c, _ := s.run(r)
	for range 2 {
		if err := s.Acknowledge(c.UID()); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := s.Start(r, nil); !errors.Is(err, ErrAcknowledged) {
		t.Errorf("start: %v", err)
	}
	if _, err := s.Find(r.UID); !errors.Is(err, ErrAcknowledged) {
		t.Errorf("find: %v", err)
	}
	if err := s.Kill(r.UID); err != nil {
		t.Errorf("kill: %v", err)
	}
}

func TestARunningCallCannotBeAcknowledgedAndAnUnknownOneNeither(t *testing.T) {
	s := newSandbox(t)
	c := s.start(request("sleep", "60"))
	if err := s.Acknowledge(c.UID()); !errors.Is(err, ErrRunning) {
		t.Errorf("running: %v", err)
	}
	if err := s.Acknowledge("nobody"); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown: %v", err)
	}
	if err := s.Kill("nobody"); !errors.Is(err, ErrUnknown) {
		t.Errorf("kill of an unknown one: %v", err)
	}
}

func TestAListNamesEveryCallAndItsState(t *testing.T) {
	s := newSandbox(t)
	running := s.start(request("sleep", "60"))
	exited, _ := s.run(request("true"))
	var buried []string
	for range 2 {
		c, _ := s.run(request("true"))
		_ = s.Acknowledge(c.UID())
		buried = append(buried, c.UID())
	}
	list := s.List()
	states := map[string]string{}
	for _, l := range list {
		states[l.UID] = l.State
	}
	if len(list) != 4 || states[running.UID()] != wire.Running || states[exited.UID()] != wire.Exited {
		t.Errorf("%v", list)
	}
	if list[2].UID != buried[1] || list[3].UID != buried[0] || list[2].State != wire.Acknowledged {
		t.Errorf("tombstones: %v", list[2:])
	}
}

func TestWhenTheShimCannotBeMadeNothingRanAndTheCallMayStartLater(t *testing.T) {
	broken, err := NewLauncher(theReaper, []string{"no environment holds a \x00"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, func(c *Config) { c.Launcher = broken })
	r := request("true")
	_, _, err = s.Start(r, nil)
	var unavailable *Unavailable
	if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Reason, "could not start") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Find(r.UID); !errors.Is(err, ErrUnknown) {
		t.Errorf("find: %v", err)
	}
	s.config.Launcher = theLauncher
	if _, exit := s.run(r); told(exit) != "Exited code 0" {
		t.Errorf("later: %s", told(exit))
	}
}

func TestASpareShimThatDiedIsReplaced(t *testing.T) {
	l, err := NewLauncher(theReaper, os.Environ(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, func(c *Config) { c.Launcher = l })
	spare := <-l.spares
	kill(spare.pid, 9)
	<-spare.reaped
	l.spares <- spare
	if _, exit := s.run(request("true")); told(exit) != "Exited code 0" {
		t.Errorf("%s", told(exit))
	}
}

// silent is a watcher that hears nothing.
type silent struct{}

func (silent) Notify() {}

func TestAnEndedCallIsForgottenAfterTheRetentionUnlessSomebodyIsAttached(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Retention = 100 * time.Millisecond })
	watched := s.start(sh("echo x"))
	if !watched.Watch(silent{}) {
		t.Fatal("it cannot be watched")
	}
	left, _ := s.run(request("true"))
	s.eventually("forgetting", func() bool { _, err := s.Find(left.UID()); return errors.Is(err, ErrAcknowledged) })
	if _, err := s.Find(watched.UID()); err != nil {
		t.Errorf("the watched one: %v", err)
	}
	watched.Unwatch(silent{})
	s.eventually("forgetting", func() bool { _, err := s.Find(watched.UID()); return errors.Is(err, ErrAcknowledged) })
	if watched.Watch(silent{}) {
		t.Error("a forgotten call can be watched")
	}
}

// sweepTimers makes the runtime let go of timers that were stopped, and of what they would have called: each processor keeps its own until they are a
// quarter of all it has (runtime/time.go, timers.check), which are those of every test before.
func sweepTimers() {
	var all sync.WaitGroup
	var arrived atomic.Int64
	processors := int64(runtime.GOMAXPROCS(0))
	for range processors {
		all.Go(func() {
			arrived.Add(1)
			for arrived.Load() < processors { // Without yielding: who waits keeps a processor, and the next one comes to another.
			}
			for range 1024 {
				time.AfterFunc(time.Hour, func() {}).Stop()
			}
			runtime.Gosched()
		})
	}
	all.Wait()
}

func TestNothingHoldsAnAcknowledgedCall(t *testing.T) {
	s := newSandbox(t)
	var calls []weak.Pointer[Call]
	for range 5 {
		c, _ := s.run(sh("echo x"))
		calls = append(calls, weak.Make(c))
	}
	s.eventually("retiring", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.running == 0
	})
	for _, c := range calls {
		if err := s.Acknowledge(c.Value().UID()); err != nil {
			t.Error(err)
		}
	}
	s.eventually("letting go", func() bool {
		sweepTimers()
		runtime.GC()
		return !slices.ContainsFunc(calls, func(c weak.Pointer[Call]) bool { return c.Value() != nil })
	})
}

func TestOutputStaysForWhoeverIsAttachedWhenTheCallIsAcknowledged(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("echo x"))
	c.Watch(silent{})
	s.end(c)
	_ = s.Acknowledge(c.UID())
	if got := s.text(c, wire.Stdout); got != "x\n" {
		t.Errorf("got %q", got)
	}
	c.Unwatch(silent{})
	if n, _ := c.ReadAt(wire.Stdout, make([]byte, 2), 0); n != 0 {
		t.Error("its file is still open")
	}
}

func TestACallReadsItsOwnInputsAndNoOther(t *testing.T) {
	s := newSandbox(t)
	mine := sh("cat " + s.inputs + "/*/secret")
	for _, uid := range []string{mine.UID, "another"} {
		if err := os.Mkdir(filepath.Join(s.inputs, uid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.inputs, uid, "secret"), []byte("of "+uid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine.Argv[2] = "cd " + s.inputs + "/" + mine.UID + " && cat secret; cat ../another/secret"
	c, _ := s.run(mine)
	if got := s.text(c, wire.Stdout); got != "of "+mine.UID {
		t.Errorf("got %q", got)
	}
}

func TestACallDoesNotStartWithoutTheInputsItWasGiven(t *testing.T) {
	s := newSandbox(t)
	r := request("true")
	if err := os.WriteFile(filepath.Join(s.inputs, r.UID), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Start(r, nil)
	var unavailable *Unavailable
	if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Reason, r.UID) {
		t.Errorf("got %v", err)
	}
}

func TestTheBaseEnvironmentHidesTheSupervisorsAndSpeaksOfTheSandbox(t *testing.T) {
	env := BaseEnv([]string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "TOOLCALL_WITHOUT=x", "HOME=/h", "EMPTY=", "Q=a=b", "=odd"}, "/home", "/t")
	want := map[string]string{"HOME": "/h", "EMPTY": "", "Q": "a=b", "TMPDIR": "/t", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
	if len(env) != len(want) {
		t.Errorf("got %v", env)
	}
	for name, value := range want {
		if got, there := env[name]; !there || got != value {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestRelativeFoldersOfThePathAreSkipped(t *testing.T) {
	got := strings.Join(SearchPath("/a:.:b/c::/d"), " ")
	if got != "/a /d" {
		t.Errorf("got %q", got)
	}
}
