package calls

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"toolcall-operator/supervisor/internal/cgroup"
)

const (
	// leftPids is how many processes and threads must be left for a call to start: its shim and its tool want some, and the shims and the supervisor
	// that are to end the call that took all others. Of a small group it is a quarter.
	leftPids = 64
	// leftFiles is how many descriptors must be left, besides two for the output of each call that runs.
	leftFiles = 16
)

// room is what a call needs of the machine besides memory.
type room struct{ pids cgroup.Pids }

func newRoom() room { return room{cgroup.OwnPids()} }

// check says what there is too little of for one of so many calls to start, if anything.
func (r room) check(calls int) error {
	if left, most := r.pids.Left(); left < min(leftPids, most/4) {
		return fmt.Errorf("the sandbox may have only %d processes more", left)
	}
	if left := freeFiles(); left < leftFiles+2*calls {
		return fmt.Errorf("the supervisor may open only %d files more", left)
	}
	return nil
}

// freeFiles is how many descriptors this process may still open.
func freeFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return int(min(limit.Cur, math.MaxInt32)) - openFiles()
}

// openFiles counts the descriptors that are open: the folder's size from Linux 6.2 on.
func openFiles() int {
	const own = "/proc/self/fd"
	var info syscall.Stat_t
	if err := syscall.Stat(own, &info); err == nil && info.Size > 0 {
		return int(info.Size)
	}
	entries, err := os.ReadDir(own)
	if err != nil {
		return 0
	}
	return len(entries) - 1 // One is for reading the folder.
}
