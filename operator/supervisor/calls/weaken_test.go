//go:build weaken

package calls

import (
	"os"
	"testing"
	"time"

	"toolcall-operator/supervisor/wire"
)

// weakened is a sandbox whose supervisor and shims leave one measure out.
func weakened(t *testing.T, measure string, changes ...func(*Config)) sandbox {
	t.Helper()
	t.Setenv("TOOLCALL_WITHOUT", measure)
	l, err := NewLauncher(theReaper, os.Environ(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return newSandbox(t, append(changes, func(c *Config) { c.Launcher = l })...)
}

func TestWithoutNamelessSpoolsOutputLiesInAFolderUnderAName(t *testing.T) {
	s := weakened(t, "nameless-spool")
	s.run(sh("echo the secret of this call"))
	entries, err := os.ReadDir(s.config.Spool.Path())
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	stolen, err := os.ReadFile(s.config.Spool.Path() + "/" + entries[0].Name())
	if err != nil || string(stolen) != "the secret of this call\n" {
		t.Errorf("%q, %v", stolen, err)
	}
}

func TestWithoutTheMemoryWatchACallGrowsOn(t *testing.T) {
	s := weakened(t, "memory-watch", func(c *Config) { c.Gauge = &meter{limit: 10 << 20} })
	_, exit := s.run(sh(`x=$(head -c 30000000 /dev/zero | tr '\0' x); sleep 0.5`))
	s.expect(exit, "Exited code 0")
}

func TestWithoutTheOOMScoreAToolIsAsSafeAsTheSupervisor(t *testing.T) {
	s := weakened(t, "oom-score")
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := s.run(sh("cat /proc/self/oom_score_adj"))
	if got := s.text(c, wire.Stdout); got != string(own) {
		t.Errorf("the tool has %q, the supervisor %q", got, own)
	}
}

func TestWithoutTheScopeATreeThatHidesIsWalkedAndKilledAllTheSame(t *testing.T) {
	s := weakened(t, "scoped-kill")
	r := sh("trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$; sleep 60; sleep 60' &); echo $$; sleep 60; sleep 60")
	r.Timeout, r.Grace = 300*time.Millisecond, 100*time.Millisecond
	c, exit := s.run(r)
	s.expect(exit, "Deadline")
	s.expectAllDead(s.output(c, 2))
}

func TestWithoutTheScopeAToolStopsItsShimAndIsEndedAllTheSame(t *testing.T) {
	s := weakened(t, "landlock-scopes")
	r := sh("echo $$; kill -STOP $PPID; sleep 300")
	r.Timeout, r.Grace = 300*time.Millisecond, 100*time.Millisecond
	c := s.start(r)
	pids := s.output(c, 1)
	s.expect(s.end(c), "Lost")
	s.expectAllDead(pids)
}
