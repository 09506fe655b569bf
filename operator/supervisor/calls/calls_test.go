package calls

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/reaper"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// The test binary is its own shim, and reaps all children of the process: no test here may use os/exec.
var (
	theReaper   *reaper.Reaper
	theLauncher *Launcher
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		os.Exit(shim.Main())
	}
	if len(os.Args) > 2 && os.Args[1] == "traced" {
		panic(becomeTraced(os.Args[2:]))
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	// As serve does: what the test runner has open is not for tools.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		panic(err)
	}
	theReaper = reaper.Start()
	var err error
	if theLauncher, err = NewLauncher(theReaper, os.Environ(), 0); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// plenty is a gauge of a machine that has all the memory there is.
type plenty struct{}

func (plenty) Limit() int64             { return 0 }
func (plenty) Usage(func() int64) int64 { return 0 }
func (plenty) OOMKills() int64          { return 0 }

// sandbox is a registry with folders of its own.
type sandbox struct {
	*Registry
	t         *testing.T
	workspace string
	inputs    string
	homes     string
}

func newSandbox(t *testing.T, changes ...func(*Config)) sandbox {
	t.Helper()
	dir := t.TempDir()
	s := sandbox{t: t, workspace: filepath.Join(dir, "workspace"), inputs: filepath.Join(dir, "in"), homes: filepath.Join(dir, "private")}
	var opened []*kept.Folder
	for _, folder := range []string{s.workspace, s.inputs, filepath.Join(dir, "spool"), s.homes} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		opened = append(opened, openFolder(t, folder))
	}
	box := confine.DefaultBox([]string{dir}) // As serve does: TMPDIR may lie in a folder that every call may read.
	roots := confine.Roots(append(box.Write, s.workspace))
	box.Write = confine.Paths(roots)
	homes, err := private.Open(s.homes, 1)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Launcher: theLauncher,
		Base: Base{
			Env:         map[string]string{"PATH": "/usr/bin:/bin", "HOME": s.workspace},
			Path:        []string{"/usr/bin", "/bin"},
			Box:         box,
			Roots:       roots,
			Workspace:   s.workspace,
			Inputs:      opened[1],
			Homes:       homes,
			LandlockABI: confine.ABI(),
		},
		Spool:     opened[2],
		Shared:    opened,
		Retention: time.Minute,
		Gauge:     plenty{},
		Secrets:   redact.NewSet(),
	}
	for _, change := range changes {
		change(&config)
	}
	s.Registry = NewRegistry(config)
	t.Cleanup(func() { s.KillAll(); _ = s.AwaitEnd(10 * time.Second); _ = homes.Close() })
	return s
}

func openFolder(t *testing.T, path string) *kept.Folder {
	t.Helper()
	folder, err := kept.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var uids atomic.Int64

// request is a start with a fresh uid.
func request(argv ...string) wire.Start {
	return wire.Start{
		UID:         fmt.Sprintf("call-%d", uids.Add(1)),
		Argv:        argv,
		Timeout:     time.Minute,
		Grace:       time.Minute,
		OutputBytes: 1 << 20,
		Pids:        100,
	}
}

func sh(script string) wire.Start { return request("sh", "-c", script) }

// Start is what a start frame does: the call that is known by its uid, or a new one.
func (s sandbox) Start(r wire.Start, stdin *kept.File) (c *Call, attached bool, err error) {
	c, known, err := s.Enter(r)
	switch {
	case err != nil:
		return nil, false, err
	case known:
		return c, true, c.Born()
	}
	return c, false, s.Launch(c, r, stdin)
}

// start starts a call that must be new.
func (s sandbox) start(r wire.Start) *Call {
	s.t.Helper()
	c, attached, err := s.Start(r, nil)
	if err != nil || attached {
		s.t.Fatalf("start: attached %v, %v", attached, err)
	}
	return c
}

// run gives how a call ended.
func (s sandbox) run(r wire.Start) (*Call, wire.Exit) {
	s.t.Helper()
	c := s.start(r)
	return c, s.end(c)
}

func (s sandbox) end(c *Call) wire.Exit {
	s.t.Helper()
	select {
	case <-c.Ended():
		return *c.Exit()
	case <-time.After(20 * time.Second):
		s.t.Fatal("the call does not end")
		return wire.Exit{}
	}
}

func (s sandbox) text(c *Call, stream wire.Stream) string {
	s.t.Helper()
	text := make([]byte, c.Stored(stream))
	if n, err := c.ReadAt(stream, text, 0); n != len(text) {
		s.t.Fatalf("read %d of %d bytes: %v", n, len(text), err)
	}
	return string(text)
}

// output waits until the call has written so many lines, and gives them.
func (s sandbox) output(c *Call, lines int) []string {
	s.t.Helper()
	s.eventually("output", func() bool { return strings.Count(s.text(c, wire.Stdout), "\n") >= lines })
	return strings.Fields(s.text(c, wire.Stdout))
}

func (s sandbox) eventually(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	s.t.Fatalf("%s: it never came", what)
}

// told is an exit in one line, as tests name it.
func told(e wire.Exit) string {
	text := e.Cause
	if e.Code != nil {
		text += fmt.Sprintf(" code %d", *e.Code)
	}
	if e.Signal != nil {
		text += fmt.Sprintf(" signal %d", *e.Signal)
	}
	if e.Step != nil {
		text += " " + *e.Step + " " + *e.Error
	}
	return text
}

func (s sandbox) expect(got wire.Exit, want string) {
	s.t.Helper()
	if told(got) != want {
		s.t.Errorf("ended %q, expected %q", told(got), want)
	}
}

func isAlive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func isStopped(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && strings.Contains(string(stat), ") T ")
}

// expectAllDead judges the pids a call printed.
func (s sandbox) expectAllDead(pids []string) {
	s.t.Helper()
	for _, pid := range pids {
		if isAlive(pid) {
			s.t.Errorf("process %s outlives its call", pid)
		}
	}
}

func kill(pid int, signal syscall.Signal) { _ = syscall.Kill(pid, signal) }

func descendantsOf(t *testing.T, pid int) []int {
	t.Helper()
	below, err := proctree.Descendants(pid)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(below)
	return below
}

func itoa(n int) string { return fmt.Sprint(n) }
