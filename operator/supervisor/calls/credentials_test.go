package calls

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/wire"
)

const token = "value-of-the-token"

// carrying is a start that carries a credential.
func carrying(r wire.Start, changes ...func(*wire.Credentials)) wire.Start {
	r.Credentials = &wire.Credentials{Env: map[string]string{"TOKEN": token}}
	for _, change := range changes {
		change(r.Credentials)
	}
	return r
}

// seeing says what a call sees of the workspace.
func seeing(w wire.Workspace) func(*wire.Credentials) {
	return func(c *wire.Credentials) { c.Workspace = w }
}

// read is the lines that a call wrote.
func (s sandbox) read(r wire.Start) []string {
	s.t.Helper()
	c, exit := s.run(r)
	s.expect(exit, "Exited code 0")
	if complaints := s.text(c, wire.Stderr); complaints != "" {
		s.t.Errorf("it complained: %s", complaints)
	}
	return strings.Split(strings.TrimSuffix(s.text(c, wire.Stdout), "\n"), "\n")
}

// cleared waits until nothing is left of calls that have ended.
func (s sandbox) cleared() {
	s.t.Helper()
	s.eventually("the end of what calls leave", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.running == 0 })
}

func needsABI(t *testing.T, abi int) {
	t.Helper()
	if confine.ABI() < abi {
		t.Skipf("this kernel has Landlock ABI %d; it takes %d", confine.ABI(), abi)
	}
}

func TestACredentialReachesTheProcessAndHasTheLastWord(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Base.Env["TOKEN"], c.Base.Env["BASE"], c.Base.Env["HOME"] = "of the base", "1", "/" })
	r := carrying(sh(`echo "$TOKEN"; echo "$BASE$CALL"; echo "$TMPDIR"; echo "$XDG_CACHE_HOME"; echo "$HOME"`), func(c *wire.Credentials) {
		c.Env["TMPDIR"] = "of the credentials"
	})
	r.Env = map[string]string{"CALL": "2", "BASE": "3", "XDG_CACHE_HOME": "of the call", "TMPDIR": "of the call"}
	got := s.read(r)
	if !slices.Equal(got[:3], []string{token, "32", "of the credentials"}) {
		t.Errorf("got %q", got)
	}
	for i, place := range []string{"cache", "home"} {
		if !strings.HasPrefix(got[3+i], s.homes+"/") || filepath.Base(got[3+i]) != place {
			t.Errorf("%s is %s", place, got[3+i])
		}
	}
}

func TestACallWithoutCredentialsHasNoHomeOfItsOwn(t *testing.T) {
	s := newSandbox(t)
	if got := s.read(sh(`echo "$HOME $XDG_CONFIG_HOME"`)); got[0] != s.workspace+" " {
		t.Errorf("got %q", got)
	}
	if entries, err := os.ReadDir(s.homes); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestAHomeIsEmptyAndWritableAndGoneAfterItsCallHoweverHardThatWasMade(t *testing.T) {
	s := newSandbox(t)
	outside := filepath.Join(s.workspace, "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.read(carrying(sh(`for d in "$HOME" "$TMPDIR" "$XDG_CONFIG_HOME" "$XDG_CACHE_HOME" "$XDG_DATA_HOME" "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR"; do
		[ -z "$(ls -A "$d")" ] && echo "$TOKEN" >"$d/file" && [ "$(cat "$d/file")" = "$TOKEN" ] || echo "wrong: $d"; done
		cd "$HOME"; echo "$HOME"; mkdir -p a/b/c; echo x >a/b/c/f; ln -s ` + s.workspace + ` a/link; mkdir locked; echo x >locked/f
		chmod 0 a/b/c a/b a locked "$HOME" "$TMPDIR" "${HOME%/home}"`)))
	if len(got) != 1 || !strings.HasPrefix(got[0], s.homes) {
		t.Fatalf("got %q", got)
	}
	s.cleared()
	if _, err := os.Lstat(filepath.Dir(got[0])); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("the link was followed: %v", err)
	}
}

func TestEveryCallHasAHomeThatNoOtherCanUse(t *testing.T) {
	needsABI(t, 1)
	s := newSandbox(t)
	victim := s.start(carrying(sh(`echo kept >"$HOME/kept"; echo "$HOME"; exec sleep 60`)))
	home := s.output(victim, 1)[0]
	attack := strings.ReplaceAll(`cat HOME/kept; ls HOME; ls HOME/..; ls HOME/../..; echo x >HOME/planted; mv HOME/kept HOME/moved; mv HOME/kept .; ln HOME/kept .
		rm HOME/kept; mkdir HOME/folder; ln -s / HOME/link; ls `+s.homes, "HOME", home)
	for _, r := range []wire.Start{sh("cd " + s.workspace + "; " + attack), carrying(sh(`cd "$HOME"; ` + attack))} {
		c, _ := s.run(r)
		if got, refusals := s.text(c, wire.Stdout), s.text(c, wire.Stderr); got != "" || strings.Count(refusals, "ermission denied") < 11 {
			t.Errorf("got %q, %s", got, refusals)
		}
	}
	if text, err := os.ReadFile(home + "/kept"); string(text) != "kept\n" {
		t.Errorf("it is %q now, %v", text, err)
	}
}

func TestACallThatMayWriteNothingWritesInItsHome(t *testing.T) {
	needsABI(t, 3)
	s := newSandbox(t)
	r := carrying(sh(`echo x >"$HOME/file" && cat "$HOME/file"; echo x >` + s.workspace + `/file || echo refused`))
	r.Confine.BindsWrites = true
	c, _ := s.run(r)
	if got := s.text(c, wire.Stdout); got != "x\nrefused\n" {
		t.Errorf("got %q, %s", got, s.text(c, wire.Stderr))
	}
}

func TestAWorkspaceCanBeReadAndNotWritten(t *testing.T) {
	needsABI(t, 3)
	s := newSandbox(t)
	place(t, "/bin/true", s.workspace+"/program")
	if err := os.WriteFile(s.workspace+"/kept", []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(`cat WS/kept; ls WS; WS/program && echo ran; echo x >WS/new; echo >>WS/kept; true >WS/kept; rm WS/kept; mkdir WS/d
		mv WS/kept WS/moved; truncate -s 0 WS/kept; mv WS/kept "$HOME"; ln WS/kept "$HOME/linked"; echo "$TOKEN" >"$TMPDIR/f" && echo private`, "WS", s.workspace)
	bound := carrying(sh(script), seeing(wire.WorkspaceReadOnly))
	bound.Confine.BindsWrites, bound.Confine.Writable = true, []string{s.workspace, s.workspace + "/kept"}
	for name, r := range map[string]wire.Start{"unbound": carrying(sh(script), seeing(wire.WorkspaceReadOnly)), "bound to the workspace": bound} {
		c, _ := s.run(r)
		if got, want := s.text(c, wire.Stdout), "kept\nkept\nprogram\nran\nprivate\n"; got != want {
			t.Errorf("%s: got %q, %s", name, got, s.text(c, wire.Stderr))
		}
	}
	if got := s.read(sh("echo x >" + s.workspace + "/new; cat " + s.workspace + "/kept")); got[0] != "kept" {
		t.Errorf("the next call is kept from it, too: %q", got)
	}
}

func TestWithoutAWorkspaceACallBeginsInItsHome(t *testing.T) {
	needsABI(t, 3)
	s := newSandbox(t)
	if err := os.WriteFile(s.workspace+"/kept", []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.ReplaceAll(`pwd; echo "$HOME"; ls -A; cat WS/kept; ls WS; echo x >WS/new; true >WS/kept; cd WS && ls; true`, "WS", s.workspace)
	bound := carrying(sh(script), seeing(wire.WorkspaceNone))
	bound.Confine.BindsWrites, bound.Confine.Writable = true, []string{s.workspace, "/"}
	for name, r := range map[string]wire.Start{"unbound": carrying(sh(script), seeing(wire.WorkspaceNone)), "bound to the workspace": bound} {
		c, _ := s.run(r)
		got := strings.Fields(s.text(c, wire.Stdout))
		if len(got) != 2 || got[0] != got[1] || !strings.HasPrefix(got[0], s.homes) {
			t.Errorf("%s: got %q, %s", name, got, s.text(c, wire.Stderr))
		}
	}
	if text, _ := os.ReadFile(s.workspace + "/kept"); string(text) != "kept\n" {
		t.Errorf("it is %q now", text)
	}
}

func TestAProgramInAnyHomeIsNotTrusted(t *testing.T) {
	s := newSandbox(t)
	place(t, "/bin/true", s.homes+"/left")
	r := trusted(s.homes + "/left")
	_, exit := s.run(carrying(r))
	s.expect(exit, "NotStarted Resolve EACCES")
}

func TestACallForWhichNoHomeCanBeMadeIsUnavailableAndForgotten(t *testing.T) {
	s := newSandbox(t)
	if err := os.RemoveAll(s.homes); err != nil {
		t.Fatal(err)
	}
	r := carrying(request("true"))
	_, _, err := s.Start(r, nil)
	var ours *Unavailable
	if !errors.As(err, &ours) || strings.Contains(err.Error(), token) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Find(r.UID); !errors.Is(err, ErrUnknown) {
		t.Errorf("find: %v", err)
	}
}

func TestAHomeWhoseCallDoesNotStartIsRemoved(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Base.Homes = nil })
	homes, err := openHomes(s.homes)
	if err != nil {
		t.Fatal(err)
	}
	s.config.Base.Homes = homes
	if err := os.WriteFile(s.inputs+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := carrying(request("true"))
	r.UID = "file" // Its inputs are no folder: it cannot start.
	if _, _, err := s.Start(r, nil); err == nil {
		t.Error("it started")
	}
	_, exit := s.run(carrying(request("/no/such/program")))
	s.expect(exit, "NotStarted Exec ENOENT")
	s.cleared()
	if entries, err := os.ReadDir(s.homes); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestTheValueIsInNoCommandLine(t *testing.T) {
	s := newSandbox(t)
	c := s.start(carrying(sh("echo up; exec sleep 60")))
	s.output(c, 1)
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), token) {
			t.Errorf("%s holds it", file)
		}
	}
	if text := fmt.Sprintf("%+v", s.List()); strings.Contains(text, token) {
		t.Errorf("the list is %s", text)
	}
}
