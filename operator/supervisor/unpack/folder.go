package unpack

import (
	"os"
	"path/filepath"
	"strings"
)

// unfinished is how the names of folders begin that are being filled.
const unfinished = ".unpacking-"

// into fills a folder with what fill makes: all of it, or nothing when fill fails. What lies there under the same names is replaced, so that it may be done
// again when an earlier attempt was cut short. It is filled through a folder in it, and not beside it: it may be a mount point.
func into(folder string, fill func(*os.Root) error) error {
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	if err := sweep(folder); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(folder, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := fill(root); err != nil {
		return err
	}
	return moveUp(temporary, folder)
}

// sweep removes what an attempt left behind that was cut short.
func sweep(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), unfinished) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func moveUp(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target := filepath.Join(to, entry.Name())
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, entry.Name()), target); err != nil {
			return err
		}
	}
	return nil
}
