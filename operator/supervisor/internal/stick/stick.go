// Package stick keeps files from being removed, for tests of what cannot be.
package stick

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// File keeps a file from being removed, by whoever it is, until the end of the test or a call of what it returns. Without the right, or a file system that
// can do it, the test is skipped.
func File(t *testing.T, path string) (unstick func()) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
	set := func(flags int) error { return unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags) }
	if err == nil {
		err = set(before | unix.STATX_ATTR_IMMUTABLE) // The same bit as FS_IMMUTABLE_FL, which the package does not name.
	}
	if err != nil {
		t.Skipf("needs root and a file system whose files can be made immutable: %v", err)
	}
	t.Cleanup(func() { _ = set(before); _ = file.Close() })
	return func() { _ = set(before) }
}
