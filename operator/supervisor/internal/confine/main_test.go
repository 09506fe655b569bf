package confine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// The test program is run again in these roles, since what a thread gives up it never gets back.
const (
	roleVariable = "CONFINE_TEST_ROLE"
	boxVariable  = "CONFINE_TEST_BOX"

	roleTool       = "tool"       // enters Scope and Box, becomes the program in its arguments
	roleSupervisor = "supervisor" // hardens itself, listens on an abstract socket, stays
	roleShim       = "shim"       // enters Scope, starts a family in a Box, kills all it can reach
)

// outsider is a user without any right on this machine; used when the tests run as root, who would prove nothing.
const outsider = 1000

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		syscall.Umask(0o022) // What is made here is for another user, whatever mask the tests were started with.
		code := m.Run()
		if place != "" {
			_ = os.RemoveAll(place)
		}
		os.Exit(code)
	case roleTool, roleSupervisor, roleShim:
		runtime.LockOSThread()
		err := map[string]func() error{roleTool: beTool, roleSupervisor: beSupervisor, roleShim: beShim}[role]()
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(99)
	}
}

func beTool() error {
	if err := enterBoth(); err != nil {
		return err
	}
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		return err
	}
	return syscall.Exec(path, os.Args[1:], os.Environ())
}

func enterBoth() error {
	var box Box
	if err := json.Unmarshal([]byte(os.Getenv(boxVariable)), &box); err != nil {
		return err
	}
	scope, err := NewScope()
	if err != nil {
		return err
	}
	return errors.Join(scope.Enter(), box.Enter())
}

func beSupervisor() error {
	listener, err := net.Listen("unix", fmt.Sprintf("@confine-%d", os.Getpid()))
	if err != nil {
		return err
	}
	if err := Harden(); err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if connection, err := listener.Accept(); err == nil {
			_ = connection.Close()
		}
	}
}

// beShim kills with -1 only after it saw that the domain holds: without one the signal would reach everything of its user.
func beShim() error {
	var stranger int
	if _, err := fmt.Sscan(os.Args[1], &stranger); err != nil {
		return err
	}
	scope, err := NewScope()
	if err != nil {
		return err
	}
	if err := scope.Enter(); err != nil {
		return err
	}
	if err := unix.Kill(stranger, 0); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a process of the same user outside of the domain is in reach: %w", err)
	}
	family := exec.Command("/proc/self/exe", os.Args[2:]...)
	family.Env = append(os.Environ(), roleVariable+"="+roleTool)
	out, err := family.StdoutPipe()
	if err != nil {
		return err
	}
	if err := family.Start(); err != nil {
		return err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return fmt.Errorf("the family said %q: %w", line, err)
	}
	if err := unix.Kill(-1, unix.SIGKILL); err != nil {
		return err
	}
	_ = family.Wait() // It was killed.
	fmt.Println("killed")
	os.Exit(0)
	return nil
}

// shelf is where that folder is made: not TMPDIR, which may lie where the unprivileged user cannot go, or in a folder that every call may read.
const shelf = "/tmp"

// place is a folder that every user may enter, with copies of the test program and of the tool that attacks.
var place string

var prepare = sync.OnceValue(func() error {
	var err error
	if place, err = os.MkdirTemp(shelf, "confine-"); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(place, "tool"), ".")
	build.Dir = "../../../../tests/tool"
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the tool: %w: %s", err, out)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(place, "again"), self, 0o755), os.Chmod(place, 0o755))
})

// needLandlock ends a test that would prove nothing on this kernel, and says so.
func needLandlock(t *testing.T) {
	t.Helper()
	if ABI() < abiScopes {
		t.Skipf("this kernel has Landlock ABI %d; scopes need %d", ABI(), abiScopes)
	}
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
}

// folder is a new one that the unprivileged user owns.
func folder(t *testing.T, below, name string) string {
	t.Helper()
	path := filepath.Join(below, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, outsider, outsider); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// as is this program again in a role, as the unprivileged user, with some measures left out.
func as(role, without string, box Box, args ...string) *exec.Cmd {
	text, err := json.Marshal(box)
	if err != nil {
		panic(err) // A Box is three lists and a bool.
	}
	command := exec.Command(filepath.Join(place, "again"), args...)
	command.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", roleVariable + "=" + role, boxVariable + "=" + string(text), "TOOLCALL_WITHOUT=" + without}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: outsider, Gid: outsider}
	}
	return command
}

// boxOf is what a call gets: the image, one writable folder, its own inputs.
func boxOf(write, inputs string) Box {
	box := DefaultBox(nil)
	box.Read = append(box.Read, filepath.Join(place, "tool"), inputs)
	box.Write = append(box.Write, write)
	return box
}

// started runs a command that stays, waits for its first line, and kills it when the test ends.
func started(t *testing.T, command *exec.Cmd) *exec.Cmd {
	t.Helper()
	var trouble bytes.Buffer
	command.Stderr = &trouble
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	if line, err := bufio.NewReader(io.LimitReader(out, 256)).ReadString('\n'); err != nil {
		t.Fatalf("%v said %q: %v: %s", command.Args, line, err, trouble.String())
	}
	return command
}

// answer runs the tool to its end: its exit code and what it printed.
func answer(t *testing.T, command *exec.Cmd) (int, string) {
	t.Helper()
	timer := time.AfterFunc(30*time.Second, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), strings.TrimSpace(string(out))
}

// weakened reports whether this build can leave measures out.
func weakened(t *testing.T) bool {
	t.Helper()
	t.Setenv("TOOLCALL_WITHOUT", "anything")
	return measures.Off("anything")
}
