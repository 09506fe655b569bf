package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func fileAttacks() []subcommand {
	return []subcommand{
		{"abstract-connect NAME", "connects to the abstract socket @NAME", attack(func(args []string) (string, error) { return connect("@" + args[0]) })},
		{"unix-connect PATH", "connects to the socket at PATH", attack(func(args []string) (string, error) { return connect(args[0]) })},
		{"open PATH", "opens and reads the start of PATH", attack(open)},
		{"create PATH", "creates PATH", attack(create)},
		{"chmod PATH", "opens PATH's permissions to all", attack(func(args []string) (string, error) { return args[0], os.Chmod(args[0], 0o777) })},
		{"hardlink FROM TO", "links FROM to TO, and reads it there", attack(hardlink)},
		{"rename FROM TO", "renames FROM to TO", attack(func(args []string) (string, error) { return args[1], os.Rename(args[0], args[1]) })},
		{"list-sibling-inputs DIR", "lists DIR and reads a file below it", attack(listSiblingInputs)},
		{"spool-names DIR", "finds a file with a name below DIR", attack(spoolNames)},
		{"pts", "opens some /dev/pts/N; without any terminal there it proves nothing", attack(pts)},
	}
}

func connect(address string) (string, error) {
	connection, err := net.Dial("unix", address)
	if err != nil {
		return "", err
	}
	return "connected to " + address, connection.Close()
}

func open(args []string) (string, error) {
	file, err := os.Open(args[0])
	if err != nil {
		return "", err
	}
	start := make([]byte, 64)
	n, err := file.Read(start)
	if n == 0 && err != nil {
		return fmt.Sprintf("opened %s (%v)", args[0], err), nil
	}
	return fmt.Sprintf("read %q", start[:n]), nil
}

func create(args []string) (string, error) {
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	return args[0], file.Close()
}

func hardlink(args []string) (string, error) {
	if err := os.Link(args[0], args[1]); err != nil {
		return "", err
	}
	return open(args[1:])
}

func listSiblingInputs(args []string) (string, error) {
	file, err := firstFile(args[0])
	if err != nil {
		return "", err
	}
	return open([]string{file})
}

func spoolNames(args []string) (string, error) {
	file, err := firstFile(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		refused(unix.ENOENT, "no file has a name below "+args[0])
	}
	return file, err
}

// firstFile is some regular file below the folder; a folder that cannot be read gives its error, one without files fs.ErrNotExist.
func firstFile(folder string) (string, error) {
	found := ""
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = fs.ErrNotExist
	}
	return found, err
}

// pts tries by number, since the folder itself may be closed to it.
func pts([]string) (string, error) {
	const enough = 64
	refusal := error(unix.ENOENT)
	for n := range enough {
		path := fmt.Sprintf("/dev/pts/%d", n)
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		if err == nil {
			return path, unix.Close(fd)
		}
		if !errors.Is(err, unix.ENOENT) {
			refusal = fmt.Errorf("%s: %w", path, err)
		}
	}
	return "", refusal
}
