//go:build weaken

package calls

import (
	"os"
	"strings"
	"testing"
	"time"

	"toolcall-operator/supervisor/wire"
)

// weakened is a sandbox whose supervisor and shims leave one measure out.
func weakened(t *testing.T, measure string, changes ...func(*Config)) sandbox {
	t.Helper()
	return newSandbox(t, append(changes, withLauncher(t, measure))...)
}

// withLauncher has shims leave a measure out, and this process, too.
func withLauncher(t *testing.T, measure string) func(*Config) {
	t.Helper()
	t.Setenv("TOOLCALL_WITHOUT", measure)
	l, err := NewLauncher(theReaper, os.Environ(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Launcher = l }
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

func TestWithoutItsCheckAPlantedProgramRunsAlsoWhereItMustBeTrusted(t *testing.T) {
	folder, change := image(t)
	s := planted(t, change, withLauncher(t, "trusted-program"))
	for _, word := range untrusted {
		_, exit := s.run(trusted(inPlace(word, s.workspace, folder)))
		s.expect(exit, "Exited code 0")
	}
}

func TestWithoutTheFilterACallWithoutNetworkConnects(t *testing.T) {
	s := weakened(t, "seccomp")
	r := request("bash", "-c", "echo > /dev/tcp/127.0.0.1/9")
	r.Env, r.Confine.NoNetwork = map[string]string{"LC_ALL": "C"}, true
	c, _ := s.run(r)
	if got := s.text(c, wire.Stderr); !strings.Contains(got, "Connection refused") {
		t.Errorf("got %q", got)
	}
}

func TestWithoutLandlockOnFilesACallWritesBesideItsPaths(t *testing.T) {
	s := weakened(t, "landlock-files")
	r := sh("echo 1 > " + s.workspace + "/beside")
	r.Confine.BindsWrites = true
	_, exit := s.run(r)
	s.expect(exit, "Exited code 0")
}
