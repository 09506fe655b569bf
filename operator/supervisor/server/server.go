// Package server speaks the protocol with operators: any number of connections, each with any number of channels, over one set of calls.
package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"slices"
	"time"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/network"
	"toolcall-operator/supervisor/wire"
)

// Identity is what the supervisor says of itself in its hello.
type Identity struct {
	BootID      string
	Version     string
	LandlockABI int
	Isolation   string
}

// Config is what a server serves, and to whom.
type Config struct {
	Calls    *calls.Registry
	Identity Identity
	KeyHash  [sha256.Size]byte // SHA-256 of the key that an operator has
	Spool    *kept.Folder      // of standard input that has no call yet
	Network  *network.Watch    // nothing is started unless it says Blocked; nil for no such condition
}

// Server is what all connections share.
type Server struct {
	calls    *calls.Registry
	identity Identity
	keyHash  [sha256.Size]byte
	spool    *kept.Folder
	network  *network.Watch
	leaders  leaders
}

// New serves.
func New(config Config) *Server {
	return &Server{calls: config.Calls, identity: config.Identity, keyHash: config.KeyHash, spool: config.Spool, network: config.Network}
}

// Stream is a connection to an operator.
type Stream interface {
	io.Reader
	io.Writer
}

// Serve speaks with one operator until the stream ends or breaks the protocol. It closes nothing: the stream is the caller's.
// The error is nil at a clean end.
func (s *Server) Serve(stream Stream) error {
	frames := wire.NewReader(stream)
	out := newWriter(stream)
	defer out.finish()
	hello, err := s.greet(stream, frames, out)
	if err != nil {
		return err
	}
	c := newConnection(s, out, hello.Epoch)
	defer c.close()
	return c.read(frames)
}

// helloWithin is how long a peer may take to say who it is.
const helloWithin = 10 * time.Second

// impatient is a stream that can give up waiting; stdin is not one, and need not be: it has one peer.
type impatient interface{ SetReadDeadline(time.Time) error }

// greet reads the operator's hello and answers it: with a refusal at once, with its own when it is known whether the network is blocked.
func (s *Server) greet(stream Stream, frames *wire.Reader, out *writer) (wire.Hello, error) {
	hello, err := awaitHello(stream, frames)
	if err != nil {
		return hello, refuse(out, wire.ProtocolError, err)
	}
	hash := sha256.Sum256(hello.Key)
	if subtle.ConstantTimeCompare(hash[:], s.keyHash[:]) != 1 {
		return hello, refuse(out, wire.BadKey, fmt.Errorf("the key is not the one of this sandbox"))
	}
	if !slices.Contains(hello.Versions, wire.Version) {
		return hello, refuse(out, wire.VersionMismatch, fmt.Errorf("the supervisor speaks version %d", wire.Version))
	}
	s.leaders.welcome(hello.Epoch)
	frames.Admit()
	out.answer(s.hello())
	return hello, nil
}

// hello is what the supervisor says of itself. It waits for the first verdict on the network.
func (s *Server) hello() wire.Welcome {
	return wire.Welcome{
		Version:     wire.Version,
		BootID:      s.identity.BootID,
		Supervisor:  s.identity.Version,
		LandlockABI: s.identity.LandlockABI,
		Isolation:   s.identity.Isolation,
		Network:     s.network.Await(),
	}
}

// awaitHello reads the operator's hello, if it comes in time.
func awaitHello(stream Stream, frames *wire.Reader) (wire.Hello, error) {
	if i, ok := stream.(impatient); ok {
		_ = i.SetReadDeadline(time.Now().Add(helloWithin))
		defer func() { _ = i.SetReadDeadline(time.Time{}) }()
	}
	return readHello(frames)
}

func readHello(frames *wire.Reader) (wire.Hello, error) {
	frame, err := frames.Next()
	if err != nil {
		return wire.Hello{}, err
	}
	if frame.Kind != wire.Control {
		return wire.Hello{}, &wire.Violation{Message: "the first frame is not hello"}
	}
	request, err := wire.Request(frame.Body)
	if err != nil {
		return wire.Hello{}, err
	}
	hello, ok := request.(wire.Hello)
	if !ok {
		return wire.Hello{}, &wire.Violation{Message: "the first message is not hello"}
	}
	return hello, nil
}

// refuse says why the connection ends, and gives the same as an error.
func refuse(out *writer, code string, why error) error {
	out.answer(wire.Refused{Code: code, Message: why.Error()})
	return fmt.Errorf("%s: %w", code, why)
}
