package confine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// dropCapabilities empties the calling thread's sets; with no_new_privs set, no exec fills them again, not even root's.
//
// In a pod there is nothing to drop. Where root runs the supervisor, CAP_PERFMON or CAP_SYS_ADMIN would open environ and maps of every process, past
// Landlock: the kernel lets perfmon_capable() in without asking a security module (seen on 6.18: either of the two was enough, without both refused).
func dropCapabilities() error {
	if measures.Off("capabilities") {
		return nil
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
