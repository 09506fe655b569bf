package cgroup

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Pids is how many processes and threads there are in the control groups of this process, and may be. Its files stay open.
type Pids struct{ groups []pidsFiles }

type pidsFiles struct{ current, most *os.File }

// OwnPids opens the group of this process and those above it, as far as they can be seen; where there is none, nothing is limited.
func OwnPids() Pids {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Pids{}
	}
	return findPids("/sys/fs/cgroup", string(text))
}

// findPids takes the first place that has the controller. The group at the top of the machine has no limit, and no file for one.
func findPids(root, procCgroup string) Pids {
	for _, folder := range Folders(root, procCgroup, "pids") {
		var found Pids
		for path := folder.Path; len(path) >= len(root); path = filepath.Dir(path) {
			if files, err := openPids(path); err == nil {
				found.groups = append(found.groups, files)
			}
		}
		if len(found.groups) > 0 {
			return found
		}
	}
	return Pids{}
}

func openPids(folder string) (pidsFiles, error) {
	current, err := os.Open(filepath.Join(folder, "pids.current"))
	if err != nil {
		return pidsFiles{}, err
	}
	most, err := os.Open(filepath.Join(folder, "pids.max"))
	if err != nil {
		return pidsFiles{}, errors.Join(err, current.Close())
	}
	return pidsFiles{current, most}, nil
}

// Left is how many more there may be in the group that has the fewest left, and what that group may have in all; both are math.MaxInt without limit.
func (p Pids) Left() (left, most int) {
	left, most = math.MaxInt, math.MaxInt
	for _, group := range p.groups {
		allowed, limited := number(group.most) // "max" is no number.
		used, known := number(group.current)
		if limited && known && allowed-used < left {
			left, most = allowed-used, allowed
		}
	}
	return left, most
}

// Used is how many there are in the group of this process; ok is false when that cannot be seen.
func (p Pids) Used() (used int, ok bool) {
	if len(p.groups) == 0 {
		return 0, false
	}
	return number(p.groups[0].current)
}

func number(file *os.File) (int, bool) {
	var text [24]byte
	n, err := syscall.Pread(int(file.Fd()), text[:], 0)
	if err != nil {
		return 0, false
	}
	value, err := strconv.Atoi(string(bytes.TrimSpace(text[:n])))
	return value, err == nil
}
