package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// refusals are the answers of a measure that did its work. Anything else (no such process, nobody listening) is a broken attempt.
// EXDEV is how Landlock refuses a rename or link between folders, EROFS how a read-only root does; the others are of a network, or a protocol, that a
// call is to take for absent.
var refusals = []syscall.Errno{
	unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EXDEV, unix.EROFS, unix.ENETUNREACH, unix.EPROTONOSUPPORT, unix.EOPNOTSUPP,
}

// attack wraps an attempt: nil means that it succeeded, with what it got in words.
func attack(attempt func(args []string) (string, error)) func([]string) error {
	return func(args []string) error {
		got, err := attempt(args)
		if err == nil {
			fmt.Println("succeeded", got)
			return nil
		}
		for _, errno := range refusals {
			if errors.Is(err, errno) {
				refused(errno, err.Error())
			}
		}
		return err
	}
}

func refused(errno syscall.Errno, why string) {
	fmt.Printf("refused: %s %s\n", unix.ErrnoName(errno), why)
	os.Exit(exitRefused)
}

// way is one of several ways to the same end.
type way struct {
	name    string
	attempt func() error
}

// anyOf tries every way and reports those that worked; the error is that of the first when none did.
func anyOf(ways ...way) (string, error) {
	var worked []string
	var failed error
	for _, w := range ways {
		err := w.attempt()
		if err == nil {
			worked = append(worked, w.name)
		} else if failed == nil {
			failed = fmt.Errorf("%s: %w", w.name, err)
		}
	}
	if len(worked) > 0 {
		return fmt.Sprint(worked), nil
	}
	return "", failed
}

// errnoOr is nil for 0, which as an error value would not be.
func errnoOr(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
