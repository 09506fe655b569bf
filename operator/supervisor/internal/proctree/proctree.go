// Package proctree reads from /proc which processes descend from which, and what they weigh.
package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Descendants are the processes that descend from pid, itself left out. Those whose parent died count to whom they were given (a subreaper,
// else process 1). It is a look at a moving thing: a process that forks meanwhile may be missed, and is found by the next look.
func Descendants(pid int) ([]int, error) {
	if hasChildrenFiles() {
		return descendants(pid, childrenOf)
	}
	parents, err := allParents()
	if err != nil {
		return nil, err
	}
	if _, alive := parents[pid]; !alive {
		return nil, fmt.Errorf("process %d: %w", pid, os.ErrNotExist)
	}
	return descendants(pid, func(parent int) ([]int, error) { return childrenIn(parents, parent), nil })
}

// ParentOf is the parent's pid; 0 when the parent is outside of this process namespace. A process that is gone gives os.ErrNotExist.
func ParentOf(pid int) (int, error) {
	var parent int
	err := read(procfile(pid, "stat"), func(stat []byte) (err error) {
		parent, err = parentIn(stat)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("parent of process %d: %w", pid, gone(err))
	}
	return parent, nil
}

// RSS is the resident memory of the processes in bytes; pages they share count once for each. Those that are gone weigh nothing.
func RSS(pids []int) int64 {
	var pages int64
	for _, pid := range pids {
		_ = read(procfile(pid, "statm"), func(statm []byte) error {
			if fields := bytes.Fields(statm); len(fields) > 1 {
				resident, _ := strconv.ParseInt(string(fields[1]), 10, 64) // The kernel prints a number, or 0 for a zombie.
				pages += resident
			}
			return nil
		})
	}
	return pages * int64(os.Getpagesize())
}

// Tasks counts the processes and their threads. Those that are gone have none.
func Tasks(pids []int) (count int) {
	for _, pid := range pids {
		if threads, err := names(procfile(pid, "task")); err == nil {
			count += len(threads)
		}
	}
	return count
}

// AllTasks counts every process and thread in sight.
func AllTasks() (int, error) {
	entries, err := names("/proc")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	return Tasks(numbers(entries)), nil
}

// numbers are the entries that are pids.
func numbers(entries []string) []int {
	pids := make([]int, 0, len(entries))
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func descendants(root int, children func(int) ([]int, error)) ([]int, error) {
	found, err := children(root)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{root: true}
	var all []int
	for len(found) > 0 {
		pid := found[0]
		found = found[1:]
		if seen[pid] { // A pid that died and was given again while looking must not make a circle.
			continue
		}
		seen[pid] = true
		all = append(all, pid)
		below, _ := children(pid) // It may be gone by now; its children are then somebody else's, found there.
		found = append(found, below...)
	}
	return all, nil
}

// hasChildrenFiles reports whether the kernel was built with CONFIG_PROC_CHILDREN.
var hasChildrenFiles = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// childrenOf asks every thread of a process for the children it made.
func childrenOf(pid int) ([]int, error) {
	task := procfile(pid, "task")
	threads, err := names(task)
	if err != nil {
		return nil, fmt.Errorf("children of process %d: %w", pid, gone(err))
	}
	var children []int
	for _, thread := range threads {
		// A thread that ended has no file; its children went to a thread that is still listed, or to a reaper.
		_ = read(task+"/"+thread+"/children", func(list []byte) error {
			for _, word := range bytes.Fields(list) {
				if child, err := strconv.Atoi(string(word)); err == nil {
					children = append(children, child)
				}
			}
			return nil
		})
	}
	return children, nil
}

// allParents is pid → parent's pid of every process there is.
func allParents() (map[int]int, error) {
	entries, err := names("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := make(map[int]int, len(entries))
	for _, pid := range numbers(entries) {
		if parent, err := ParentOf(pid); err == nil {
			parents[pid] = parent
		}
	}
	return parents, nil
}

func childrenIn(parents map[int]int, parent int) []int {
	var children []int
	for child, of := range parents {
		if of == parent {
			children = append(children, child)
		}
	}
	return children
}

// parentIn reads the fourth field of a stat line; the second, the command's name, may hold blanks and brackets.
func parentIn(stat []byte) (int, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("a stat line of %d bytes without a parent", len(stat))
	}
	return strconv.Atoi(string(fields[1]))
}

func procfile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// gone makes the error of a process that ended while it was read (ESRCH) the same as that of one that was never there.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrNotExist
	}
	return err
}
