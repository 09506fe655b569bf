package confine

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestTheDefaultBoxGrantsTheImageAndNothingOfOthers(t *testing.T) {
	box := DefaultBox(nil)
	for _, path := range box.Read {
		for _, never := range []string{"/dev", "/work", "/workspace", "/tmp"} {
			if path == "/" || within(path, never) {
				t.Errorf("%s may be read", path)
			}
		}
		if within(path, "/run") && path != resolved {
			t.Errorf("%s may be read", path)
		}
	}
	if !slices.Contains(box.Read, "/usr") {
		t.Errorf("/usr may not be read: %v", box.Read)
	}
	if !slices.Equal(box.Write, []string{"/dev/shm"}) {
		t.Errorf("may be written: %v", box.Write)
	}
	for _, path := range slices.Concat(box.Read, box.Write, box.Devices) {
		if strings.HasPrefix(path, "/dev/pts") || path == "/dev/ptmx" {
			t.Errorf("terminals are granted: %s", path)
		}
	}
}

func TestAProgramThatLiesInTheRootMayBeRun(t *testing.T) {
	file, err := os.CreateTemp("/", "confine-test-")
	if err != nil {
		t.Skipf("the root of this machine is not writable: %v", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if read := DefaultBox(nil).Read; !slices.Contains(read, file.Name()) {
		t.Errorf("%s may not be read: %v", file.Name(), read)
	}
	if read := DefaultBox([]string{file.Name()}).Read; slices.Contains(read, file.Name()) {
		t.Errorf("hiding %s leaves it", file.Name())
	}
}

func TestAHiddenPathTakesItsTopLevelFolderWithIt(t *testing.T) {
	link := t.TempDir() + "/link"
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		hide    string
		without string
	}{
		{"/etc", "/etc"},
		{"/etc/", "/etc"},
		{"/etc/ssl/private", "/etc"},
		{"/etc/no-such-thing", "/etc"},
		{link, "/etc"},
		{"/usr/share", "/usr"},
		{"/usr", "/usr/bin"},
	} {
		read := DefaultBox([]string{row.hide}).Read
		if slices.Contains(read, row.without) {
			t.Errorf("hiding %s leaves %s", row.hide, row.without)
		}
		if !slices.Contains(read, "/proc") {
			t.Errorf("hiding %s takes everything: %v", row.hide, read)
		}
	}
	if read := DefaultBox([]string{"/etcetera"}).Read; !slices.Contains(read, "/etc") {
		t.Errorf("hiding /etcetera takes /etc: %v", read)
	}
}

func TestRightsGrowWithTheKernel(t *testing.T) {
	for _, row := range []struct {
		abi    int
		rights uint64
	}{{0, 0}, {1, 0x1fff}, {2, 0x3fff}, {3, 0x7fff}, {4, 0x7fff}, {5, 0xffff}, {7, 0xffff}, {9, 0x1ffff}, {99, 0x1ffff}} {
		if got := allRights(row.abi); got != row.rights {
			t.Errorf("ABI %d: rights %#x, want %#x", row.abi, got, row.rights)
		}
	}
	for _, row := range []struct {
		abi    int
		scopes uint64
	}{{0, 0}, {5, 0}, {6, 3}, {9, 3}} {
		if got := scopes(row.abi); got != row.scopes {
			t.Errorf("ABI %d: scopes %#x, want %#x", row.abi, got, row.scopes)
		}
	}
}
