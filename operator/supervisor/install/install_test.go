package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheProgramIsCopiedExecutableAndUnreadable(t *testing.T) {
	folder := t.TempDir()
	for range 2 { // The second time it replaces itself.
		if err := Into(folder); err != nil {
			t.Fatal(err)
		}
	}
	installed, err := os.Stat(filepath.Join(folder, "supervisor"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if installed.Mode() != 0o111 || installed.Size() != own.Size() {
		t.Errorf("mode %s, %d bytes of %d", installed.Mode(), installed.Size(), own.Size())
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestAFolderThatIsNotThereIsNamed(t *testing.T) {
	if err := Into("/no/such/folder"); err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("got %v", err)
	}
}
