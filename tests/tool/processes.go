package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processes() []subcommand {
	return []subcommand{
		{"daemonise MARKER DUR", "leaves a double-forked, setsid'ed, TERM-ignoring process behind and returns at once", daemonise},
		{"desert MARKER DUR", "leaves such a process behind, kills whoever started this one, stays", desert},
		{"family MARKER DUR", "starts a child, a grandchild, a setsid'ed and a stopped process, prints `ready`, stays", family},
		{"member MARKER DUR HOW", "what those above start: HOW is detach, survive, parent, stay or stop", member},
		{"fork-bomb N", "starts up to N processes that stay 30s, prints `started K`, stays 30s", forkBomb},
		{"zombies N", "orphans N processes that then end, prints how many of them nobody reaped", zombies},
		{"find-pids MARKER", "prints the pid of every process that has MARKER among its arguments, one a line", findPids},
		{"hold-pty DUR", "opens a terminal pair, prints the path of its /dev/pts entry, sleeps", holdPTY},
	}
}

// raise puts the default action back behind the Go runtime's own handler, which would turn some signals into a crash report and exit code 2.
func raise(args []string) error {
	var defaultAction [4]uint64
	signal := number(args[0])
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0)
	if errno != 0 && signal != int(unix.SIGKILL) && signal != int(unix.SIGSTOP) {
		return errno
	}
	if err := unix.Kill(unix.Getpid(), unix.Signal(signal)); err != nil {
		return err
	}
	time.Sleep(time.Second)
	return fmt.Errorf("signal %d did not end the process", signal)
}

// again is this program once more, with the standard streams of this one.
func again(args ...string) *exec.Cmd {
	command := exec.Command("/proc/self/exe", args...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	return command
}

func daemonise(args []string) error {
	middle := again("member", args[0], args[1], "detach")
	middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return middle.Run()
}

func desert(args []string) error {
	if err := errors.Join(daemonise(args), unix.Kill(unix.Getppid(), unix.SIGKILL)); err != nil {
		return err
	}
	return pause(args[1])
}

// ready is where a member tells that it is up: the write end of its starter's pipe.
const ready = 3

func family(args []string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	for _, how := range []string{"parent", "survive", "stop"} {
		command := again("member", args[0], args[1], how)
		command.ExtraFiles = []*os.File{write}
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "survive"}
		if err := command.Start(); err != nil {
			return err
		}
	}
	for range 4 { // the three, and the parent's child
		if _, err := read.Read(make([]byte, 1)); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	time.Sleep(duration(args[1]))
	return nil
}

func member(args []string) error {
	marker, stay, how := args[0], args[1], args[2]
	signalReady := func() { _, _ = syscall.Write(ready, []byte{'.'}) } // Nobody listens to a daemonised one.
	switch how {
	case "detach":
		last := again("member", marker, stay, "survive")
		last.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return last.Start()
	case "survive":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	case "parent":
		child := again("member", marker, stay, "stay")
		child.ExtraFiles = []*os.File{os.NewFile(ready, "ready")}
		if err := child.Start(); err != nil {
			return err
		}
	case "stop":
		signalReady()
		return errors.Join(unix.Kill(unix.Getpid(), unix.SIGSTOP), pause(stay))
	case "stay":
	default:
		usage("no such member: " + how)
	}
	signalReady()
	return pause(stay)
}

func pause(stay string) error {
	time.Sleep(duration(stay))
	return nil
}

func forkBomb(args []string) error {
	started := 0
	for range number(args[0]) {
		if again("member", "fork-bomb", "30s", "stay").Start() != nil {
			break
		}
		started++
	}
	fmt.Println("started", started)
	return pause("30s")
}

// zombies has its processes started by one that ends at once, so that reaping them falls to whoever adopts orphans.
func zombies(args []string) error {
	if os.Getenv("TOOL_ORPHANS") == "" {
		middle := again("zombies", args[0])
		middle.Env = append(middle.Env, "TOOL_ORPHANS=1")
		if err := middle.Run(); err != nil {
			return err
		}
		time.Sleep(time.Second)
		fmt.Println("unreaped", unreaped())
		return nil
	}
	for range number(args[0]) {
		if err := again("member", "zombies", "200ms", "stay").Start(); err != nil {
			return err
		}
	}
	return nil
}

// unreaped counts the processes that ended and still stand in /proc.
func unreaped() int {
	count := 0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // The pattern is well formed.
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err == nil && bytes.HasPrefix(text[bytes.LastIndexByte(text, ')')+1:], []byte(" Z")) {
			count++
		}
	}
	return count
}

func findPids(args []string) error {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, argument := range bytes.Split(text, []byte{0}) {
			if string(argument) == args[0] {
				fmt.Println(pid)
				break
			}
		}
	}
	return nil
}

func holdPTY(args []string) error {
	pair, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(pair.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(pair.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	fmt.Printf("/dev/pts/%d\n", n)
	return pause(args[0])
}
