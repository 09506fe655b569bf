package shim

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// letGo ends the tracing of a process that made its parent its tracer (PTRACE_TRACEME), and gives it the signal that it stopped for: nobody here is a
// debugger. The trap is what a traced exec stops for, and not meant for the process. Refused, the thread that forked the process is its tracer, and
// about to end: then the kernel lets go.
func letGo(pid int, signal syscall.Signal) {
	if signal == syscall.SIGTRAP {
		signal = 0
	}
	_, _, _ = syscall.Syscall6(syscall.SYS_PTRACE, syscall.PTRACE_DETACH, uintptr(pid), 0, uintptr(signal), 0, 0)
}

// letGoOfStopped does the same from the thread that forked the process, before it ends: a process that is stopped for its exec when its tracer ends
// gets the trap for good, and dies of it. What happens between this look and the end of the thread, some microseconds, it does not see.
func letGoOfStopped(pid int) {
	var info [128]byte // siginfo_t: the pid at 16, the signal at 24
	const options = unix.WSTOPPED | unix.WNOHANG | unix.WNOTHREAD
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, unix.P_PID, uintptr(pid), uintptr(unsafe.Pointer(&info)), options, 0, 0)
	if errno == 0 && binary.NativeEndian.Uint32(info[16:]) != 0 {
		letGo(pid, syscall.Signal(binary.NativeEndian.Uint32(info[24:])))
	}
}
