// Package cgroup finds the control groups of a process.
package cgroup

import (
	"path/filepath"
	"strings"
)

// Folder is where a controller of a process may be looked at.
type Folder struct {
	Path    string
	Unified bool // of cgroup v2
}

// Folders are the places where a controller of a process may lie, likeliest first: its /proc/PID/cgroup is given, and root is /sys/fs/cgroup.
// A container without a namespace of its own for control groups sees its group mounted at the controller's root, so that is one of them too.
func Folders(root, procCgroup, controller string) []Folder {
	var all []Folder
	for _, line := range strings.Split(procCgroup, "\n") {
		parts := strings.SplitN(line, ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			all = append(all, Folder{filepath.Join(root, parts[2]), true}, Folder{root, true})
		case strings.Contains(","+parts[1]+",", ","+controller+","):
			mount := filepath.Join(root, controller)
			all = append(all, Folder{filepath.Join(mount, parts[2]), false}, Folder{mount, false})
		}
	}
	return all
}
