package calls

import (
	"time"

	"toolcall-operator/supervisor/shim"
)

// patience is how long a shim may take over a kill. Where signals have no scope (Landlock below ABI 6) a tool can stop its shim, which then hears
// nothing any more; the processes of a call are gone within milliseconds otherwise.
const patience = 5 * time.Second

// stop ends the call: TERM, its grace, KILL. The first cause stands; a later one that has no grace still hurries it. What is asked before there is a
// shim is asked of it as soon as there is one.
func (c *Call) stop(cause string, grace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit != nil || (c.cause != "" && grace > 0) {
		return
	}
	if c.cause == "" {
		c.cause = cause
	}
	if grace == 0 {
		c.kill()
		return
	}
	c.order(shim.Terminate)
	c.killer = time.AfterFunc(grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kill()
	})
}

// kill orders KILL, once. The lock is held.
func (c *Call) kill() {
	if c.killed || c.exit != nil {
		return
	}
	c.killed = true
	c.order(shim.Kill)
}

// order tells the shim what to do, and ends one that has not killed in time: its call is lost then. The lock is held.
func (c *Call) order(o byte) {
	if c.process == nil {
		c.early = append(c.early, o)
		return
	}
	c.process.order(o)
	if o == shim.Kill {
		c.overdue = time.AfterFunc(patience, c.process.kill)
	}
}

// adopt gives the call its shim, and the shim the orders that came before it.
func (c *Call) adopt(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process = p
	for _, o := range c.early {
		c.order(o)
	}
}

// abandon ends the shim of a call that does not end.
func (c *Call) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil && c.exit == nil {
		c.process.kill()
	}
}
