package calls

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/wire"
)

// trusted is a start of a program that must be trusted.
func trusted(argv ...string) wire.Start {
	r := request(argv...)
	r.Confine.TrustedProgram = true
	return r
}

// planted is a sandbox in whose workspace an earlier call has left a copy of true, and links to it and to the original.
func planted(t *testing.T, changes ...func(*Config)) sandbox {
	t.Helper()
	s := newSandbox(t, changes...)
	place(t, "/bin/true", s.workspace+"/copied")
	for link, target := range map[string]string{"to-true": "/bin/true", "again": "copied"} {
		if err := os.Symlink(target, filepath.Join(s.workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func place(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(target, source); err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
}

// image is a folder that no call can write, first on the PATH, with a link into the workspace.
func image(t *testing.T) (folder string, change func(*Config)) {
	t.Helper()
	folder = t.TempDir()
	return folder, func(c *Config) {
		workspace := c.Base.Roots[len(c.Base.Roots)-1].Path
		if err := os.Symlink(workspace+"/copied", folder+"/linked"); err != nil {
			t.Fatal(err)
		}
		c.Base.Box.Read = append(c.Base.Box.Read, folder)
		c.Base.Path = append([]string{workspace, folder}, c.Base.Path...)
	}
}

// untrusted are words for a program that calls could have changed. WORKSPACE and IMAGE stand for the folders; what `copied` is on the PATH lies in the
// workspace, and `linked` in the image.
var untrusted = []string{"WORKSPACE/copied", "WORKSPACE/to-true", "WORKSPACE/again", "copied", "to-true", "IMAGE/linked", "linked"}

// elsewhere are words for such a program that depend on the working directory, which is not the workspace in these tests.
var elsewhere = []string{"./copied", "/proc/self/cwd/copied"}

func inPlace(word, workspace, image string) string {
	return strings.NewReplacer("WORKSPACE", workspace, "IMAGE", image).Replace(word)
}

func TestAProgramThatCallsCouldHaveChangedIsNotRunWhereItMustBeTrusted(t *testing.T) {
	folder, change := image(t)
	s := planted(t, change)
	for _, word := range slices.Concat(untrusted, elsewhere) {
		_, exit := s.run(trusted(inPlace(word, s.workspace, folder)))
		s.expect(exit, "NotStarted Resolve EACCES")
	}
	for _, word := range untrusted {
		_, exit := s.run(request(inPlace(word, s.workspace, folder)))
		s.expect(exit, "Exited code 0")
	}
}

func TestATrustedProgramIsFoundPastTheFoldersThatCallsCanWrite(t *testing.T) {
	_, change := image(t)
	s := planted(t, change)
	if err := os.WriteFile(s.workspace+"/sh", []byte("#!/bin/true"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, exit := s.run(trusted("sh", "-c", "echo the real one"))
	s.expect(exit, "Exited code 0")
	if got := s.text(c, wire.Stdout); got != "the real one\n" {
		t.Errorf("got %q", got)
	}
	_, exit = s.run(trusted("/bin/sh", "-c", "exit 7"))
	s.expect(exit, "Exited code 7")
	_, exit = s.run(trusted("no-such-command"))
	s.expect(exit, "NotStarted Exec ENOENT")
	_, exit = s.run(trusted("/etc/passwd"))
	s.expect(exit, "NotStarted Exec EACCES")
}

func TestACallWritesOnlyBelowItsPathsAndReadsAsBefore(t *testing.T) {
	if confine.ABI() < 3 {
		t.Skipf("this kernel has Landlock ABI %d; to bind writes takes 3", confine.ABI())
	}
	s := newSandbox(t)
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(s.workspace, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := sh("cd " + s.workspace + `; echo 1 >a/new && mv a/new a/newer && cat a/newer; echo 2 >b/new; echo 3 >new; ls; echo >/dev/null && echo null`)
	r.Confine.BindsWrites = true
	r.Confine.Writable = []string{s.workspace + "/a", s.workspace + "/absent"}
	c, exit := s.run(r)
	s.expect(exit, "Exited code 0")
	if got := s.text(c, wire.Stdout); got != "1\na\nb\nnull\n" {
		t.Errorf("got %q, %s", got, s.text(c, wire.Stderr))
	}
	c, _ = s.run(sh("cd " + s.workspace + "; echo 2 >b/new; cat b/new"))
	if got := s.text(c, wire.Stdout); got != "2\n" {
		t.Errorf("the next call is bound, too: %q, %s", got, s.text(c, wire.Stderr))
	}
}

func TestACallWithoutNetworkMakesUnixSocketsOnly(t *testing.T) {
	s := newSandbox(t)
	script := "echo > /dev/tcp/127.0.0.1/9"
	for _, row := range []struct {
		confined bool
		says     unix.Errno
	}{{false, unix.ECONNREFUSED}, {true, unix.ENETUNREACH}} {
		r := request("bash", "-c", script)
		r.Env = map[string]string{"LC_ALL": "C"}
		r.Confine.NoNetwork = row.confined
		c, _ := s.run(r)
		if got := s.text(c, wire.Stderr); !strings.Contains(strings.ToLower(got), row.says.Error()) {
			t.Errorf("confined %v: %q", row.confined, got)
		}
	}
}
