package calls

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// chunk is what is read from a pipe at once: its whole capacity, unless a tool asked for more.
const chunk = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// pump moves a stream into its spool until every writer is gone, or until drain said that they are dead.
type pump struct {
	from *os.File
	into *spool
	kept func() // called when there is something new to read
	done chan struct{}
}

func startPump(from *os.File, into *spool, kept func()) *pump {
	p := &pump{from, into, kept, make(chan struct{})}
	go p.run()
	return p
}

func (p *pump) run() {
	defer close(p.done)
	defer p.finish()
	defer func() { _ = p.from.Close() }()
	raw, err := p.from.SyscallConn()
	if err != nil {
		return
	}
	for {
		var n int
		var failed error
		// A buffer is held only while there is something to read: hundreds of silent calls cost nothing.
		err := raw.Read(func(fd uintptr) bool {
			n, failed = p.take(int(fd), chunk)
			return failed != unix.EAGAIN
		})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.rest()
			return
		}
		if err != nil || failed != nil || n == 0 {
			return
		}
	}
}

// finish stores what is left when nothing more comes.
func (p *pump) finish() {
	if p.into.finish() {
		p.kept()
	}
}

// take reads once, at most so many bytes.
func (p *pump) take(fd, most int) (int, error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	n, err := unix.Read(fd, (*buffer)[:most])
	if err == unix.EINTR {
		return 0, unix.EAGAIN
	}
	if n > 0 && p.into.write((*buffer)[:n]) {
		p.kept()
	}
	return n, err
}

// drain waits until everything the tool wrote is in the spool. Every process of the call is dead, so all of it is in the pipe already. Its end is
// not waited for: a tool can pass its stdout to a process of another call, which would then hold this call open.
func (p *pump) drain() {
	_ = p.from.SetReadDeadline(time.Unix(1, 0))
	<-p.done
}

// rest takes what the pipe holds at this moment.
func (p *pump) rest() {
	raw, err := p.from.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		for err == nil && left > 0 {
			var n int
			if n, err = p.take(int(fd), min(left, chunk)); n == 0 {
				return
			}
			left -= n
		}
	})
}
