// Package calls keeps the calls of one boot: their processes, their output, and how they ended.
package calls

import (
	"sync"
	"time"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// Watcher wants to know that a call has something new to show: output, or its end.
type Watcher interface{ Notify() }

// Call is one call, from the arrival of its start until it is forgotten.
type Call struct {
	uid     string
	began   time.Time
	grace   time.Duration
	born    chan struct{} // closed when the shim exists, or could not be made
	failure error         // why it could not; read after born
	ended   chan struct{} // closed with the exit

	streams [2]*spool
	stdin   *kept.File  // nil for none; it takes room as long as a process of the call may read it
	process *process    // set before born closes
	kills   int64       // the kernel's OOM kills before this call
	expiry  *time.Timer // of the ended call, guarded by the registry

	mu        sync.Mutex
	cause     string // why it was asked to end, "" when nobody asked
	early     []byte // orders for a shim that there is not yet
	killed    bool   // KILL was ordered
	deadline  *time.Timer
	killer    *time.Timer // ends the grace
	overdue   *time.Timer // ends the shim
	exit      *wire.Exit
	watchers  map[Watcher]struct{}
	forgotten bool
}

func newCall(request wire.Start, folder *kept.Folder, secrets *redact.Set) *Call {
	c := &Call{
		uid:      request.UID,
		began:    time.Now(),
		grace:    request.Grace,
		born:     make(chan struct{}),
		ended:    make(chan struct{}),
		watchers: map[Watcher]struct{}{},
	}
	for i := range c.streams {
		c.streams[i] = &spool{folder: folder, limit: request.OutputBytes, secrets: secrets.Stream()}
	}
	return c
}

// UID names the call.
func (c *Call) UID() string { return c.uid }

// Born waits until the call has a shim. Errors: *Unavailable when none could be made.
func (c *Call) Born() error {
	<-c.born
	return c.failure
}

// Ended is closed when the exit is recorded.
func (c *Call) Ended() <-chan struct{} { return c.ended }

// Exit is how the call ended, nil while it runs. Channel is left to the caller.
func (c *Call) Exit() *wire.Exit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

// Stored is how many bytes of a stream can be read.
func (c *Call) Stored(stream wire.Stream) int64 { return c.spool(stream).output().Stored }

// ReadAt reads stored bytes of a stream.
func (c *Call) ReadAt(stream wire.Stream, p []byte, offset int64) (int, error) {
	return c.spool(stream).readAt(p, offset)
}

func (c *Call) spool(stream wire.Stream) *spool { return c.streams[stream-wire.Stdout] }

// Watch lets a watcher know of whatever comes from now on, until Unwatch; false when the call is forgotten, and nothing of it can be shown.
func (c *Call) Watch(w Watcher) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten {
		return false
	}
	c.watchers[w] = struct{}{}
	return true
}

// Unwatch ends a Watch. The output of a call that is forgotten stays until its last watcher has left.
func (c *Call) Unwatch(w Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
	c.release()
}

func (c *Call) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		w.Notify()
	}
}

// forget lets the output go.
func (c *Call) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = true
	c.release()
}

func (c *Call) isWatched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watchers) > 0
}

func (c *Call) release() {
	if !c.forgotten || len(c.watchers) > 0 {
		return
	}
	for _, s := range c.streams {
		s.close()
	}
}

// run lets a call live that was born: its output flows, its deadline counts from the arrival of the start. It returns when the call has ended.
func (c *Call) run(timeout time.Duration, oomKills func() int64) {
	c.mu.Lock()
	c.deadline = time.AfterFunc(timeout-time.Since(c.began), func() { c.stop(wire.CauseDeadline, c.grace) })
	c.mu.Unlock()
	c.kills = oomKills()
	var pumps [2]*pump
	for i, s := range c.streams {
		pumps[i] = startPump(c.process.streams[i], s, c.notify)
	}
	report, err := shim.ReadReport(c.process.control)
	if err != nil {
		c.process.clearAway(clearing)
	}
	duration := time.Since(c.began)
	for _, p := range pumps {
		p.drain()
	}
	c.end(report, err, duration, oomKills)
}

func (c *Call) end(report shim.Report, lost error, duration time.Duration, oomKills func() int64) {
	c.mu.Lock()
	exit := wire.Exit{Cause: wire.CauseLost}
	if lost == nil {
		exit = judge(report, c.cause, func() bool { return oomKills() > c.kills })
	}
	exit.DurationMs = duration.Milliseconds()
	exit.Stdout = c.streams[0].output()
	exit.Stderr = c.streams[1].output()
	c.exit = &exit
	for _, timer := range []*time.Timer{c.deadline, c.killer, c.overdue} {
		if timer != nil {
			timer.Stop()
		}
	}
	c.mu.Unlock()
	c.process.close()
	_ = c.stdin.Close()
	close(c.ended)
	c.notify()
}
