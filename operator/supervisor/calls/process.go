package calls

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// process is the shim of one call, as the supervisor holds it.
type process struct {
	pid     int
	reaped  <-chan struct{}
	control *os.File
	streams [2]*os.File // stdout and stderr, to read

	mu     sync.Mutex // orders are not given after close
	closed bool
}

// instruct gives the spec and, beside its first bytes, the standard input. After an error the shim does not have it whole, and starts nothing.
func (p *process) instruct(message []byte, stdin *os.File) error {
	var rights []byte
	if stdin != nil {
		rights = unix.UnixRights(int(stdin.Fd()))
	}
	raw, err := p.control.SyscallConn()
	if err != nil {
		return err
	}
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

// order tells the shim what to do. A shim that is gone needs no order.
func (p *process) order(o byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		_, _ = p.control.Write([]byte{o})
	}
}

func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	_ = p.control.Close()
}

// discard lets go of a shim that was not told what to start; it ends when its control socket does.
func (p *process) discard() {
	p.close()
	for _, stream := range p.streams {
		_ = stream.Close()
	}
}
