package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ordinary() []subcommand {
	return []subcommand{
		{"own-trace", "traces a child of its own from its first instruction, and attaches to another (gdb, strace)", attack(ownTrace)},
		{"own-limits", "changes its own priority, limits, scheduling, processors and I/O priority (nice, ulimit, chrt, taskset, ionice)", attack(ownLimits)},
		{"socketpair", "sends a byte through a pair of Unix sockets", attack(socketPair)},
		{"rename-across DIR", "renames a file between two folders below DIR", attack(renameAcross)},
	}
}

func ownTrace([]string) (string, error) {
	runtime.LockOSThread()
	if err := traceFromStart(); err != nil {
		return "", fmt.Errorf("trace from the start: %w", err)
	}
	if err := traceByAttaching(); err != nil {
		return "", fmt.Errorf("attach: %w", err)
	}
	return "traced two children", nil
}

func traceFromStart() error {
	child := exec.Command("/proc/self/exe", "sleep", "0s")
	child.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := child.Start(); err != nil {
		return err
	}
	if _, err := unix.Wait4(child.Process.Pid, nil, 0, nil); err != nil {
		return err
	}
	if err := readRegisters(child.Process.Pid); err != nil {
		return err
	}
	return unix.PtraceDetach(child.Process.Pid)
}

func traceByAttaching() error {
	child := exec.Command("/proc/self/exe", "sleep", "1m")
	if err := child.Start(); err != nil {
		return err
	}
	time.Sleep(50 * time.Millisecond) // past its exec, which would make the tracer's stop another one
	err := unix.PtraceAttach(child.Process.Pid)
	if err == nil {
		_, err = unix.Wait4(child.Process.Pid, nil, 0, nil)
	}
	if err == nil {
		err = readRegisters(child.Process.Pid)
	}
	return errors.Join(err, child.Process.Kill())
}

func readRegisters(pid int) error {
	var registers syscall.PtraceRegs
	return syscall.PtraceGetRegs(pid, &registers)
}

func ownLimits([]string) (string, error) {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return "", err
	}
	files.Cur--
	var priority int32
	pointer := uintptr(unsafe.Pointer(&priority))
	for _, step := range []way{
		// Down to the very lowest: going up from where it was started, under nice say, would need a capability.
		{"setpriority", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) }},
		{"setrlimit", func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &files) }},
		{"prlimit64", func() error { return unix.Prlimit(0, unix.RLIMIT_NOFILE, &files, nil) }},
		{"sched_setscheduler", func() error { return call(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_BATCH, pointer) }},
		{"sched_setparam", func() error { return call(unix.SYS_SCHED_SETPARAM, 0, pointer, 0) }},
		{"sched_setaffinity", func() error { _, err := affinity([]string{"0"}); return err }},
		{"ioprio_set", func() error { return call(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, ioprioLowest) }},
	} {
		if err := step.attempt(); err != nil {
			return "", fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return "changed its own limits", nil
}

func renameAcross(args []string) (string, error) {
	top, err := os.MkdirTemp(args[0], "across-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(top)
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	if err := errors.Join(os.Mkdir(from, 0o700), os.Mkdir(to, 0o700)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(from, "file"), nil, 0o600); err != nil {
		return "", err
	}
	return "renamed between folders", os.Rename(filepath.Join(from, "file"), filepath.Join(to, "file"))
}

func socketPair([]string) (string, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if _, err := unix.Write(ends[0], []byte("x")); err != nil {
		return "", err
	}
	_, err = unix.Read(ends[1], make([]byte, 1))
	return "through a pair", err
}
