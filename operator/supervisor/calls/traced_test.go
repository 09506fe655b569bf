package calls

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/wire"
)

// becomeTraced makes the parent, a shim, the tracer of this process, which then becomes another program: its exec stops it, and so does each signal.
func becomeTraced(argv []string) error {
	runtime.LockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0); errno != 0 {
		return errno
	}
	return syscall.Exec(argv[0], argv, os.Environ())
}

// tracedSandbox lets the test binary, which has this as a role, be run.
func tracedSandbox(t *testing.T) (s sandbox, traced func(script string) wire.Start) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s = newSandbox(t, func(c *Config) { c.Base.Box.Read = append(c.Base.Box.Read, path) })
	return s, func(script string) wire.Start { return request(path, "traced", "/bin/sh", "-c", script) }
}

func TestAToolThatHasItselfTracedRunsToItsEnd(t *testing.T) {
	s, traced := tracedSandbox(t)
	for range 12 {
		_, exit := s.run(traced("exit 3"))
		s.expect(exit, "Exited code 3")
	}
}

func TestAToolThatHadItselfTracedHearsTERM(t *testing.T) {
	s, traced := tracedSandbox(t)
	c := s.start(traced("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done"))
	s.output(c, 1)
	if err := s.Kill(c.UID()); err != nil {
		t.Fatal(err)
	}
	s.expect(s.end(c), "Killed code 4")
}
