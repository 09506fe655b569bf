package calls

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

func TestAToolEndsAsItsProcessDid(t *testing.T) {
	s := newSandbox(t)
	for _, row := range []struct {
		request wire.Start
		want    string
	}{
		{request("true"), "Exited code 0"},
		{sh("exit 7"), "Exited code 7"},
		{sh("exit 127"), "Exited code 127"},
		{sh("kill -SEGV $$"), "Signaled signal 11"},
		{sh("kill -KILL $$"), "Signaled signal 9"},
		{sh("kill -TERM $$"), "Signaled signal 15"},
	} {
		_, exit := s.run(row.request)
		s.expect(exit, row.want)
	}
}

func TestTheReasonWhyAToolDidNotStartIsTold(t *testing.T) {
	s := newSandbox(t)
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(s.workspace, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, row := range []struct {
		request wire.Start
		want    string
	}{
		{request("no-such-command"), "NotStarted Exec ENOENT"},
		{request("/no/such/file"), "NotStarted Exec ENOENT"},
		{request(write("script-of-nobody", "#!/no/such/interpreter\n", 0o755)), "NotStarted Exec ENOENT"},
		{request(write("not-executable", "#!/bin/sh\n", 0o644)), "NotStarted Exec EACCES"},
		{request(s.workspace), "NotStarted Exec EACCES"},
		{request(write("not-a-program", "what is this\n", 0o755)), "NotStarted Exec ENOEXEC"},
		{request("true", strings.Repeat("x", 128<<10)), "NotStarted Exec E2BIG"},
		{request("true/"), "NotStarted Exec ENOENT"},
	} {
		_, exit := s.run(row.request)
		s.expect(exit, row.want)
	}
}

func TestTheLongestArgumentThatLinuxTakesArrives(t *testing.T) {
	s := newSandbox(t)
	c, exit := s.run(request("printf", "%s", strings.Repeat("x", 128<<10-1)))
	s.expect(exit, "Exited code 0")
	if got := len(s.text(c, wire.Stdout)); got != 128<<10-1 {
		t.Errorf("%d bytes arrived", got)
	}
}

func TestAFolderOfThePathThatForbidsACommandDoesNotEndTheSearch(t *testing.T) {
	first := t.TempDir()
	if err := os.WriteFile(filepath.Join(first, "true"), []byte("#!/bin/sh\nexit 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first, "only-here"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, func(c *Config) { c.Base.Path = []string{"/no/such/folder", first, "/usr/bin", "/bin"} })
	_, exit := s.run(request("true"))
	s.expect(exit, "Exited code 0")
	_, exit = s.run(request("only-here"))
	s.expect(exit, "NotStarted Exec EACCES")
}

func TestThePathOfTheCallDoesNotChooseTheCommand(t *testing.T) {
	s := newSandbox(t)
	if err := os.WriteFile(filepath.Join(s.workspace, "true"), []byte("#!/bin/sh\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := request("true")
	r.Env = map[string]string{"PATH": s.workspace}
	_, exit := s.run(r)
	s.expect(exit, "Exited code 0")
}

func TestTheEnvironmentOfACallLiesOverTheBase(t *testing.T) {
	s := newSandbox(t)
	r := request("env")
	r.Env = map[string]string{"HOME": "/elsewhere", "Q": "it's\n$(id) `id`"}
	c, _ := s.run(r)
	got := s.text(c, wire.Stdout)
	for _, line := range []string{"HOME=/elsewhere\n", "PATH=/usr/bin:/bin\n", "Q=it's\n$(id) `id`\n"} {
		if strings.Count(got, line) != 1 {
			t.Errorf("%q is not there once in %q", line, got)
		}
	}
}

func TestAToolSeesOnlyItsThreeStreamsAndASessionOfItsOwn(t *testing.T) {
	s := newSandbox(t)
	c, _ := s.run(sh(`ls /proc/self/fd; ps -o sid= -p $$ 2>/dev/null | grep -qw $$ || cut -d' ' -f6 /proc/$$/stat | grep -qw $$ && echo leader`))
	if got := s.text(c, wire.Stdout); got != "0\n1\n2\n3\nleader\n" { // 3 is the folder that ls reads.
		t.Errorf("got %q", got)
	}
}

func TestTheToolIsTheFirstThatTheKernelWouldTakeAndTheShimIsNot(t *testing.T) {
	s := newSandbox(t)
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	c := s.start(sh("cat /proc/self/oom_score_adj; sleep 60"))
	if got := s.output(c, 1); got[0] != "1000" {
		t.Errorf("the tool has %v", got)
	}
	s.eventually("the shim's own score", func() bool {
		shims, err := os.ReadFile("/proc/" + itoa(c.process.pid) + "/oom_score_adj")
		return err == nil && string(shims) == string(own)
	})
}

func TestADeadlineEndsACallThatLeavesWithACode(t *testing.T) {
	s := newSandbox(t)
	r := sh("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
	r.Timeout = 300 * time.Millisecond
	_, exit := s.run(r)
	s.expect(exit, "Deadline code 5")
	if exit.DurationMs < 300 {
		t.Errorf("ended after %d ms", exit.DurationMs)
	}
}

func TestADeadlineKillsEveryProcessHoweverItHides(t *testing.T) {
	for name, script := range map[string]string{
		"ignores TERM":       "trap '' TERM; echo $$; while :; do sleep 1; done",
		"double-forked":      "trap '' TERM; (sh -c 'trap \"\" TERM; echo $$; sleep 60' &) ; echo $$; sleep 60; sleep 60",
		"in its own session": "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 60; sleep 60' & echo $$; wait; sleep 60",
		"stopped":            "sh -c 'trap \"\" TERM; echo $$; kill -STOP $$' & echo $$; trap '' TERM; sleep 60; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			r := sh(script)
			r.Timeout, r.Grace = 300*time.Millisecond, 100*time.Millisecond
			c, exit := s.run(r)
			s.expect(exit, "Deadline")
			if exit.DurationMs < 400 || exit.DurationMs > 5000 {
				t.Errorf("ended after %d ms", exit.DurationMs)
			}
			s.expectAllDead(strings.Fields(s.text(c, wire.Stdout)))
			if len(s.text(c, wire.Stdout)) == 0 {
				t.Error("nothing was started")
			}
		})
	}
}

func TestAStoppedProcessHearsTERM(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap 'exit 3' TERM; echo $$; kill -STOP $$; while :; do sleep 0.01; done"))
	pid := s.output(c, 1)[0]
	s.eventually("stopping", func() bool { return isStopped(pid) }) // Between the two commands TERM would come too early: it stops after that, for good.
	if err := s.Kill(c.UID()); err != nil {
		t.Fatal(err)
	}
	s.expect(s.end(c), "Killed code 3")
}

func TestWhenTheMainProcessReturnsTheRestDiesAtOnce(t *testing.T) {
	s := newSandbox(t)
	c, exit := s.run(sh("trap '' TERM; (setsid sleep 60 & echo $!) ; sleep 60 & echo $!; exit 4"))
	s.expect(exit, "Exited code 4")
	if exit.DurationMs > 2000 {
		t.Errorf("it took %d ms", exit.DurationMs)
	}
	s.expectAllDead(strings.Fields(s.text(c, wire.Stdout)))
}

func TestAChildHasItsGraceAlsoWhenTheMainProcessLeavesEarlier(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("(trap 'sleep 0.2; echo cleaned; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait"))
	s.output(c, 1)
	if err := s.Kill(c.UID()); err != nil {
		t.Fatal(err)
	}
	s.expect(s.end(c), "Killed")
	if got := s.text(c, wire.Stdout); got != "ready\ncleaned\n" {
		t.Errorf("got %q", got)
	}
}

func TestZombiesAreReapedWhileTheToolLives(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("for i in $(seq 50); do (true &) ; done; echo ready; sleep 60"))
	s.output(c, 1)
	s.eventually("reaping", func() bool { return len(descendantsOf(t, c.process.pid)) == 2 })
}

func TestACallWithTooManyProcessesIsKilled(t *testing.T) {
	s := newSandbox(t)
	r := sh("for i in $(seq 30); do sleep 60 & echo $!; done; wait")
	r.Pids = 20
	c, exit := s.run(r)
	s.expect(exit, "TooManyProcesses")
	s.expectAllDead(strings.Fields(s.text(c, wire.Stdout)))
}

func TestACallWithAsManyProcessesAsItMayHaveIsNot(t *testing.T) {
	s := newSandbox(t)
	r := sh("for i in $(seq 19); do sleep 0.3 & done; wait")
	r.Pids = 20
	_, exit := s.run(r)
	s.expect(exit, "Exited code 0")
}

func TestAShimThatIsKilledMeansLostAndLeavesNobodyBehind(t *testing.T) {
	s := newSandbox(t)
	bystander := s.start(sh("echo $$; sleep 60"))
	s.output(bystander, 1)
	c := s.start(sh("trap '' TERM; (setsid sh -c 'echo $$; sleep 60; sleep 60' &); echo $$; sleep 60; sleep 60"))
	pids := s.output(c, 2)
	kill(c.process.pid, syscall.SIGKILL)
	s.expect(s.end(c), "Lost")
	s.expectAllDead(pids)
	if pid := s.output(bystander, 1)[0]; !isAlive(pid) {
		t.Error("another call was killed too")
	}
}

func TestAShimWhoseSupervisorIsGoneKillsItsCall(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap '' TERM; echo $$; sleep 60; sleep 60"))
	pids := s.output(c, 1)
	raw, err := c.process.control.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_WR) }); err != nil {
		t.Fatal(err)
	}
	s.expect(s.end(c), "Signaled signal 9")
	s.expectAllDead(pids)
}

func TestATerminatingSandboxSaysSoAndStartsNothingMore(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"))
	s.output(c, 1)
	s.Terminate()
	s.expect(s.end(c), "Terminating code 0")
	if _, _, err := s.Start(request("true"), nil); err == nil {
		t.Error("a call was started")
	}
}

func TestACallWhoseGraceOutlivesItsSandboxIsKilledAsTerminating(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap '' TERM; echo ready; while :; do sleep 0.01; done"))
	s.output(c, 1)
	s.Terminate()
	if err := s.AwaitEnd(200 * time.Millisecond); err != nil {
		t.Error(err)
	}
	s.expect(s.end(c), "Terminating")
}

func TestAKillWithoutGraceHurriesACallThatHasSome(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("trap '' TERM; echo ready; while :; do sleep 0.01; done"))
	s.output(c, 1)
	if err := s.Kill(c.UID()); err != nil {
		t.Fatal(err)
	}
	s.KillAll()
	s.expect(s.end(c), "Killed")
}

func TestJudgeNamesTheCauseThatCameFirst(t *testing.T) {
	killed := syscall.WaitStatus(syscall.SIGKILL)
	for name, row := range map[string]struct {
		report    shim.Report
		asked     string
		oomKilled bool
		want      string
	}{
		"returned before the first signal":  {shim.Report{Status: 3 << 8}, wire.CauseDeadline, false, "Exited code 3"},
		"returned after it":                 {shim.Report{Status: 3 << 8, Asked: true}, wire.CauseDeadline, false, "Deadline code 3"},
		"killed by us":                      {shim.Report{Status: killed, Asked: true}, wire.CauseKilled, true, "Killed"},
		"killed by the kernel for memory":   {shim.Report{Status: killed}, "", true, "OutOfMemory"},
		"killed by itself":                  {shim.Report{Status: killed}, "", false, "Signaled signal 9"},
		"another signal while memory short": {shim.Report{Status: 11}, "", true, "Signaled signal 11"},
		"killed for memory by us":           {shim.Report{Status: killed, Asked: true}, wire.CauseOutOfMemory, false, "OutOfMemory"},
		"too many":                          {shim.Report{Status: killed, TooMany: true}, "", true, "TooManyProcesses"},
		"no fork":                           {shim.Report{Step: shim.ForkStep, Errno: syscall.EAGAIN}, wire.CauseKilled, false, "NotStarted Fork EAGAIN"},
		"no confinement":                    {shim.Report{Step: shim.ConfineStep, Errno: syscall.EPERM}, "", false, "NotStarted Confine EPERM"},
	} {
		if got := told(judge(row.report, row.asked, func() bool { return row.oomKilled })); got != row.want {
			t.Errorf("%s: %q, expected %q", name, got, row.want)
		}
	}
}
