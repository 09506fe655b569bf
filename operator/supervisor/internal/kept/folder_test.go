package kept

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *Folder {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.dir.Close() })
	return f
}

// powerless runs the test on a thread that rights of files count for, as they do in a pod.
func powerless(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // Never unlocked: the thread ends with the test.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		t.Fatal(err)
	}
}

// locked is a folder whose owner lost every right to it after it was opened.
func locked(t *testing.T) (*Folder, string) {
	t.Helper()
	powerless(t)
	path := t.TempDir()
	f := open(t, path)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
	if _, err := os.ReadDir(path); err == nil {
		t.Fatal("its rights do not count")
	}
	return f, path
}

// usable is what a file is used for.
type usable interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

func expectUsable(t *testing.T, file usable, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	got := make([]byte, 3)
	if _, err := file.WriteAt([]byte("abc"), 0); err != nil {
		t.Error(err)
	}
	if _, err := file.ReadAt(got, 0); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestANamelessFileIsMadeInAFolderWhoseRightsWereTaken(t *testing.T) {
	f, path := locked(t)
	file, err := f.Nameless()
	expectUsable(t, file, err)
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAFolderIsFoundInOneWhoseRightsWereTaken(t *testing.T) {
	f, path := locked(t)
	f.Mend()
	if err := os.Mkdir(filepath.Join(path, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o100); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if has, err := f.Has(name); has != want || err != nil {
			t.Errorf("%s: %v, %v", name, has, err)
		}
	}
}

func TestWhatIsNoFolderOrCannotBeReadIsAnErrorAndNotNothing(t *testing.T) {
	powerless(t)
	path := t.TempDir()
	f := open(t, path)
	for name, err := range map[string]error{
		"file":   os.WriteFile(filepath.Join(path, "file"), nil, 0o600),
		"link":   os.Symlink("/", filepath.Join(path, "link")),
		"locked": os.Mkdir(filepath.Join(path, "locked"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
		if has, err := f.Has(name); has || err == nil {
			t.Errorf("%s: %v, %v", name, has, err)
		}
	}
}

func TestAFolderThatIsGoneIsReplacedByMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	file, err := f.Nameless()
	expectUsable(t, file, err)
}

func TestAFileSystemWithoutNamelessFilesLeavesNoNameEither(t *testing.T) {
	path := t.TempDir()
	fd, err := open(t, path).unlinked()
	expectUsable(t, os.NewFile(uintptr(fd), "unlinked"), err)
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestMendingLeavesOtherRightsAlone(t *testing.T) {
	path := t.TempDir()
	f := open(t, path)
	for before, after := range map[os.FileMode]os.FileMode{0o055: 0o755, 0o1077: 0o1777, 0o750: 0o750} {
		if err := syscall.Chmod(path, uint32(before)); err != nil {
			t.Fatal(err)
		}
		f.Mend()
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); err != nil || os.FileMode(info.Mode&0o7777) != after {
			t.Errorf("%o became %o, %v", before, info.Mode&0o7777, err)
		}
	}
}
