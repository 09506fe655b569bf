package shim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/measures"
)

// maxLinks is how many symbolic links a path may lead through, as in the kernel.
const maxLinks = 40

// processes is a folder in which a path means what some process has open at the moment.
const processes = "/proc"

// mayRun reports whether a file may be the program of the call.
func (s Spec) mayRun(file string) bool {
	return !s.Trusted || measures.Off("trusted-program") || isOutOf(slices.Concat(s.Distrusted, []string{processes}), file)
}

// isOutOf reports whether a path leads to its file without entering any of the folders, which are named by their real paths: not by its own parts, nor by
// those of the links on its way. Nobody who can write only in the folders can make such a path lead elsewhere, not even after this look. A relative
// path begins in the workspace, which is one of them.
func isOutOf(folders []string, path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	at, left, links := "/", parts(path), 0
	for len(left) > 0 {
		next := filepath.Join(at, left[0]) // Also upwards: at is a real path.
		left = left[1:]
		if confine.In(folders, next) {
			return false
		}
		target, err := os.Readlink(next)
		if err != nil { // No link, or nothing that could be executed.
			at = next
			continue
		}
		if links++; links > maxLinks {
			return false
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		left = slices.Concat(parts(target), left)
	}
	return true
}

func parts(path string) []string { return strings.Split(path, "/") }

// untrusted is what is reported of a program that was found only where calls can write.
var untrusted = Report{Step: ResolveStep, Errno: syscall.EACCES}
