package calls

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// leftFiles is how many descriptors must be left when a call starts, besides two for the output of each call that runs.
const leftFiles = 16

// checkFiles says whether there are too few for one of so many calls.
func checkFiles(calls int) error {
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
