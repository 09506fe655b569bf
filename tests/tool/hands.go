package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

func hands() []subcommand {
	return []subcommand{
		{"put MODE FILE", "writes stdin to FILE with the octal MODE, in a folder that it makes", put},
		{"symlink TARGET LINK", "makes a symbolic link", func(args []string) error { return os.Symlink(args[0], args[1]) }},
		{"copy-self FILE", "copies this program to FILE", copySelf},
		{"show FILE", "prints FILE", show},
		{"files-with TEXT …", "prints every file below the folders that holds TEXT, one a line", filesWith},
		{"limit-files SOFT", "lets process 1 have SOFT open files, and prints how many it might have before", limitFiles},
	}
}

func put(args []string) error {
	mode, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil {
		usage(strconv.Quote(args[0]) + " is not an octal number")
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(args[1]), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(args[1], text, 0o600); err != nil {
		return err
	}
	return os.Chmod(args[1], fs.FileMode(mode))
}

func copySelf(args []string) error {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], program, 0o700)
}

func show(args []string) error {
	text, err := os.ReadFile(args[0])
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

func filesWith(args []string) error {
	for _, folder := range args[1:] {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(args[0])) {
				fmt.Println(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func limitFiles(args []string) error {
	var limit unix.Rlimit
	if err := unix.Prlimit(1, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return err
	}
	fmt.Println(limit.Cur)
	limit.Cur = uint64(number(args[0]))
	return unix.Prlimit(1, unix.RLIMIT_NOFILE, &limit, nil)
}
