package calls

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/reaper"
)

const (
	// hearing is how long a shim may take to read its spec: it waits for nothing else, but a tool may have stopped it (Landlock below ABI 6).
	hearing = 5 * time.Second
	// clearing is how long the processes of a call whose shim died are waited for before the call ends as lost; they are hunted on after it.
	clearing = 10 * time.Second
)

// process is the shim of one call, as the supervisor holds it.
type process struct {
	reaper  *reaper.Reaper
	pid     int
	reaped  <-chan struct{}
	control *os.File
	streams [2]*os.File // stdout and stderr, to read
	left    func()      // tells the room that it is gone; nil before it has a call

	mu     sync.Mutex // orders are not given after close
	closed bool
}

// instruct gives the spec and, beside its first bytes, the standard input. After an error the shim does not have it whole, and starts nothing.
func (p *process) instruct(message []byte, stdin *kept.File) error {
	var rights []byte
	if stdin != nil {
		rights = unix.UnixRights(int(stdin.Fd()))
	}
	raw, err := p.control.SyscallConn()
	if err != nil {
		return err
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(hearing))
	defer func() { _ = p.control.SetWriteDeadline(time.Time{}) }()
	sent := 0
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		sent, failed = unix.SendmsgN(int(fd), message, rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if sent == len(message) {
		return nil
	}
	_, err = p.control.Write(message[sent:])
	return err
}

// order tells the shim what to do, without waiting: a shim that is gone needs no order, and one that reads none is ended by other means.
func (p *process) order(o byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, err := p.control.SyscallConn()
	if p.closed || err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.Sendmsg(int(fd), []byte{o}, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT) })
}

// kill ends the shim itself, however deaf it is.
func (p *process) kill() { p.reaper.Kill(p.pid, p.reaped) }

// clearAway kills what a shim leaves behind that ended before its call, and waits for it, at most so long for each of the two.
func (p *process) clearAway(most time.Duration) {
	p.kill()
	select {
	case <-p.reaped:
	case <-time.After(most):
	}
	p.reaper.KillStrays(most)
}

func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.control.Close()
	if p.left != nil {
		p.left()
	}
}

// discard ends a shim that was not told what to start.
func (p *process) discard() {
	p.close()
	p.kill()
	for _, stream := range p.streams {
		_ = stream.Close()
	}
}
