package server

import (
	"errors"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/wire"
)

// start makes the call known, or attaches to it, before the next request is read: that one finds it. The shim is not waited for.
func (c *connection) start(r wire.Start) {
	stdin, err := c.inputs.take(r.Channel, r.StdinSize)
	if err != nil {
		c.refuse(r.Channel, inputCode(err), err.Error())
		return
	}
	ch := c.open(r.Channel, r.View)
	if ch == nil {
		_ = stdin.Close()
		return
	}
	call, known, err := c.enter(r)
	switch {
	case err != nil:
		_ = stdin.Close()
		c.abandon(ch, codeOf(err), err.Error())
	case known:
		_ = stdin.Close()
		go c.join(ch, call)
	default:
		go c.launch(ch, call, r, stdin)
	}
}

func (c *connection) enter(r wire.Start) (call *calls.Call, known bool, err error) {
	err = c.server.leaders.as(c.epoch, func() error {
		if objection := c.server.network.Objection(); objection != "" {
			return &calls.Unavailable{Reason: objection}
		}
		call, known, err = c.server.calls.Enter(r)
		return err
	})
	return call, known, err
}

func (c *connection) launch(ch *channel, call *calls.Call, r wire.Start, stdin *kept.File) {
	if err := c.server.calls.Launch(call, r, stdin); err != nil {
		c.abandon(ch, codeOf(err), err.Error())
		return
	}
	c.show(ch, call, false)
}

// join shows a call that somebody else started.
func (c *connection) join(ch *channel, call *calls.Call) {
	if err := call.Born(); err != nil {
		c.abandon(ch, codeOf(err), err.Error())
		return
	}
	c.show(ch, call, true)
}

func (c *connection) show(ch *channel, call *calls.Call, attached bool) {
	if !ch.show(call, wire.Started{Channel: ch.number, Attached: attached}) {
		c.abandon(ch, wire.AcknowledgedCall, calls.ErrAcknowledged.Error())
	}
}

func inputCode(err error) string {
	var ours *calls.Unavailable
	if errors.As(err, &ours) {
		return wire.Unavailable
	}
	return wire.BadField
}

// attach shows a call that is known.
func (c *connection) attach(r wire.Attach) {
	ch := c.open(r.Channel, r.View)
	if ch == nil {
		return
	}
	call, err := c.server.calls.Find(r.UID)
	if err != nil {
		c.abandon(ch, codeOf(err), err.Error())
		return
	}
	go c.join(ch, call)
}

// detach closes a channel; one that ended meanwhile is answered all the same.
func (c *connection) detach(r wire.Detach) {
	c.inputs.drop(r.Channel)
	if ch := c.remove(r.Channel); ch != nil {
		ch.close()
	}
	c.out.answer(wire.Detached(r))
}

// credit of a channel that ended meanwhile is nothing.
func (c *connection) credit(r wire.Credit) {
	c.mu.Lock()
	ch := c.channels[r.Channel]
	c.mu.Unlock()
	if ch != nil {
		ch.grant(r.Bytes)
	}
}

// open takes a channel number into use; nil, and a refusal, when it is in use already.
func (c *connection) open(number uint32, view wire.View) *channel {
	ch := newChannel(number, view, c.out, c.leave)
	c.mu.Lock()
	_, used := c.channels[number]
	full := len(c.channels) >= maxChannels
	if !used && !full {
		c.channels[number] = ch
	}
	c.mu.Unlock()
	switch {
	case used:
		c.refuse(number, wire.BadField, "channel is in use")
	case full:
		c.refuse(number, wire.BadField, "channel: too many are open on this connection")
	default:
		return ch
	}
	return nil
}

// remove takes a channel number out of use.
func (c *connection) remove(number uint32) *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channels[number]
	delete(c.channels, number)
	return ch
}

// leave takes this very channel out of use; false when it was out already.
func (c *connection) leave(ch *channel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channels[ch.number] != ch {
		return false
	}
	delete(c.channels, ch.number)
	return true
}

// abandon ends a channel whose request came to nothing.
func (c *connection) abandon(ch *channel, code, message string) {
	if c.leave(ch) {
		ch.close()
		c.refuse(ch.number, code, message)
	}
}

func (c *connection) refuse(channel uint32, code, message string) {
	c.out.answer(wire.Refused{Channel: channel, Code: code, Message: message})
}
