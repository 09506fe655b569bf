package calls

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/internal/stick"
	"toolcall-operator/supervisor/wire"
)

func openHomes(path string) (*private.Homes, error) { return private.Open(path, 0) }

// isolating has every call that carries credentials run alone, and no home made while others run.
func isolating(c *Config) {
	c.Exclusive = true
	c.Base.Homes, _ = openHomes(c.Base.Homes.Path()) // It was opened before.
}

func exclusively(c *wire.Credentials) { c.Exclusive = true }

// refused expects that a call is refused for now, in these words, and is not remembered.
func (s sandbox) refused(r wire.Start, words string) {
	s.t.Helper()
	_, _, err := s.Start(r, nil)
	var ours *Unavailable
	if !errors.As(err, &ours) || !strings.Contains(err.Error(), words) {
		s.t.Errorf("start: %v", err)
	}
	if _, err := s.Find(r.UID); !errors.Is(err, ErrUnknown) {
		s.t.Errorf("find: %v", err)
	}
}

func (s sandbox) kill(c *Call) {
	s.t.Helper()
	if err := s.Kill(c.UID()); err != nil {
		s.t.Error(err)
	}
	s.end(c)
}

// loners are calls that run alone, by why they do.
var loners = map[string]struct {
	change func(*Config)
	start  func(wire.Start) wire.Start
}{
	"it asks for it":            {func(*Config) {}, func(r wire.Start) wire.Start { return carrying(r, exclusively) }},
	"the sandbox asks for it":   {isolating, func(r wire.Start) wire.Start { return carrying(r) }},
	"both, with some workspace": {isolating, func(r wire.Start) wire.Start { return carrying(r, exclusively, seeing(wire.WorkspaceShared)) }},
}

func TestACallThatMustRunAloneIsRefusedWhileAnotherRuns(t *testing.T) {
	for why, loner := range loners {
		t.Run(why, func(t *testing.T) {
			s := newSandbox(t, loner.change)
			other := s.start(request("sleep", "60"))
			s.refused(loner.start(request("true")), "must run alone, and another call runs")
			s.kill(other)
			_, exit := s.run(loner.start(request("true")))
			s.expect(exit, "Exited code 0")
		})
	}
}

func TestWhileACallRunsAloneEveryOtherIsRefused(t *testing.T) {
	for why, loner := range loners {
		t.Run(why, func(t *testing.T) {
			s := newSandbox(t, loner.change)
			r := loner.start(request("sleep", "60"))
			alone := s.start(r)
			s.refused(request("true"), "no other may run beside it")
			s.refused(carrying(request("true")), "no other may run beside it")
			s.refused(loner.start(request("true")), "no other may run beside it")
			if c, attached, err := s.Start(r, nil); c != alone || !attached || err != nil {
				t.Errorf("the same start: attached %v, %v", attached, err)
			}
			s.kill(alone)
			_, exit := s.run(request("true"))
			s.expect(exit, "Exited code 0")
		})
	}
}

func TestCallsThatNeedNotBeAloneRunTogether(t *testing.T) {
	s := newSandbox(t)
	s.start(carrying(request("sleep", "60")))
	s.start(carrying(request("sleep", "60")))
	s.start(request("sleep", "60"))
	exclusive := newSandbox(t, isolating)
	exclusive.start(request("sleep", "60"))
	exclusive.start(request("sleep", "60"))
}

func TestACallThatWasRefusedOrEndedOrNeverCameToBeIsInNobodysWay(t *testing.T) {
	s := newSandbox(t, isolating)
	for range 3 {
		_, exit := s.run(carrying(request("true")))
		s.expect(exit, "Exited code 0")
		_, exit = s.run(request("true"))
		s.expect(exit, "Exited code 0")
		_, exit = s.run(carrying(request("/no/such/program")))
		s.expect(exit, "NotStarted Exec ENOENT")
	}
	if err := os.RemoveAll(s.homes); err != nil {
		t.Fatal(err)
	}
	s.refused(carrying(request("true")), "private home")
	_, exit := s.run(request("true"))
	s.expect(exit, "Exited code 0")
}

func TestOfManyStartsAtOnceNoneMeetsOneThatRunsAlone(t *testing.T) {
	s := newSandbox(t, isolating)
	mark := filepath.Join(s.workspace, "alone")
	// mkdir is atomic: whoever runs beside a call that is alone finds its folder, or is found by it.
	alone := `mkdir ` + mark + ` && [ "$(ls ` + s.workspace + ` | wc -l)" = 1 ] && sleep 0.02 && [ "$(ls ` + s.workspace + ` | wc -l)" = 1 ] && rmdir ` + mark
	beside := `touch ` + s.workspace + `/$$; [ ! -e ` + mark + ` ] && sleep 0.01 && [ ! -e ` + mark + ` ]; e=$?; rm ` + s.workspace + `/$$; exit $e`
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for ran := 0; ran < 15; time.Sleep(time.Duration(rand.N(30)) * time.Millisecond) {
				r := sh(beside)
				if i%2 == 0 {
					r = carrying(sh(alone))
				}
				if c, _, err := s.Start(r, nil); err == nil {
					s.expect(s.end(c), "Exited code 0")
					ran++
				}
			}
		})
	}
	all.Wait()
}

func TestACallStartsOnlyWhenTheHomeOfTheOneThatRanAloneIsGone(t *testing.T) {
	s := newSandbox(t, isolating)
	for range 20 {
		alone := s.start(carrying(sh(`cd "$HOME"; mkdir -p a/b c/d; for i in 1 2 3 4 5 6 7 8 9; do echo x >a/b/$i; echo x >c/d/$i; done; echo "$HOME"`)))
		s.end(alone)
		next := s.start(request("true")) // As soon as anyone knows that the other has ended.
		if _, err := os.Lstat(filepath.Dir(s.output(alone, 1)[0])); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("it is there: %v", err)
		}
		s.end(next)
	}
}

func TestNoCallMeetsAProcessThatALostOneHasLeftIfEitherCarriesCredentials(t *testing.T) {
	alone, plain := newSandbox(t, isolating), newSandbox(t, isolating)
	carrier := alone.start(carrying(sh(`echo $$; echo "$HOME"; exec sleep 60`)))
	other := plain.start(sh("echo $$; exec sleep 60"))
	left := append(alone.output(carrier, 2), plain.output(other, 1)...)
	thaw := freeze(t, left[0], left[2])
	kill(carrier.process.pid, syscall.SIGKILL)
	kill(other.process.pid, syscall.SIGKILL)
	plain.refused(carrying(request("true")), "another call runs")
	alone.expect(alone.end(carrier), "Lost")
	plain.expect(plain.end(other), "Lost")

	alone.refused(request("true"), "is not removed yet")
	alone.refused(carrying(request("true")), "is not removed yet")
	plain.refused(carrying(request("true")), "processes that an ended call has left do not die")
	_, exit := plain.run(request("true")) // Neither it nor the lost one carries anything.
	plain.expect(exit, "Exited code 0")

	thaw()
	for s, r := range map[sandbox]wire.Start{alone: request("true"), plain: carrying(request("true"))} {
		s.eventually("a start", func() bool { _, _, err := s.Start(r, nil); return err == nil })
	}
	if _, err := os.Lstat(left[1]); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the home is there: %v", err)
	}
	if isAlive(left[0]) || isAlive(left[2]) {
		t.Error("what was left lives on")
	}
}

func TestAHomeThatCannotBeRemovedHoldsUpOthersOnlyWhereNothingElseKeepsItFromThem(t *testing.T) {
	for _, change := range []func(*Config){func(*Config) {}, isolating} {
		s := newSandbox(t, change)
		carrier := s.start(carrying(sh(`echo x >"$HOME/file"; echo "$HOME"; exec sleep 60`)))
		home := s.output(carrier, 1)[0]
		unstick := stick.File(t, home+"/file")
		s.kill(carrier)
		if s.config.Exclusive {
			s.refused(request("true"), "is not removed yet")
		} else {
			_, exit := s.run(request("true"))
			s.expect(exit, "Exited code 0")
		}
		unstick()
		s.eventually("a start", func() bool { _, _, err := s.Start(request("true"), nil); return err == nil })
	}
}

func TestASandboxThatIsToldToStopEndsTheCallThatRunsAlone(t *testing.T) {
	s := newSandbox(t, isolating)
	alone := s.start(carrying(sh(`echo "$HOME"; exec sleep 60`)))
	home := s.output(alone, 1)[0]
	s.Terminate()
	s.expect(s.end(alone), "Terminating")
	if err := s.AwaitEnd(quick); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(home); !errors.Is(err, unix.ENOENT) {
		t.Errorf("its home is there: %v", err)
	}
}
