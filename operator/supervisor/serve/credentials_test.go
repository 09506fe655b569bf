package serve

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/confine"
)

const secret = "of nobody's business"

// carry asks for a start with a credential.
func (o *operator) carry(channel int, uid, script, more string) {
	o.t.Helper()
	argv, _ := json.Marshal([]string{"sh", "-c", script})
	o.send(`{"type":"start","channel":%d,"uid":%q,"argv":%s,"env":{},"stdinSize":0,"timeoutMs":60000,"graceMs":100,"outputBytes":1000000,"pids":50,`+
		`"stdoutOffset":0,"stderrOffset":0,"window":262144,"credentials":{"env":{"TOKEN":%q},"redaction":"Off"%s}}`, channel, uid, argv, secret, more)
}

// homesIn is what lies in the folder of homes.
func homesIn(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir + "/work/private")
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestACredentialReachesItsProcessWhichHasAHomeBelowWork(t *testing.T) {
	dir := t.TempDir()
	o := embedded(t, dir)
	o.carry(1, "a", `echo "$TOKEN"; case "$HOME" in `+confine.RealPath(dir)+`/work/private/*/home) echo home;; esac; pwd`, "")
	o.expect(`"started"`)
	text, exit := o.output()
	if text != secret+"\nhome\n"+confine.RealPath(dir)+"/workspace\n" || !strings.Contains(exit, `"code":0`) {
		t.Errorf("%q, %s, stderr: %s", text, exit, o.errors)
	}
	_ = o.in.Close()
	if err := o.wait(); err != nil || strings.Contains(o.errors.String(), secret) {
		t.Errorf("%v, stderr: %s", err, o.errors)
	}
	if left := homesIn(t, dir); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestWithoutAWorkspaceACallOfServeBeginsInItsHome(t *testing.T) {
	if confine.ABI() < 3 {
		t.Skipf("this kernel has Landlock ABI %d; it takes 3", confine.ABI())
	}
	dir := t.TempDir()
	o := embedded(t, dir)
	o.carry(1, "a", `[ "$(pwd)" = "$HOME" ] && echo home; ls `+dir+`/workspace 2>/dev/null && echo workspace`, `,"workspace":"None"`)
	o.expect(`"started"`)
	if text, _ := o.output(); text != "home\n" {
		t.Errorf("got %q", text)
	}
}

func TestHomesThatAnEarlierServeLeftAreRemoved(t *testing.T) {
	dir := t.TempDir()
	o := embedded(t, dir)
	o.carry(1, "a", `echo "$TOKEN" >"$HOME/left"; echo up; exec sleep 60`, "")
	o.expect(`"started"`)
	o.lines(1)
	_ = o.cmd.Process.Kill()
	_ = o.wait()
	if len(homesIn(t, dir)) == 0 {
		t.Error("it left nothing, for once")
	}
	embedded(t, dir, "--isolation", "Exclusive")
	if left := homesIn(t, dir); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestWhereCallsAreIsolatedByTurnsServeSaysSoAndTakesTurns(t *testing.T) {
	dir := t.TempDir()
	o := run(t, self(t, flags(dir, "--isolation", "Exclusive", "--stdio")...))
	o.greet(`"isolation":"Exclusive"`)
	o.carry(1, "a", `echo "$HOME"; exec sleep 60`, "")
	o.expect(`"started"`)
	home := o.lines(1)
	if spares := homesIn(t, dir); len(spares) != 1 {
		t.Errorf("homes were made in advance: %v", spares)
	}
	o.ask(2, "b", "true")
	o.expect(`"code":"Unavailable"`)
	o.send(`{"type":"kill","id":1,"uid":"a"}`)
	o.expect(`"killing"`)
	o.expect(`"cause":"Killed"`)
	o.ask(2, "b", "test -e "+strings.TrimSpace(home)+" || echo gone")
	o.expect(`"started"`)
	if text, _ := o.output(); text != "gone\n" {
		t.Errorf("got %q", text)
	}
	if _, err := os.Lstat(strings.TrimSpace(home)); !errors.Is(err, unix.ENOENT) {
		t.Errorf("the home of the first is there: %v", err)
	}
}

func TestAFolderOfHomesThatCannotBeOneIsAMistakeOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/work", 0o700), os.WriteFile(dir+"/work/private", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	o := run(t, self(t, flags(dir, "--stdio")...))
	if err := o.wait(); err == nil || !strings.Contains(o.errors.String(), "--work") {
		t.Errorf("%v, stderr: %s", err, o.errors)
	}
}
