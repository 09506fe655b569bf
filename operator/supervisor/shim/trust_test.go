package shim

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAPathThatEntersADistrustedFolderAnywhereIsNotTrusted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"image/bin", "image/deep/er", "workspace/bin", "workspaces"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"image/bin/git", "workspace/bin/git", "workspaces/git"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"image/bin/alias": "git", "image/absolute": dir + "/image/bin/git", "image/up": "deep/er/../../bin",
		"image/out": "../workspace/bin/git", "image/folder": dir + "/workspace", "workspace/back": "../image/bin/git",
		"image/through": "../workspace/back", "image/loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		path    string
		trusted bool
	}{
		{"image/bin/git", true},
		{"image/bin/alias", true},
		{"image/absolute", true},
		{"image/up/git", true},
		{"image//./bin/../bin/git", true},
		{"image/bin/absent", true}, // The exec says what is wrong with it.
		{"workspaces/git", true},
		{"workspace/bin/git", false},
		{"workspace", false},
		{"workspace/back", false}, // It leads to a trusted file, and tomorrow to another.
		{"workspace/../image/bin/git", false},
		{"image/../workspace/bin/git", false},
		{"image/out", false},
		{"image/through", false},
		{"image/folder/bin/git", false},
		{"image/loop", false},
	} {
		if got := isOutOf([]string{dir + "/workspace"}, dir+"/"+row.path); got != row.trusted {
			t.Errorf("%s: trusted is %v", row.path, got)
		}
	}
	if isOutOf(nil, "image/bin/git") {
		t.Error("a relative path is trusted")
	}
}

func TestWhatAProcessHasOpenIsNoTrustedProgram(t *testing.T) {
	spec := Spec{Trusted: true}
	for path, trusted := range map[string]bool{"/bin/sh": true, "/proc/self/exe": false, "/proc/self/root/bin/sh": false, "/dev/fd/0": false} {
		if spec.mayRun(path) != trusted {
			t.Errorf("%s: trusted is %v", path, !trusted)
		}
	}
	if !(Spec{}).mayRun("/proc/self/exe") {
		t.Error("a program that need not be trusted is refused")
	}
}
