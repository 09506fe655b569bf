package server

import (
	"errors"
	"io"
	"sync"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/wire"
)

// maxChannels bounds what one connection may have open at once.
const maxChannels = 16384

// connection is one operator that said hello.
type connection struct {
	server *Server
	out    *writer
	epoch  int64
	inputs inputs // of the reading goroutine

	mu       sync.Mutex
	channels map[uint32]*channel
}

func newConnection(s *Server, out *writer, epoch int64) *connection {
	return &connection{server: s, out: out, epoch: epoch, inputs: newInputs(s.spool), channels: map[uint32]*channel{}}
}

// read carries out requests until the stream ends.
func (c *connection) read(frames *wire.Reader) error {
	for c.out.admit() {
		frame, err := frames.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = c.take(frame)
		}
		var violation *wire.Violation
		if errors.As(err, &violation) {
			return refuse(c.out, wire.ProtocolError, err)
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the operator takes no answers any more")
}

// take carries out one frame. Only a *wire.Violation ends the connection.
func (c *connection) take(frame wire.Frame) error {
	if frame.Kind == wire.Data {
		return c.inputs.write(frame)
	}
	request, err := wire.Request(frame.Body)
	var bad *wire.BadRequest
	if errors.As(err, &bad) {
		c.inputs.drop(bad.Channel)
		c.out.answer(wire.Refused{Channel: bad.Channel, ID: bad.ID, Code: wire.BadField, Message: bad.Message})
		return nil
	}
	if err != nil {
		return err
	}
	return c.carryOut(request)
}

func (c *connection) carryOut(request any) error {
	switch r := request.(type) {
	case wire.Hello:
		return &wire.Violation{Message: "a second hello"}
	case wire.Start:
		c.start(r)
	case wire.Attach:
		c.attach(r)
	case wire.Detach:
		c.detach(r)
	case wire.Credit:
		c.credit(r)
	case wire.Kill:
		c.mutate(r.ID, func() error { return c.server.calls.Kill(r.UID) }, wire.Killing{ID: r.ID})
	case wire.Acknowledge:
		c.mutate(r.ID, func() error { return c.server.calls.Acknowledge(r.UID) }, wire.Acknowledgement{ID: r.ID})
	case wire.List:
		c.out.answer(wire.Calls{ID: r.ID, Calls: c.server.calls.List()})
	case wire.Ping:
		c.out.answer(wire.Pong(r))
	}
	return nil
}

// mutate answers a request that changes a call, unless a newer leader was here.
func (c *connection) mutate(id int64, do func() error, done any) {
	if err := c.server.leaders.as(c.epoch, do); err != nil {
		c.out.answer(wire.Refused{ID: id, Code: codeOf(err), Message: err.Error()})
		return
	}
	c.out.answer(done)
}

// codeOf is the code of a refusal for an error of the registry, or of the leaders.
func codeOf(err error) string {
	var older *olderLeader
	switch {
	case errors.As(err, &older):
		return wire.StaleEpoch
	case errors.Is(err, calls.ErrUnknown):
		return wire.UnknownCall
	case errors.Is(err, calls.ErrAcknowledged):
		return wire.AcknowledgedCall
	case errors.Is(err, calls.ErrRunning):
		return wire.StillRunning
	}
	return wire.Unavailable
}

// close ends every channel; the calls go on.
func (c *connection) close() {
	c.inputs.close()
	c.mu.Lock()
	channels := c.channels
	c.channels = nil
	c.mu.Unlock()
	for _, ch := range channels {
		ch.close()
	}
}
