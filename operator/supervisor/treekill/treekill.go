// Package treekill kills a set of processes that may grow while it is killed: the way that needs no Landlock scope.
package treekill

import (
	"slices"
	"syscall"
)

// stopRounds bounds the hunt for a set that keeps growing; what outran it is found by the next look.
const stopRounds = 20

// Round stops whatever list names until the set grows no more, kills it, and reports whether there was anybody: then there may be more, and the
// caller comes back. Processes that are stopped cannot fork, so a fork bomb is caught between two looks. It waits for nobody.
func Round(list func() []int) bool {
	pids := settled(list)
	Signal(pids, syscall.SIGKILL)
	return len(pids) > 0
}

// settled is the set after all of it was stopped.
func settled(list func() []int) []int {
	var before []int
	for range stopRounds {
		now := list()
		slices.Sort(now)
		if slices.Equal(before, now) {
			return now
		}
		Signal(now, syscall.SIGSTOP)
		before = now
	}
	return before
}

// Signal sends a signal to each of the processes. Those that are gone do not matter.
func Signal(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}
