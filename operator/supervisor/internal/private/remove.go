package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// mostLooks is how often a folder is looked through: once and once more as a rule, for what is removed while names are read may hide others. A process
// that does not die may go on to fill it.
const mostLooks = 16

// batch is how many names are read at once.
const batch = 1024

// remove removes what has these names, whatever tools did to make it hard, and gives the names of what is left, which need not be the same. Folders
// within are moved up before they are emptied: neither a tree of any depth nor its rights, of which its owner can have any, are in the way. No link is
// followed.
func (h *Homes) remove(names ...string) (left []string, failed error) {
	for len(names) > 0 {
		last := names[len(names)-1]
		found, err := h.empty(last)
		names = append(names[:len(names)-1], found...)
		if err == nil {
			err = gone(unix.Unlinkat(h.fd(), last, unix.AT_REMOVEDIR))
		}
		if err != nil {
			left, failed = append(left, last), fmt.Errorf("remove a private home: %w", err)
		}
	}
	return left, failed
}

// empty removes what is in a folder, and gives the folders within by the new names that they have beside it. A file is nothing to be emptied: it goes.
func (h *Homes) empty(name string) (moved []string, err error) {
	folder, err := openFolder(h.fd(), name)
	if err == unix.ENOTDIR || err == unix.ELOOP {
		return nil, gone(unix.Unlinkat(h.fd(), name, 0))
	}
	if err != nil {
		return nil, gone(err)
	}
	defer folder.Close()
	for range mostLooks {
		found, err := h.look(folder, &moved)
		if err != nil || !found {
			return moved, err
		}
	}
	return moved, errors.New("it fills as it is emptied")
}

// look removes all that it finds, once; found is false when there was nothing.
func (h *Homes) look(folder *os.File, moved *[]string) (found bool, err error) {
	if _, err := folder.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	for {
		names, err := folder.Readdirnames(batch)
		if err == io.EOF || errors.Is(err, unix.ENOENT) { // The folder itself was removed meanwhile.
			return found, nil
		}
		if err != nil {
			return found, err
		}
		found = true
		for _, name := range names {
			if err := h.take(int(folder.Fd()), name, moved); err != nil {
				return found, err
			}
		}
	}
}

// take removes a file or an empty folder, and moves one that is not up.
func (h *Homes) take(folder int, name string, moved *[]string) error {
	err := unix.Unlinkat(folder, name, 0)
	if err == unix.EISDIR {
		err = unix.Unlinkat(folder, name, unix.AT_REMOVEDIR)
	}
	if err != unix.ENOTEMPTY && err != unix.EEXIST { // POSIX lets a file system say either.
		return gone(err)
	}
	to := rand.Text()
	err = unix.Renameat(folder, name, h.fd(), to)
	if err == unix.EACCES { // To move a folder takes the right to write it.
		if err = unlock(folder, name); err == nil {
			err = unix.Renameat(folder, name, h.fd(), to)
		}
	}
	if err == nil {
		*moved = append(*moved, to)
	}
	return gone(err)
}

// openFolder opens a folder with every right of its owner.
func openFolder(in int, name string) (*os.File, error) {
	open := func() (int, error) {
		return unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	fd, err := open()
	if err == unix.EACCES {
		if err = unlock(in, name); err == nil {
			fd, err = open()
		}
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Fchmod(fd, ownersOnly); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "private"), nil
}

// unlock gives the owner of a folder every right on it.
func unlock(in int, name string) error {
	fd, err := unix.Openat(in, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), ownersOnly) // There is no other way to change what O_PATH has opened.
}

// gone is an error but for that of what is not there.
func gone(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
