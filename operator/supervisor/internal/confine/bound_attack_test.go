package confine

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bindings are attacks of calls that are confined beyond the sandbox's own box, and the measure without which each succeeds.
var bindings = []struct {
	decision, attack, without string
	confined                  func(box Box, s bound) Box
}{
	// Without a network.
	{"no network", "tcp-connect LISTENER", "seccomp", unconnected},
	{"no network", "udp-send LISTENER", "seccomp", unconnected},
	{"no network", "mptcp-connect LISTENER", "seccomp", unconnected},
	{"no network", "fastopen LISTENER sendto", "seccomp", unconnected},
	{"no network", "netlink", "seccomp", unconnected},
	{"no network and no Unix sockets", "tcp-connect LISTENER", "seccomp", unconnectedEmbedded},
	{"no network and no Unix sockets", "unix-connect SOCKET", "seccomp", unconnectedEmbedded},

	// With one: what goes past a guard of connect.
	{"plain TCP", "mptcp-connect LISTENER", "seccomp", unbound},
	{"plain TCP", "fastopen LISTENER sendto", "seccomp", unbound},
	{"plain TCP", "fastopen LISTENER sendmsg", "seccomp", unbound},
	{"plain TCP", "fastopen LISTENER setsockopt", "seccomp", unbound},

	// Writes that are bound to ROOT/a.
	{"bound writes", "create ROOT/beside", "landlock-files", toA},
	{"bound writes", "create ROOT/b/beside", "landlock-files", toA},
	{"bound writes", "create ROOT/ab", "landlock-files", toA},
	{"bound writes", "create ROOT/a/out/planted", "landlock-files", toA},
	{"bound writes", "hardlink ROOT/b/file ROOT/a/linked", landlock, toA},
	{"bound writes", "rename ROOT/b/file ROOT/a/moved", landlock, toA},
	{"bound writes", "rename ROOT/a/file ROOT/b/moved", landlock, toA},
	{"bound writes", "create ROOT/a/beside", "landlock-files", toNothing},
	{"bound writes", "create /dev/shm/confine-test", "landlock-files", toNothing},
	{"bound writes", "create ELSEWHERE/planted", "landlock-files", toEverything},
	// Writes that are bound to a path in which an earlier call put a link.
	{"exact paths", "create ROOT/b/through", "exact-paths", toLink},
	{"exact paths", "create ROOT/b/through", "exact-paths", throughLink},
	{"exact paths", "create ELSEWHERE/through", "exact-paths", toLinkOut},
}

func unbound(box Box, _ bound) Box { return box }

func unconnected(box Box, _ bound) Box {
	box.NoNetwork = true
	return box
}

func unconnectedEmbedded(box Box, _ bound) Box {
	box.NoNetwork, box.RefuseUnixSockets = true, true
	return box
}

func toA(box Box, s bound) Box          { return box.Bind(s.roots(), []string{s.root + "/a"}) }
func toNothing(box Box, s bound) Box    { return box.Bind(s.roots(), nil) }
func toEverything(box Box, s bound) Box { return box.Bind(s.roots(), []string{"/"}) }
func toLink(box Box, s bound) Box       { return box.Bind(s.roots(), []string{s.root + "/link"}) }
func toLinkOut(box Box, s bound) Box    { return box.Bind(s.roots(), []string{s.root + "/away"}) }
func throughLink(box Box, s bound) Box  { return box.Bind(s.roots(), []string{s.root + "/a/up/b"}) }

// bound is a scene in which an earlier call has worked: a writable root with folders a and b, links within it, and one to a folder outside.
type bound struct {
	scene
	root, socket, listener string
}

func (s bound) roots() []Root { return Roots([]string{sharedMemory, s.root}) }

func stageBound(t *testing.T) bound {
	t.Helper()
	s := bound{scene: stage(t)}
	s.root = s.out
	s.socket = filepath.Join(folder(t, place, "sockets"), "s") // In no folder named for a test: 108 bytes are all that such an address may have.
	_ = os.Remove(s.socket)
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(folder(t, s.root, name), "file")
		if err := errors.Join(os.WriteFile(file, nil, 0o600), owned(file)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "b", "away": s.elsewhere, "a/up": "..", "a/out": "../b"} {
		if err := os.Symlink(target, filepath.Join(s.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	s.listener = listening(t, unconfined(filepath.Join(place, "tool"), "listen", "1m"))
	listening(t, unconfined("/usr/bin/python3", "-uc", `import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(sys.argv[1]); time.sleep(60)`, s.socket))
	return s
}

func owned(path string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(path, outsider, outsider)
}

// listening starts what prints where it listens.
func listening(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (s bound) arguments(attack string) []string {
	attack = strings.NewReplacer("LISTENER", s.listener, "SOCKET", s.socket, "ROOT", s.root, "ELSEWHERE", s.elsewhere).Replace(attack)
	return append([]string{filepath.Join(place, "tool")}, strings.Fields(attack)...)
}

// box is what calls of the scene have when they are not bound. What lies elsewhere may be read: only writes are at stake.
func (s bound) box() Box {
	box := boxOf(s.root, s.own)
	box.Read = append(box.Read, s.elsewhere)
	box.Write = Paths(s.roots())
	return box
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("this machine has no python3, which listens on a socket here")
	}
}

func TestEveryAttackOfABoundCallIsRefused(t *testing.T) {
	needLandlock(t)
	needPython(t)
	s := stageBound(t)
	for _, b := range bindings {
		t.Run(b.decision+": "+b.attack, func(t *testing.T) {
			code, said := answer(t, as(roleTool, "", b.confined(s.box(), s), s.arguments(b.attack)...))
			if code != refusedCode {
				t.Errorf("exit code %d: %s", code, said)
			}
		})
	}
}

func TestEveryAttackOfABoundCallSucceedsWithoutItsMeasure(t *testing.T) {
	if !weakened(t) {
		t.Skip("an ordinary build leaves nothing out; `go test -tags weaken` runs this")
	}
	needLandlock(t)
	needPython(t)
	t.Cleanup(func() { _ = os.Remove("/dev/shm/confine-test") })
	for _, b := range bindings {
		t.Run(b.decision+": "+b.attack, func(t *testing.T) {
			s := stageBound(t)
			code, said := answer(t, as(roleTool, b.without, b.confined(s.box(), s), s.arguments(b.attack)...))
			if code != succeededCode {
				t.Errorf("exit code %d without %s: %s", code, b.without, said)
			}
		})
	}
}

func TestABoundCallDoesWhatItMay(t *testing.T) {
	needLandlock(t)
	needPython(t)
	s := stageBound(t)
	for _, row := range []struct {
		works    string
		confined func(Box, bound) Box
	}{
		{"socketpair", unconnected},
		{"socketpair", unconnectedEmbedded},
		{"unix-connect SOCKET", unconnected},
		{"create ROOT/a/new", toA},
		{"create ROOT/a/up/a/again", toA},
		{"rename ROOT/a/new ROOT/a/newer", toA},
		{"rename-across ROOT/a", toA},
		{"open ROOT/b/file", toA},
		{"open ELSEWHERE/file", toA},
		{"open ROOT/b/file", toNothing},
		{"create ROOT/b/new", toEverything},
		{"tcp-connect LISTENER", toNothing},
		{"udp-send LISTENER", unbound},
	} {
		if code, said := answer(t, as(roleTool, "", row.confined(s.box(), s), s.arguments(row.works)...)); code != succeededCode {
			t.Errorf("%s: exit code %d: %s", row.works, code, said)
		}
	}
	for _, device := range devices[:5] {
		box := toNothing(s.box(), s)
		if code, said := answer(t, as(roleTool, "", box, "/bin/sh", "-c", "exec 3<>"+device)); code != 0 {
			t.Errorf("%s: exit code %d: %s", device, code, said)
		}
	}
}
