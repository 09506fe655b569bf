package serve

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/memory"
	"toolcall-operator/supervisor/network"
	"toolcall-operator/supervisor/reaper"
	"toolcall-operator/supervisor/server"
)

const (
	// lingers is how long a serve that was told to end waits for its calls and for somebody to take their exits. Kubernetes gives a pod 30 s.
	lingers = 25 * time.Second
	// graces is how much of that calls may take: whoever has a longer grace is killed, or its exit would be lost with the pod.
	graces = 20 * time.Second
	// killing is how long processes that were sent KILL may take.
	killing = 10 * time.Second
)

// processors is how many serve uses at most. Every one is a thread that may be needed when no other is to be had, and it does nothing that wants more.
const processors = 8

// Main serves until it is told to end. Errors: *usage.Error, or why it could not go on.
func Main(args []string, version string) error {
	runtime.LockOSThread() // The main thread enters no domain: a thread that does must end, and this one cannot.
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	watch := network.Start(o.blocked, o.patience)
	terminated := catch()
	if err := settle(); err != nil {
		return err
	}
	p, err := o.prepare()
	if err != nil {
		return err
	}
	defer func() { _ = p.homes.Close() }() // What is left, the next boot removes.
	registry, err := newRegistry(o, p)
	if err != nil {
		return err
	}
	s := server.New(server.Config{Calls: registry, Identity: o.identity(version), KeyHash: o.keyHash, Spool: p.spool, Network: watch})
	if o.stdio {
		return overStdio(s, registry, terminated)
	}
	return overSocket(s, registry, terminated)
}

// catch takes over the signals that would end the process. They are caught and not ignored: what is ignored stays ignored in every tool. A Ctrl-C
// or a closed terminal is the operator's business, and a broken stdout is found by whoever writes to it.
func catch() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	return terminated
}

// windUp ends every call as Terminating, and waits until the exits were taken, for so long at most.
func windUp(registry *calls.Registry, takes time.Duration) error {
	end := time.Now().Add(lingers)
	registry.Terminate()
	if err := registry.AwaitEnd(graces); err != nil {
		return err
	}
	registry.AwaitAcknowledged(min(time.Until(end), takes))
	return nil
}

// settle makes the process what its children need it to be.
func settle() error {
	if err := confine.Harden(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	// Inherited by shims and tools: a core file would hold what was in the environment. One byte is too little for any, and, other than none, it also
	// keeps the kernel from handing it to a program of the node (fs/coredump.c: "RLIMIT_CORE is set to 1, aborting core").
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return fmt.Errorf("switch core files off: %w", err)
	}
	// Whatever else was inherited is not handed on.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), processors))
	return nil
}

func newRegistry(o options, p places) (*calls.Registry, error) {
	r := reaper.Start()
	launcher, err := calls.NewLauncher(r, shimEnv(), o.tasks)
	if err != nil {
		return nil, err
	}
	env := calls.BaseEnv(os.Environ(), o.home, o.tmp)
	box, roots := box(o)
	return calls.NewRegistry(calls.Config{
		Launcher: launcher,
		Base: calls.Base{
			Env:         env,
			Path:        calls.SearchPath(env["PATH"]),
			Box:         box,
			Roots:       roots,
			Workspace:   confine.RealPath(o.workspace),
			Inputs:      p.inputs,
			Homes:       p.homes,
			LandlockABI: confine.ABI(),
		},
		Spool:     p.spool,
		Shared:    p.all,
		Retention: o.retention,
		Gauge:     memory.Own(o.memory),
		Secrets:   redact.NewSet(),
		Exclusive: o.kept() == exclusive,
	}), nil
}

// box is what every call may reach, and the folders of it that it may write. Those of inputs, homes and spools are hidden whatever the command line
// says: no call may read another's.
func box(o options) (confine.Box, []confine.Root) {
	b := confine.DefaultBox(append([]string{o.work, o.spool}, o.hide...))
	roots := confine.Roots(slices.Concat(b.Write, []string{o.workspace, o.out(), o.tmp, o.home}, o.writable))
	b.Write = confine.Paths(roots)
	b.RefuseUnixSockets = o.refuseUnixSockets
	return b, roots
}

// shimEnv is the environment of shims: one processor, for on a large machine the Go runtime would prepare for all of them, and a second one costs each
// call 0.3 ms of threads that a shim, which mostly waits, has no use for. A build made to be attacked tells them what to leave out.
func shimEnv() []string {
	env := []string{"GOMAXPROCS=1"}
	if without, set := os.LookupEnv("TOOLCALL_WITHOUT"); set {
		env = append(env, "TOOLCALL_WITHOUT="+without)
	}
	return env
}

func (o options) identity(version string) server.Identity {
	return server.Identity{BootID: newUUID(), Version: version, LandlockABI: confine.ABI(), Isolation: o.kept()}
}

// Ways in which calls are kept apart.
const (
	landlock  = "Landlock"
	exclusive = "Exclusive" // those that carry credentials run alone
)

// scopeABI is the first Landlock ABI that keeps the signals of one call from another.
const scopeABI = 6

// kept is how the calls of this supervisor are kept apart: as the kernel can do it, unless it was told otherwise.
func (o options) kept() string {
	if o.isolation == "" && confine.ABI() >= scopeABI {
		return landlock
	}
	return exclusive
}

// newUUID is a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // Never fails: crypto/rand ends the process instead.
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
