// Package connect carries an operator's bytes to the serve of this sandbox: it is what an exec into the sandbox runs.
package connect

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Address is the abstract socket that serve listens on. It has no file that a tool could replace, and no tool's domain lets it connect.
const Address = "@toolcall-supervisor"

// silence is how long an operator may say nothing: it pings every 15 s, so three of them were lost.
const silence = 45 * time.Second

// ErrSilence ends a connection whose operator says nothing.
var ErrSilence = fmt.Errorf("nothing came from the operator for %s", silence)

const (
	// beginning is how long serve is waited for: an operator comes as soon as the container runs, which is before its program listens.
	beginning = 10 * time.Second
	// dialEvery is the pause between two attempts.
	dialEvery = 20 * time.Millisecond
)

// Main carries in and out to serve, until either side closes or the operator falls silent.
func Main(in io.Reader, out io.Writer) error { return carry(Address, beginning, in, out) }

func carry(address string, within time.Duration, in io.Reader, out io.Writer) error {
	conn, err := dial(address, within)
	if err != nil {
		return fmt.Errorf("reach serve: %w", err)
	}
	defer func() { _ = conn.Close() }()
	peer, err := Peer(conn)
	if err != nil {
		return err
	}
	if peer != 1 {
		return fmt.Errorf("process %d listens in the place of serve, which is process 1", peer)
	}
	return bridge(in, out, conn, silence)
}

// dial tries again while nobody listens, or while too many wait to be listened to.
func dial(address string, within time.Duration) (*net.UnixConn, error) {
	for end := time.Now().Add(within); ; time.Sleep(dialEvery) {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: address})
		mayPass := errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EAGAIN)
		if !mayPass || time.Now().After(end) {
			return conn, err
		}
	}
}

// Peer is the process at the other end: of a connection that was dialled, the one that listens.
func Peer(conn *net.UnixConn) (int32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("who is the peer: %w", err)
	}
	return credentials.Pid, nil
}

// lastWords is how long serve has to say why it takes no more: it answers, and then closes.
const lastWords = 2 * time.Second

// bridge copies both ways. It returns when one way ended, nil if that was an orderly end. When serve takes no more, what it still says is carried out first.
func bridge(in io.Reader, out io.Writer, conn io.ReadWriter, silence time.Duration) error {
	there, back := make(chan error, 1), make(chan error, 1)
	heard := &listener{from: in}
	heard.touch()
	go func() { there <- pipe(conn, heard) }()
	go func() { back <- pipe(out, conn) }()
	ticks := time.NewTicker(silence / 45)
	defer ticks.Stop()
	for {
		select {
		case err := <-there:
			if err != nil && !heard.broke() {
				await(back, lastWords)
			}
			return err
		case err := <-back:
			return err
		case <-ticks.C:
			if heard.since() >= silence {
				return ErrSilence
			}
		}
	}
}

func await(ended <-chan error, most time.Duration) {
	select {
	case <-ended:
	case <-time.After(most):
	}
}

func pipe(to io.Writer, from io.Reader) error {
	_, err := io.Copy(to, from)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// listener notes when something was read last, and when nothing more can be.
type listener struct {
	from   io.Reader
	last   atomic.Int64
	zero   time.Time
	broken atomic.Bool
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.touch()
	if err != nil {
		l.broken.Store(true)
	}
	return n, err
}

// broke reports whether nothing more can be read.
func (l *listener) broke() bool { return l.broken.Load() }

func (l *listener) touch() {
	if l.zero.IsZero() {
		l.zero = time.Now()
	}
	l.last.Store(int64(time.Since(l.zero)))
}

func (l *listener) since() time.Duration { return time.Since(l.zero) - time.Duration(l.last.Load()) }
