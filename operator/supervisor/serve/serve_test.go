package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolcall-operator/supervisor/connect"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// The test binary is the supervisor too.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "shim":
		os.Exit(shim.Main())
	case len(os.Args) > 1 && os.Args[1] == "serve":
		err = Main(os.Args[2:], "test")
	case len(os.Args) == 2 && os.Args[1] == "connect":
		err = connect.Main(os.Stdin, os.Stdout)
	case len(os.Args) == 2 && os.Args[1] == "bomb":
		bomb()
	case len(os.Args) == 4 && os.Args[1] == "threads":
		n, _ := strconv.Atoi(os.Args[2])
		pace, _ := time.ParseDuration(os.Args[3])
		manyThreads(n, pace)
	default:
		syscall.Umask(0o022) // A serve of another user reads what is made here, whatever mask the tests were started with.
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

var theKey = []byte("key of the test")

// flags is a serve command line with folders of its own.
func flags(dir string, more ...string) []string {
	return append([]string{
		"serve", "--key-sha256", fmt.Sprintf("%x", sha256.Sum256(theKey)), "--workspace", dir + "/workspace", "--work", dir + "/work",
		"--tmp", dir + "/tmp", "--spool", dir + "/spool",
	}, more...)
}

// operator speaks with a process on its stdin and stdout.
type operator struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames *wire.Reader
	errors *bytes.Buffer

	greeting string // of serve
}

// surroundings is the environment of the tests without what says where whoever started them keeps his files: a serve in a container has neither.
func surroundings() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "HOME=") || strings.HasPrefix(pair, "TMPDIR=")
	})
}

func run(t *testing.T, cmd *exec.Cmd) *operator {
	t.Helper()
	cmd.Env = surroundings()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{t: t, cmd: cmd, in: in, frames: wire.NewReader(out), errors: &bytes.Buffer{}}
	o.frames.Admit()
	cmd.Stderr = o.errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return o
}

func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// embedded is a serve on stdio that was greeted.
func embedded(t *testing.T, dir string, more ...string) *operator {
	t.Helper()
	o := run(t, self(t, flags(dir, append(more, "--stdio")...)...))
	o.greet()
	return o
}

// greet exchanges hellos; that of serve says all this, too.
func (o *operator) greet(says ...string) {
	o.t.Helper()
	o.send(`{"type":"hello","versions":[1],"key":"%x","epoch":0,"client":"test"}`, theKey)
	o.greeting = o.expect(`"bootID"`)
	for _, text := range says {
		if !strings.Contains(o.greeting, text) {
			o.t.Fatalf("the greeting is %q, without %q", o.greeting, text)
		}
	}
}

func (o *operator) send(format string, args ...any) {
	o.t.Helper()
	if _, err := o.in.Write(wire.AppendControl(nil, fmt.Appendf(nil, format, args...))); err != nil {
		o.t.Fatalf("%v; stderr: %s", err, o.errors)
	}
}

func (o *operator) start(uid, script string) {
	o.t.Helper()
	o.ask(1, uid, script)
	o.expect(`"started"`)
}

// ask asks for a start.
func (o *operator) ask(channel int, uid, script string) {
	o.t.Helper()
	argv, _ := json.Marshal([]string{"sh", "-c", script})
	o.send(`{"type":"start","channel":%d,"uid":%q,"argv":%s,"env":{},"stdinSize":0,"timeoutMs":60000,"graceMs":100,"outputBytes":1000000,"pids":50,`+
		`"stdoutOffset":0,"stderrOffset":0,"window":262144}`, channel, uid, argv)
}

// next gives the next frame as text, "" at the end.
func (o *operator) next() string {
	o.t.Helper()
	frame, err := o.frames.Next()
	if err != nil {
		return ""
	}
	return string(frame.Body) + string(frame.Payload)
}

func (o *operator) expect(text string) string {
	o.t.Helper()
	got := o.next()
	if !strings.Contains(got, text) {
		o.t.Fatalf("got %q, expected %q; stderr: %s", got, text, o.errors)
	}
	return got
}

// output is everything up to the exit.
func (o *operator) output() (text, exit string) {
	o.t.Helper()
	for {
		got := o.next()
		if got == "" {
			o.t.Fatalf("no exit; stderr: %s", o.errors)
		}
		if strings.HasPrefix(got, `{"type":"exit"`) {
			return text, got
		}
		text += got
	}
}

// lines is the output up to so many lines.
func (o *operator) lines(n int) string {
	o.t.Helper()
	text := ""
	for strings.Count(text, "\n") < n {
		text += o.next()
	}
	return text
}

func (o *operator) wait() error {
	o.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- o.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(15 * time.Second):
		o.t.Fatal("serve does not end")
		return nil
	}
}

func isAlive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTheEndOfStdinKillsEveryCallAndEndsServe(t *testing.T) {
	o := embedded(t, t.TempDir())
	o.start("a", "trap '' TERM; (setsid sleep 60 & echo $!); echo $$; sleep 60; sleep 60")
	pids := o.lines(2)
	_ = o.in.Close()
	if err := o.wait(); err != nil {
		t.Errorf("%v; stderr: %s", err, o.errors)
	}
	for _, pid := range strings.Fields(pids) {
		if isAlive(pid) {
			t.Errorf("process %s is alive", pid)
		}
	}
}

func TestTheDeathOfServeKillsEveryCall(t *testing.T) {
	o := embedded(t, t.TempDir())
	o.start("a", "trap '' TERM; echo $$; sleep 60; sleep 60")
	pid := strings.TrimSpace(o.expect("\n"))
	_ = o.cmd.Process.Kill()
	for end := time.Now().Add(10 * time.Second); isAlive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s is alive", pid)
		}
	}
}

func TestServeThatIsToldToEndTellsHowItsCallsEnded(t *testing.T) {
	o := embedded(t, t.TempDir())
	o.start("a", "trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done")
	o.expect("ready")
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	if _, exit := o.output(); !strings.Contains(exit, `"cause":"Terminating","code":6`) {
		t.Errorf("got %s", exit)
	}
	o.send(`{"type":"acknowledge","id":1,"uid":"a"}`)
	if err := o.wait(); err != nil {
		t.Errorf("%v; stderr: %s", err, o.errors)
	}
}

func TestACtrlCOnTheTerminalIsNotServesBusinessNorItsTools(t *testing.T) {
	o := embedded(t, t.TempDir())
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		_ = o.cmd.Process.Signal(signal)
	}
	o.start("a", "grep SigIgn /proc/self/status")
	text, exit := o.output()
	if !strings.Contains(exit, `"code":0`) {
		t.Errorf("got %s", exit)
	}
	ignored, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(text, "SigIgn:")), 16, 64)
	if err != nil || ignored&(1<<(syscall.SIGINT-1)|1<<(syscall.SIGHUP-1)|1<<(syscall.SIGPIPE-1)) != 0 {
		t.Errorf("tools ignore %q, %v", text, err)
	}
}

func TestAToolFindsTheSandboxAsPromised(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TOOLCALL_SECRET", "of the supervisor")
	t.Setenv("KUBERNETES_PORT", "of the cluster")
	o := embedded(t, dir)
	for i, row := range []struct{ script, want string }{
		{"pwd", dir + "/workspace\n"},
		{"echo $HOME $TMPDIR", dir + "/tmp " + dir + "/tmp\n"},
		{"env | grep -cE '^(TOOLCALL|KUBERN)'", "0\n"},
		{"ulimit -c", "0\n"},
		{"echo a >x && mv x $TMPDIR/y && ls -A", ""},
		{"echo a >" + dir + "/work/out/x && echo written", "written\n"},
		{"echo a >" + dir + "/elsewhere", ""},
		{"echo a >" + dir + "/work/in/x", ""},
		{"ls " + dir + "/spool", ""},
		{"cat /proc/$PPID/environ", ""},
		{"kill -9 $PPID || echo refused", "refused\n"},
	} {
		o.start(fmt.Sprintf("call-%d", i), "("+row.script+") 2>/dev/null")
		if text, exit := o.output(); text != row.want {
			t.Errorf("%s: %q, %s", row.script, text, exit)
		}
	}
}

// ordinary is a serve of a user without any right on this machine, in folders of its own.
func ordinary(t *testing.T) (o *operator, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("/var/tmp", "serve-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "supervisor")
	copyOf(t, binary)
	const nobody = 65534
	if err := errors.Join(os.Chmod(binary, 0o111), os.Chown(dir, nobody, nobody), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, flags(dir, "--stdio")...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	o = run(t, cmd)
	o.greet()
	return o, dir
}

func TestServeRunsAsAnOrdinaryUser(t *testing.T) {
	o, _ := ordinary(t)
	// Where the shim may not raise its own score it raises the tool's, as soon as there is one.
	o.start("a", "id -u; sleep 0.3; cat /proc/self/oom_score_adj; cat /proc/$PPID/environ 2>/dev/null; sleep 60 & echo out; exit 3")
	if text, exit := o.output(); text != "65534\n1000\nout\n" || !strings.Contains(exit, `"code":3`) {
		t.Errorf("%q, %s; stderr: %s", text, exit, o.errors)
	}
}

func TestAToolThatTakesTheRightsOfSharedFoldersHarmsNoLaterCall(t *testing.T) {
	o, dir := ordinary(t)
	for n, folders := range []string{"spool", "work/in", "work/in work", "workspace", "tmp", "work/out work", "spool work/in work/out work workspace tmp"} {
		o.start(fmt.Sprintf("bad-%d", n), "cd "+dir+" && chmod 0 "+folders+" && echo taken")
		if text, exit := o.output(); text != "taken\n" {
			t.Errorf("%s: %q, %s", folders, text, exit)
		}
		uid := fmt.Sprintf("good-%d", n)
		own := filepath.Join(dir, "work/in", uid)
		if err := errors.Join(os.Mkdir(own, 0o755), os.WriteFile(own+"/input", []byte("given"), 0o644)); err != nil {
			t.Fatal(err)
		}
		if _, err := o.in.Write(wire.AppendData(nil, 1, wire.Stdin, 0, []byte("in"))); err != nil {
			t.Fatal(err)
		}
		script := "cat; cat " + own + "/input; touch x $TMPDIR/x " + dir + "/work/out/x && echo well"
		argv, _ := json.Marshal([]string{"sh", "-c", script})
		o.send(`{"type":"start","channel":1,"uid":%q,"argv":%s,"env":{},"stdinSize":2,"timeoutMs":60000,"graceMs":100,"outputBytes":1000000,"pids":50,`+
			`"stdoutOffset":0,"stderrOffset":0,"window":262144}`, uid, argv)
		o.expect(`"started"`)
		if text, exit := o.output(); text != "ingivenwell\n" || !strings.Contains(exit, `"code":0`) {
			t.Errorf("after %s: %q, %s", folders, text, exit)
		}
	}
}

func copyOf(t *testing.T, to string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, program, 0o755); err != nil {
		t.Fatal(err)
	}
}
