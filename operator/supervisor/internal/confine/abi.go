// Package confine takes rights away from the calling thread, so that the calls of one sandbox cannot reach each other or the supervisor.
package confine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// Landlock ABI versions that brought what is used here (Documentation/userspace-api/landlock.rst of the kernel, "Previous limitations").
const (
	abiRefer       = 2
	abiTruncate    = 3
	abiIoctlDevice = 5
	abiScopes      = 6
	abiResolveUnix = 9
)

// ABI is the Landlock version of the running kernel, or 0 where Landlock is absent or switched off at boot.
func ABI() int {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// Harden makes the calling process non-dumpable: its /proc files then belong to root, and no process of its own uid may trace it or read its memory.
func Harden() error {
	if measures.Off("dumpable") {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process non-dumpable: %w", err)
	}
	return nil
}

// noNewPrivileges keeps set-user-id programs from giving rights back; Landlock and seccomp demand it of a thread without capabilities.
func noNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}
