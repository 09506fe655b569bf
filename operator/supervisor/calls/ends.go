package calls

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pair is the two ends of a pipe or socket: ours never blocks, theirs does.
type pair struct {
	ours   *os.File
	theirs int
}

type ends struct{ stdout, stderr, control pair }

func newEnds() (ends, error) {
	var e ends
	var err error
	if e.stdout, err = newPipe("stdout"); err != nil {
		return e, err
	}
	if e.stderr, err = newPipe("stderr"); err != nil {
		e.stdout.close()
		return e, err
	}
	if e.control, err = newSocket(); err != nil {
		e.stdout.close()
		e.stderr.close()
	}
	return e, err
}

func newPipe(name string) (pair, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return pair{}, fmt.Errorf("make a pipe: %w", err)
	}
	return pair{ours: nonblocking(fds[0], name), theirs: fds[1]}, nil
}

func newSocket() (pair, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return pair{}, fmt.Errorf("make a socket pair: %w", err)
	}
	return pair{ours: nonblocking(fds[0], "control"), theirs: fds[1]}, nil
}

// nonblocking makes a file that goroutines wait for, and not threads.
func nonblocking(fd int, name string) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

func (p pair) close() {
	_ = p.ours.Close()
	_ = unix.Close(p.theirs)
}

func (e ends) closeTheirs() {
	for _, p := range []pair{e.stdout, e.stderr, e.control} {
		_ = unix.Close(p.theirs)
	}
}

func (e ends) closeOurs() {
	for _, p := range []pair{e.stdout, e.stderr, e.control} {
		_ = p.ours.Close()
	}
}
