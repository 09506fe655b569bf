package confine

import (
	"os"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// opener opens what a Landlock rule is to be on; os.ErrNotExist is nothing to have a rule on.
type opener func(path string) (fd int, err error)

// writeOpener is for the paths of Write: where they are bound an earlier call may have put links in their way.
func (b Box) writeOpener() opener {
	if b.BindsWrites && !measures.Off("exact-paths") {
		return exact
	}
	return following
}

// following goes through symbolic links: for paths that no call can change.
func following(path string) (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) }

// exact goes through no link of any kind. What lies behind one, or cannot be entered, is not there.
func exact(path string) (int, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch err {
	case unix.ELOOP, unix.ENOTDIR, unix.EACCES:
		return -1, os.ErrNotExist
	}
	return fd, err
}
