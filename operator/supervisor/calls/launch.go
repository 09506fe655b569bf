package calls

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/threads"
	"toolcall-operator/supervisor/reaper"
	"toolcall-operator/supervisor/shim"
)

// self is this program, also when its file was replaced or may not be read.
const self = "/proc/self/exe"

// maxSpares bounds the shims that wait for a call; there are as many as calls that were started at once, and one more.
const maxSpares = 1 << 16

const (
	// idleThreads is how many threads wait for work, or two thirds of it: each shim takes one, which ends with it, and a machine whose process table is
	// full gives no other. They are as many as can be held up at once: by the disk, by launches and forks, and by the processors that serve may use.
	idleThreads = 48
	// renewedAfter is how many forks take so many of them that new ones are made.
	renewedAfter = 16
	// atOnce bounds the launches that are under way, and the spares that are made. Without a bound 128 calls that were started at once wanted 128
	// threads.
	atOnce = 8
)

// Launcher makes shims, one in advance: a call then waits for its tool to start and not for the shim, which takes three times as long.
type Launcher struct {
	scope     *confine.Scope
	reaper    *reaper.Reaper
	devNull   *os.File
	env       []string
	room      *room
	launching threads.Gate
	supplying threads.Gate
	forks     atomic.Int64 // since threads were made
	warming   sync.Mutex
	spares    chan *process // nil for one that could not be made
}

// NewLauncher makes shims with this environment of their own, in a sandbox that may have so many processes and threads (0: what its control group
// allows).
func NewLauncher(r *reaper.Reaper, env []string, tasks int) (*Launcher, error) {
	scope, err := confine.NewScope()
	if err != nil {
		return nil, err
	}
	devNull, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	l := &Launcher{
		scope:     scope,
		reaper:    r,
		devNull:   devNull,
		env:       env,
		room:      newRoom(tasks),
		launching: threads.NewGate(atOnce),
		supplying: threads.NewGate(atOnce),
		spares:    make(chan *process, maxSpares),
	}
	threads.Warm(idleThreads)
	go l.supply()
	return l, nil
}

// launch has a shim start what spec says. A nil stdin is /dev/null.
func (l *Launcher) launch(spec shim.Spec, stdin *kept.File) (*process, error) {
	message := spec.Append(nil)
	if p := l.take(); p != nil {
		if p.instruct(message, stdin) == nil {
			return p, nil
		}
		p.discard() // It died while it waited, and has started nothing: the message never reached it whole.
	}
	p, err := l.make()
	if err != nil {
		return nil, err
	}
	if err := p.instruct(message, stdin); err != nil {
		p.discard()
		return nil, fmt.Errorf("tell a shim what to start: %w", err)
	}
	return p, nil
}

// take gives the first shim that is ready and has another one made; nil when that one could not be made.
func (l *Launcher) take() *process {
	go l.supply()
	return <-l.spares
}

// supply makes one spare, and every now and then the threads that the last ones took.
func (l *Launcher) supply() {
	l.supplying.Enter()
	defer l.supplying.Leave()
	if l.room.isNearlyFull() { // Met again, and told, by the call that finds no shim.
		l.spares <- nil
		return
	}
	p, _ := l.make() // The same.
	l.spares <- p
	l.renew()
}

// renew makes the threads anew that forks took, when they were many and there is room for all.
func (l *Launcher) renew() {
	if l.forks.Add(1) < renewedAfter || !l.room.has(idleThreads) || !l.warming.TryLock() { // Two at once would make twice as many.
		return
	}
	defer l.warming.Unlock()
	l.forks.Store(0)
	threads.Warm(idleThreads)
}

// make forks a shim that waits for its spec.
func (l *Launcher) make() (*process, error) {
	ends, err := newEnds()
	if err != nil {
		return nil, err
	}
	pid, reaped, err := l.reaper.Fork(func() (int, error) { return l.fork(ends) })
	ends.closeTheirs()
	if err != nil {
		ends.closeOurs()
		return nil, fmt.Errorf("fork a shim: %w", err)
	}
	return &process{reaper: l.reaper, pid: pid, reaped: reaped, control: ends.control.ours, streams: [2]*os.File{ends.stdout.ours, ends.stderr.ours}}, nil
}

// fork makes the shim from a thread that has entered a scope of its own: the whole shim lives in it, and the thread dies with its goroutine.
func (l *Launcher) fork(ends ends) (int, error) {
	type outcome struct {
		pid int
		err error
	}
	done := make(chan outcome, 1)
	files := []uintptr{l.devNull.Fd(), uintptr(ends.stdout.theirs), uintptr(ends.stderr.theirs), uintptr(ends.control.theirs), os.Stderr.Fd()}
	go func() {
		runtime.LockOSThread()
		if err := l.scope.Enter(); err != nil {
			done <- outcome{err: err}
			return
		}
		pid, err := syscall.ForkExec(self, []string{"supervisor", "shim"}, &syscall.ProcAttr{
			Env:   l.env,
			Files: files,
			Sys:   &syscall.SysProcAttr{Setsid: true}, // A Ctrl-C on the terminal is the operator's business.
		})
		done <- outcome{pid, err}
	}()
	o := <-done
	return o.pid, o.err
}
