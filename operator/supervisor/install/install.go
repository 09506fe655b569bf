// Package install copies this program to where a sandbox mounts it from.
package install

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"toolcall-operator/supervisor/internal/measures"
)

// mode lets everybody execute the program and nobody read it: a process of an unreadable file is non-dumpable from its first instruction.
func mode() os.FileMode {
	if measures.Off("dumpable") {
		return 0o555
	}
	return 0o111
}

// Into copies the running program to folder/supervisor, whole or not at all. An older one is replaced.
func Into(folder string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.CreateTemp(folder, ".supervisor-")
	if err != nil {
		return fmt.Errorf("write to %s: %w", folder, err)
	}
	if err := fill(to, from); err != nil {
		_ = os.Remove(to.Name())
		return fmt.Errorf("write to %s: %w", folder, err)
	}
	if err := os.Rename(to.Name(), filepath.Join(folder, "supervisor")); err != nil {
		_ = os.Remove(to.Name())
		return err
	}
	return nil
}

func fill(to *os.File, from io.Reader) error {
	defer func() { _ = to.Close() }()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := to.Chmod(mode()); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return to.Close()
}
