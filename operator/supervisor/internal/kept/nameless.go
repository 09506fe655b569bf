package kept

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// usedUp are the errors for which memory would be no better: a disk that is full is to be felt, and a descriptor is a descriptor.
var usedUp = []error{unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE}

// Nameless makes a file in the folder that no other process can open: it never has a name. Where that cannot be, the folder being gone, it lies in memory.
func (f *Folder) Nameless() (*File, error) {
	file, err := f.made()
	if err != nil {
		return nil, fmt.Errorf("make a file in %s: %w", f.path, err)
	}
	return &File{file: file, bound: &f.bound}, nil
}

func (f *Folder) made() (*os.File, error) {
	if measures.Off("nameless-spool") {
		return os.CreateTemp(f.path, "spool-")
	}
	fd, err := f.nameless()
	if err != nil && !slices.ContainsFunc(usedUp, func(target error) bool { return errors.Is(err, target) }) {
		fd, err = unix.MemfdCreate("nameless", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(f.path, "nameless")), nil
}

func (f *Folder) nameless() (fd int, err error) {
	err = f.mending(func() error {
		fd, err = unix.Openat(f.fd(), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC|unix.O_EXCL, 0o600)
		return err
	})
	if err == unix.EOPNOTSUPP || err == unix.EISDIR {
		return f.unlinked()
	}
	return fd, err
}

// unlinked is for file systems without O_TMPFILE (NFS): the file has a name for the blink of an eye, in a folder that no tool may open.
func (f *Folder) unlinked() (int, error) {
	name := "spool-" + rand.Text()
	fd, err := unix.Openat(f.fd(), name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	if err := unix.Unlinkat(f.fd(), name, 0); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
