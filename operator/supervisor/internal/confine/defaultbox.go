package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolcall-operator/supervisor/internal/measures"
)

// Never granted whole: they hold other calls' files, other calls' terminals, or the supervisor's spool.
var private = []string{"/dev", "/work", "/workspace", "/tmp", "/run"}

// Devices an ordinary program expects. /dev/pts is not among them: through it a tool wrote to, and read the keys of, a sibling's terminal.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// sharedMemory is where programs keep shared memory and semaphores: in a pod the pod's own, on a user's machine everybody's.
const sharedMemory = "/dev/shm"

// resolved is where /etc/resolv.conf points to on machines that run systemd-resolved.
const resolved = "/run/systemd/resolve"

// DefaultBox grants what an image needs to run its programs: its top-level folders and files to read, one by one, the usual devices and /dev/shm.
// A top-level folder or file that is, or holds, a hidden path is left out whole; the caller adds the call's own folders.
func DefaultBox(hide []string) Box {
	hidden := append(realPaths(hide), private...)
	box := Box{Devices: devices}
	if !touches(sharedMemory, realPaths(hide)) {
		box.Write = []string{sharedMemory}
	}
	for _, path := range topLevel() {
		if !touches(path, hidden) {
			box.Read = append(box.Read, path)
		}
	}
	if exists(resolved) && !touches(resolved, realPaths(hide)) {
		box.Read = append(box.Read, resolved)
	}
	if measures.Off("pts") {
		box.Devices = append(box.Devices[:len(box.Devices):len(box.Devices)], "/dev/pts")
	}
	return box
}

// topLevel is the real path of every folder and regular file in /, those behind symbolic links included: many an image of one program has it
// there. An unreadable / has none: nothing is granted then.
func topLevel() []string {
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil
	}
	var paths []string
	for _, entry := range entries {
		path, err := filepath.EvalSymlinks("/" + entry.Name())
		if err != nil || path == "/" {
			continue
		}
		if info, err := os.Stat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			paths = append(paths, path)
		}
	}
	return paths
}

// touches reports whether folder holds, is, or lies in one of the paths.
func touches(folder string, paths []string) bool {
	for _, path := range paths {
		if Touch(folder, path) {
			return true
		}
	}
	return false
}

// Touch reports whether one of two folders is, or lies in, the other.
func Touch(a, b string) bool { return within(a, b) || within(b, a) }

// In reports whether a path is, or lies in, one of the folders.
func In(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// realPaths is every path both as written and with its symbolic links resolved, where it exists.
func realPaths(paths []string) []string {
	var all []string
	for _, path := range paths {
		all = append(all, filepath.Clean(path))
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
