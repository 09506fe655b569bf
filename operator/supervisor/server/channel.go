package server

import (
	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/wire"
)

// channel shows one call on one connection.
type channel struct {
	number uint32
	out    *writer
	leave  func(*channel) bool // takes it off its connection; false when it was off already

	// Guarded by out.mu.
	call   *calls.Call // nil until the call is known to exist
	credit int64
	queued bool
	closed bool

	// Of the writer's goroutine, once call is set.
	offsets [2]int64 // of stdout and stderr, next to send
	second  bool     // stderr has the next turn
}

func newChannel(number uint32, view wire.View, out *writer, leave func(*channel) bool) *channel {
	return &channel{
		number:  number,
		out:     out,
		leave:   leave,
		credit:  view.Window,
		offsets: [2]int64{view.StdoutOffset, view.StderrOffset},
	}
}

// Notify is called when the call has something new.
func (c *channel) Notify() { c.out.offer(c) }

// show begins to send what the call has; false when the call was forgotten meanwhile. A channel that was closed meanwhile shows nothing.
func (c *channel) show(call *calls.Call, started wire.Started) bool {
	if !call.Watch(c) {
		return false
	}
	frame := wire.AppendAnswer(nil, started)
	c.out.mu.Lock()
	closed := c.closed
	if !closed {
		c.call = call
		c.out.answers = append(c.out.answers, frame)
		c.out.offerLocked(c)
	}
	c.out.mu.Unlock()
	if closed {
		call.Unwatch(c)
	}
	return true
}

// grant lets so many more bytes be sent.
func (c *channel) grant(bytes int64) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.credit = min(c.credit+min(bytes, wire.MaxWindow), wire.MaxWindow)
	c.out.offerLocked(c)
}

// close sends nothing more.
func (c *channel) close() {
	c.out.mu.Lock()
	call := c.call
	c.closed = true
	c.out.mu.Unlock()
	if call != nil {
		call.Unwatch(c)
	}
}

// fill appends the next frame of the channel: a piece of a stream, or the exit when every stored byte was sent.
func (c *channel) fill(buffer []byte) []byte {
	exit := c.call.Exit() // Looked at before the streams: nothing is stored after it.
	stream, size := c.next()
	if size == 0 && exit != nil && c.drained() {
		return c.end(buffer, *exit)
	}
	most := c.take(min(size, payload))
	if most == 0 {
		return buffer
	}
	buffer = c.read(buffer, stream, most)
	c.Notify() // To the end of the line; the next look finds out whether there is more.
	return buffer
}

// next is the stream whose turn it is, and how much of it can be sent. The streams take turns.
func (c *channel) next() (wire.Stream, int64) {
	order := [2]wire.Stream{wire.Stdout, wire.Stderr}
	if c.second {
		order = [2]wire.Stream{wire.Stderr, wire.Stdout}
	}
	for _, stream := range order {
		if size := c.call.Stored(stream) - c.offsets[stream-wire.Stdout]; size > 0 {
			c.second = stream == wire.Stdout
			return stream, size
		}
	}
	return wire.Stdout, 0
}

func (c *channel) drained() bool {
	return c.offsets[0] >= c.call.Stored(wire.Stdout) && c.offsets[1] >= c.call.Stored(wire.Stderr)
}

// take uses up credit, as much as there is.
func (c *channel) take(bytes int64) int64 {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.closed {
		return 0
	}
	bytes = min(bytes, c.credit)
	c.credit -= bytes
	return bytes
}

func (c *channel) read(buffer []byte, stream wire.Stream, size int64) []byte {
	offset := &c.offsets[stream-wire.Stdout]
	head := len(buffer)
	buffer = wire.AppendDataHead(buffer, c.number, stream, *offset, int(size))
	body := len(buffer)
	buffer = append(buffer, make([]byte, size)...)
	if n, _ := c.call.ReadAt(stream, buffer[body:], *offset); int64(n) < size {
		c.out.fail() // The disk does not give back what it took: there is no honest way to go on.
		return buffer[:head]
	}
	*offset += size
	return buffer
}

// end appends the exit and leaves the connection. Closed just now, it says nothing.
func (c *channel) end(buffer []byte, exit wire.Exit) []byte {
	if !c.leave(c) {
		return buffer
	}
	c.close()
	exit.Channel = c.number
	return wire.AppendAnswer(buffer, exit)
}
