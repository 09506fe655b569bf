package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

const (
	// longestPath is the bound of the kernel.
	longestPath = 4095

	folderMode  = 0o755
	fileMode    = 0o644
	programMode = 0o755
)

func (a *archive) make(name string, header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		return a.folder(name)
	}
	if name == "." {
		return errors.New("only a folder can have this name")
	}
	if err := a.folder(path.Dir(name)); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return a.file(name, header, content)
	case tar.TypeSymlink:
		return a.symlink(name, header.Linkname)
	case tar.TypeLink:
		return a.hardLink(name, header.Linkname)
	}
	return errors.New("it is neither a file, a folder nor a link")
}

// inside is the name of an entry as a path in the folder.
func inside(name string) (string, error) {
	switch {
	case name == "" || len(name) > longestPath || strings.ContainsRune(name, 0):
		return "", errors.New("no file can have this name")
	case path.IsAbs(name):
		return "", errors.New("its path is absolute")
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", errors.New("its path leads upwards")
		}
	}
	return path.Clean(name), nil
}

// folder makes a folder and those above it, where they are missing. Whatever else is there is in the way: a link to a folder too, or a name below it
// would not say where it lies.
func (a *archive) folder(name string) error {
	if name == "." {
		return nil
	}
	if err := a.folder(path.Dir(name)); err != nil {
		return err
	}
	there, err := a.root.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.Join(a.root.Mkdir(name, folderMode), a.root.Chmod(name, folderMode)) // Whatever the umask is.
	case err != nil:
		return err
	case !there.IsDir():
		return fmt.Errorf("%.100q is no folder", name)
	}
	return nil
}

// file writes a file anew: the last of those with one name stands.
func (a *archive) file(name string, header *tar.Header, content io.Reader) error {
	if err := a.room.take(&a.room.files, header.Size); err != nil {
		return err
	}
	if err := a.clear(name); err != nil {
		return err
	}
	mode := os.FileMode(fileMode)
	if header.Mode&0o100 != 0 {
		mode = programMode
	}
	file, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Chmod(mode), file.Close()) // Whatever the umask is.
}

// clear makes a name free that an earlier entry has, unless that is a folder.
func (a *archive) clear(name string) error {
	there, err := a.root.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case there.IsDir():
		return errors.New("an earlier entry is a folder of this name")
	}
	return a.root.Remove(name)
}

// symlink makes a link that leads nowhere but into the folder, wherever the folder is mounted.
func (a *archive) symlink(name, target string) error {
	if !staysInside(name, target) {
		return fmt.Errorf("its target %.100q leads out of the archive", target)
	}
	if err := a.clear(name); err != nil {
		return err
	}
	return a.root.Symlink(target, name)
}

// staysInside reports whether the target of a link is a path inside, whatever else is a link: it goes up first, as far as there are folders, and then down.
func staysInside(name, target string) bool {
	if target == "" || path.IsAbs(target) || len(target) > longestPath || strings.ContainsRune(target, 0) {
		return false
	}
	depth, goesDown := strings.Count(name, "/"), false
	for _, part := range strings.Split(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; goesDown || depth < 0 {
				return false
			}
		default:
			goesDown = true
		}
	}
	return true
}

// hardLink gives another name to a file that came earlier.
func (a *archive) hardLink(name, target string) error {
	target, err := inside(target)
	if err != nil {
		return fmt.Errorf("its target: %w", err)
	}
	there, err := a.root.Lstat(target)
	if err != nil || !there.Mode().IsRegular() || target == name {
		return fmt.Errorf("its target %.100q is no file that came before", target)
	}
	if err := a.folder(path.Dir(target)); err != nil { // Nothing above it is a link.
		return fmt.Errorf("its target: %w", err)
	}
	if err := a.clear(name); err != nil {
		return err
	}
	return a.root.Link(target, name)
}
