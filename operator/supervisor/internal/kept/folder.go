// Package kept holds folders open: they are reached whatever a tool, which is of the same user, does to their rights.
package kept

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ownersRights are what the supervisor and its tools, one user, need of a folder. Landlock does not guard chmod: seen on 6.18, where `chmod 000` of a
// folder that no rule names went through.
const ownersRights = 0o700

// Folder is one of them.
type Folder struct {
	path  string
	dir   *os.File
	bound bound
}

// Open opens a folder for good.
func Open(path string) (*Folder, error) {
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{path: path, dir: dir}, nil
}

// Limit lets its nameless files hold so many bytes together, in whole blocks. It is called before there is one.
func (f *Folder) Limit(bytes int64) { f.bound.set, f.bound.left = true, bytes/block }

// Path is its name.
func (f *Folder) Path() string { return f.path }

func (f *Folder) fd() int { return int(f.dir.Fd()) }

// Mend gives its owner back what was taken from him.
func (f *Folder) Mend() {
	var info unix.Stat_t
	if err := unix.Fstat(f.fd(), &info); err != nil || int(info.Uid) != os.Geteuid() {
		return
	}
	if info.Mode&ownersRights != ownersRights {
		_ = unix.Fchmod(f.fd(), info.Mode&0o7777|ownersRights)
	}
}

// Has says whether it holds a folder of this name. An error is one that is there and cannot be read, or is no folder.
func (f *Folder) Has(name string) (bool, error) {
	var fd int
	err := f.mending(func() (err error) {
		fd, err = unix.Openat(f.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s in %s: %w", name, f.path, err)
	}
	return true, unix.Close(fd)
}

// mending does something in the folder, and once more when its rights did not allow it.
func (f *Folder) mending(do func() error) error {
	err := do()
	if errors.Is(err, unix.EACCES) {
		f.Mend()
		err = do()
	}
	return err
}
