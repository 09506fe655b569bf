package private

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/stick"
)

// The tests of rights say something only of a user that rights bind: root is none.
func asOrdinaryUser(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("run by root, whom no rights of folders hold up; see TestRightsHoldNothingUpForAnOrdinaryUser")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// removed removes a home, and expects nothing beside what was there.
func removed(t *testing.T, home *Home, beside ...string) {
	t.Helper()
	if err := home.Remove(); err != nil {
		t.Error(err)
	}
	if left := names(t, home.homes.Path()); fmt.Sprint(left) != fmt.Sprint(beside) {
		t.Errorf("left are %v", left)
	}
}

func TestFilesOfEveryKindAreRemovedAndNoLinkIsFollowed(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/kept", []byte("kept"), 0o600))
	home := newHome(t, openHomes(t))
	at := func(name string) string { return filepath.Join(home.Path(), "home", name) }
	must(t, os.Symlink(outside, at("to-folder")))
	must(t, os.Symlink(outside+"/kept", at("to-file")))
	must(t, os.Symlink("nowhere", at("dangling")))
	must(t, os.Link(outside+"/kept", at("hard")))
	must(t, unix.Mkfifo(at("pipe"), 0))
	must(t, os.WriteFile(at("locked"), nil, 0))
	must(t, os.MkdirAll(at("a/b/c"), 0o700))
	must(t, os.Symlink(outside, at("a/b/again")))
	removed(t, home)
	if text, err := os.ReadFile(outside + "/kept"); string(text) != "kept" {
		t.Errorf("a link was followed: %q, %v", text, err)
	}
}

func TestAHomeThatIsALinkNowIsRemovedAndNotWhatItLeadsTo(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/kept", nil, 0o600))
	home := newHome(t, openHomes(t))
	must(t, os.RemoveAll(home.Path()))
	must(t, os.Symlink(outside, home.Path()))
	removed(t, home)
	if len(names(t, outside)) != 1 {
		t.Error("the link was followed")
	}
}

func TestATreeThatIsDeeperThanAnyPathIsRemoved(t *testing.T) {
	const depth = 5000
	home := newHome(t, openHomes(t))
	at, err := unix.Open(home.Path(), unix.O_DIRECTORY, 0)
	must(t, err)
	for range depth {
		must(t, unix.Mkdirat(at, "d", 0o700))
		below, err := unix.Openat(at, "d", unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(at))
		at = below
	}
	must(t, unix.Close(at))
	removed(t, home)
}

func TestAWideTreeIsRemoved(t *testing.T) {
	home := newHome(t, openHomes(t))
	for i := range 2000 {
		must(t, os.WriteFile(fmt.Sprintf("%s/tmp/file-%d", home.Path(), i), nil, 0o600))
		if i%10 == 0 {
			must(t, os.MkdirAll(fmt.Sprintf("%s/tmp/folder-%d/inner", home.Path(), i), 0o700))
		}
	}
	removed(t, home)
}

func TestOtherHomesStay(t *testing.T) {
	homes := openHomes(t)
	home, other := newHome(t, homes), newHome(t, homes)
	must(t, os.WriteFile(other.Env()["HOME"]+"/kept", nil, 0o600))
	removed(t, home, other.name)
	if len(names(t, other.Env()["HOME"])) != 1 {
		t.Error("another home was emptied")
	}
}

// lockUp takes every right on every folder of a tree away, from below.
func lockUp(t *testing.T, home *Home) {
	t.Helper()
	must(t, os.MkdirAll(home.Path()+"/home/a/b/c", 0o700))
	for _, folder := range []string{"home/a/b/c", "home/a/b", "home/a", "home", "tmp", ""} {
		must(t, os.WriteFile(filepath.Join(home.Path(), folder, "file"), nil, 0))
		must(t, os.Chmod(filepath.Join(home.Path(), folder), 0))
	}
}

func TestRightsHoldNothingUp(t *testing.T) {
	asOrdinaryUser(t)
	home := newHome(t, openHomes(t))
	lockUp(t, home)
	removed(t, home)
}

// TestRightsHoldNothingUpForAnOrdinaryUser is the same where root runs the tests: on a thread that is root no more, and ends with the test.
func TestRightsHoldNothingUpForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not run by root; see TestRightsHoldNothingUp")
	}
	folder := t.TempDir()
	for up := folder; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755))
	}
	must(t, os.Chown(folder, 1000, 1000))
	homes, err := Open(folder, 0)
	must(t, err)
	asUser(t, 1000, func() {
		home := newHome(t, homes)
		lockUp(t, home)
		if err := home.Remove(); err != nil {
			t.Error(err)
		}
	})
	if left := names(t, folder); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// asUser does something as another user, as all threads of the process are for as long.
func asUser(t *testing.T, uid int, do func()) {
	t.Helper()
	must(t, syscall.Setresuid(-1, uid, 0))
	defer func() { must(t, syscall.Setresuid(-1, 0, 0)) }()
	do()
}

func TestAFolderThatIsFilledWhileItIsEmptiedIsGivenUpInTheEnd(t *testing.T) {
	home := newHome(t, openHomes(t))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(fmt.Sprintf("%s/home/%d", home.Path(), i), nil, 0o600)
			}
		}
	}()
	done := make(chan error)
	go func() { done <- home.Remove() }()
	select {
	case <-done: // With luck even removed.
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
	close(stop)
	<-stopped
	removed(t, home)
}

func TestWhatCouldNotBeRemovedIsRemovedTheNextTimeWhereverItIsByThen(t *testing.T) {
	homes := openHomes(t)
	home := newHome(t, homes)
	path := home.Env()["HOME"] + "/file"
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	unstick := stick.File(t, path)
	for range 3 {
		if err := home.Remove(); err == nil || len(names(t, homes.Path())) == 0 {
			t.Fatalf("it is said to be removed: %v, and left are %v", err, names(t, homes.Path()))
		}
	}
	unstick()
	if err := home.Remove(); err != nil || len(names(t, homes.Path())) != 0 {
		t.Errorf("left are %v, %v", names(t, homes.Path()), err)
	}
}
