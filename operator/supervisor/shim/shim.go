package shim

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/threads"
)

// threadsOfAShim is how many threads may have work at once besides the main one: the one that forks the tool and ends, one that waits for orders, one
// that runs, one that is held up in a system call. A call that has filled the process table must find all of them there.
const threadsOfAShim = 4

// Main is the life of a shim. It returns the exit code of the process. A shim is made before its call is known: everything up to the spec is done
// in advance.
func Main() int {
	runtime.LockOSThread() // The main thread enters no inner domain: a thread that does must end, and this one cannot.
	syscall.CloseOnExec(controlFD)
	syscall.CloseOnExec(logFD)
	if err := becomeSubreaper(); err != nil {
		return failed(err)
	}
	threads.Warm(threadsOfAShim)
	t := newTree()
	score := openScore()
	begun := make(chan beginning, 1)
	go t.begin(score, begun)
	b := <-begun
	score.settle(b.main)
	if errors.Is(b.err, errNobody) {
		return 0
	}
	if b.err != nil {
		return failed(b.err)
	}
	if _, err := control(controlFD).Write(t.outlive(b).Append(nil)); err != nil {
		return failed(fmt.Errorf("report: %w", err))
	}
	return 0
}

func failed(err error) int {
	_, _ = fmt.Fprintf(os.NewFile(logFD, "log"), "shim: %v\n", err)
	return 1
}

func becomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	return confine.Harden()
}

// beginning is how a start went.
type beginning struct {
	main    int    // the main process
	failure Report // Step is Started when there is a main process
	pids    int    // how many processes there may be
	err     error  // of the shim itself: there is nothing to report
}

// begin waits for the spec and starts the tool, from a thread that ends with it.
func (t *tree) begin(own *score, begun chan<- beginning) {
	runtime.LockOSThread() // Never unlocked: the runtime ends the thread, and its inner domain, with the goroutine.
	spec, err := receive()
	if err != nil {
		begun <- beginning{err: err}
		return
	}
	t.killer = newKiller(spec.LandlockABI)
	go t.obey(control(controlFD))
	own.raise()
	main, failure := start(spec)
	close(t.begun)
	begun <- beginning{main: main, failure: failure, pids: spec.Pids}
	letGoOfStopped(main)
}

// outlive returns the report when no process of the call is left.
func (t *tree) outlive(b beginning) Report {
	leaveStreams()
	if b.failure.Step != Started {
		return b.failure
	}
	go t.watch(b.pids)
	return t.reap(b.main)
}

// leaveStreams drops the shim's copies of the tool's streams: their readers see the end when the tool's own copies are gone.
func leaveStreams() {
	for fd := range 3 {
		_ = unix.Dup3(logFD, fd, unix.O_CLOEXEC) // Never left empty: a file opened later would become somebody's stdout.
	}
}
