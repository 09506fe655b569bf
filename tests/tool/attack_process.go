package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processAttacks() []subcommand {
	return []subcommand{
		{"ptrace PID", "attaches as a tracer, or seizes", attack(ptrace)},
		{"read-proc PID FILE", "opens /proc/PID/FILE: environ, mem, maps, fd, cwd, root or exe", attack(readProc)},
		{"pidfd-getfd PID FD", "takes a file descriptor out of the process", attack(pidfdGetfd)},
		{"process-vm PID", "reads the process's memory", attack(processVM)},
		{"signal PID SIG", "sends the signal; PID -1 is whomever it reaches, and succeeds when that is nobody", attack(sendSignal)},
		{"prlimit-cpu PID", "sets the process's CPU time limit to 0, which kills it", attack(prlimitCPU)},
		{"sched PID", "changes the scheduling by setscheduler, setparam and setattr", attack(sched)},
		{"affinity PID", "binds the process to one processor", attack(affinity)},
		{"setpriority PID", "lowers the priority of the process, its group, every process of its user", attack(setPriority)},
		{"ioprio PID", "lowers the I/O priority of the process, every process of its user", attack(ioPriority)},
		{"oom-score PID SCORE", "writes /proc/PID/oom_score_adj; PID may be self", attack(oomScore)},
	}
}

// ptrace lets go at once: a victim that stays stopped would show nothing more.
func ptrace(args []string) (string, error) {
	runtime.LockOSThread() // A tracer is a thread.
	pid := number(args[0])
	detach := func() error {
		if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != nil {
			return err
		}
		return unix.PtraceDetach(pid)
	}
	return anyOf(
		way{"attach", func() error {
			if err := unix.PtraceAttach(pid); err != nil {
				return err
			}
			return detach()
		}},
		way{"seize", func() error {
			if err := unix.PtraceSeize(pid); err != nil {
				return err
			}
			if err := unix.PtraceInterrupt(pid); err != nil {
				return err
			}
			return detach()
		}},
	)
}

func readProc(args []string) (string, error) {
	path := filepath.Join("/proc", args[0], args[1])
	switch args[1] {
	case "environ", "maps", "mem":
		file, err := os.Open(path)
		if err != nil || args[1] == "mem" { // Opening mem is what is guarded; what to read stands in maps.
			return path, err
		}
		n, err := file.Read(make([]byte, 4096))
		return fmt.Sprintf("%d bytes of %s", n, path), err
	case "fd":
		return firstLink(path)
	case "cwd", "root", "exe":
		return os.Readlink(path)
	}
	usage("read-proc knows no file " + args[1])
	return "", nil
}

// firstLink is where some open file leads to; the kernel lets everybody of the same user count them, and guards this.
func firstLink(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		return "", errors.Join(err, os.ErrNotExist)
	}
	return os.Readlink(filepath.Join(folder, entries[0].Name()))
}

func pidfdGetfd(args []string) (string, error) {
	pidfd, err := unix.PidfdOpen(number(args[0]), 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.PidfdGetfd(pidfd, number(args[1]), 0)
	return fmt.Sprint("file descriptor ", fd), err
}

// processVM reads where static Go programs keep their code; EFAULT says that the caller was let in and the address is wrong.
func processVM(args []string) (string, error) {
	const codeOfGoPrograms = 0x400000
	block := make([]byte, 16)
	local := []unix.Iovec{{Base: &block[0], Len: uint64(len(block))}}
	n, err := unix.ProcessVMReadv(number(args[0]), local, []unix.RemoteIovec{{Base: codeOfGoPrograms, Len: len(block)}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return "let in, nothing at the address", nil
	}
	return fmt.Sprintf("%d bytes", n), err
}

func sendSignal(args []string) (string, error) {
	return fmt.Sprintf("signal %s to %s", args[1], args[0]), unix.Kill(number(args[0]), unix.Signal(number(args[1])))
}

func prlimitCPU(args []string) (string, error) {
	return "a CPU limit of 0", unix.Prlimit(number(args[0]), unix.RLIMIT_CPU, &unix.Rlimit{}, nil)
}

func sched(args []string) (string, error) {
	pid := uintptr(number(args[0]))
	var priority int32 // the only one that the ordinary policies have
	pointer := uintptr(unsafe.Pointer(&priority))
	return anyOf(
		way{"sched_setscheduler", func() error { return call(unix.SYS_SCHED_SETSCHEDULER, pid, unix.SCHED_BATCH, pointer) }},
		way{"sched_setparam", func() error { return call(unix.SYS_SCHED_SETPARAM, pid, pointer, 0) }},
		way{"sched_setattr", func() error {
			return unix.SchedSetAttr(int(pid), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}, 0)
		}},
	)
}

// affinity takes a processor that the attacker may use itself, as the victim may be bound to some already.
func affinity(args []string) (string, error) {
	var own, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return "", err
	}
	first := 0
	for !own.IsSet(first) {
		first++
	}
	one.Set(first)
	return fmt.Sprint("bound to processor ", first), unix.SchedSetaffinity(number(args[0]), &one)
}

func setPriority(args []string) (string, error) {
	const lowest = 19
	pid := number(args[0])
	return anyOf(
		way{"process", func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, lowest) }},
		way{"group", func() error { return unix.Setpriority(unix.PRIO_PGRP, pid, lowest) }},
		way{"user", func() error { return unix.Setpriority(unix.PRIO_USER, 0, lowest) }},
	)
}

// From <linux/ioprio.h>: whom ioprio_set means, and the lowest of the best-effort class.
const (
	ioprioWhoProcess = 1
	ioprioWhoUser    = 3
	ioprioLowest     = 2<<13 | 7
)

func ioPriority(args []string) (string, error) {
	return anyOf(
		way{"process", func() error {
			return call(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(number(args[0])), ioprioLowest)
		}},
		way{"user", func() error { return call(unix.SYS_IOPRIO_SET, ioprioWhoUser, 0, ioprioLowest) }},
	)
}

func oomScore(args []string) (string, error) {
	path := filepath.Join("/proc", args[0], "oom_score_adj")
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(args[1])
	return args[1] + " in " + path, errors.Join(err, file.Close())
}

func call(number, a, b, c uintptr) error {
	_, _, errno := unix.Syscall(number, a, b, c)
	return errnoOr(errno)
}
