package calls

import (
	"time"

	"toolcall-operator/supervisor/internal/measures"
	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/wire"
)

const (
	// weighEvery is how often memory is looked at while calls run.
	weighEvery = 100 * time.Millisecond
	// killsAbove is the share of the limit, in percent, from which the biggest call is killed: before the kernel has to choose. On cgroup v2 it
	// would take the whole container.
	killsAbove = 90
)

// Gauge knows the memory of all calls together.
type Gauge interface {
	// Limit is in bytes, 0 for none.
	Limit() int64
	// Usage is in bytes; trees weighs the processes of the calls, which takes time.
	Usage(trees func() int64) int64
	// OOMKills counts processes that the kernel killed for want of memory.
	OOMKills() int64
}

// watchMemory kills the biggest call while memory is short. It ends when no call runs.
func (r *Registry) watchMemory() {
	ticks := time.NewTicker(weighEvery)
	defer ticks.Stop()
	for range ticks.C {
		running, goOn := r.runningCalls()
		if !goOn {
			return
		}
		r.relieve(running)
	}
}

// watchesMemory reports whether a watch is to be started, and takes note of it.
func (r *Registry) watchesMemory() bool {
	if r.watching || r.config.Gauge.Limit() == 0 || measures.Off("memory-watch") {
		return false
	}
	r.watching = true
	return true
}

// runningCalls are those that have processes. When no call is even about to have some, the watch is over.
func (r *Registry) runningCalls() (running []*Call, goOn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.isRunning() {
			running = append(running, c)
		}
	}
	r.watching = r.running > 0
	return running, r.watching
}

// relieve kills the biggest call when memory is short, one at a time: the memory of one that dies is not free at once.
func (r *Registry) relieve(running []*Call) {
	for _, c := range running {
		if c.diesForMemory() {
			return
		}
	}
	most := r.config.Gauge.Limit() / 100 * killsAbove
	if r.config.Gauge.Usage(func() int64 { return totalWeight(running) }) <= most {
		return
	}
	if biggest := heaviest(running); biggest != nil {
		biggest.stop(wire.CauseOutOfMemory, 0)
	}
}

func (c *Call) diesForMemory() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause == wire.CauseOutOfMemory
}

func (c *Call) isRunning() bool {
	select {
	case <-c.born:
		return c.failure == nil && c.Exit() == nil
	default:
		return false
	}
}

func totalWeight(calls []*Call) (total int64) {
	for _, c := range calls {
		total += c.weight()
	}
	return total
}

func heaviest(calls []*Call) (biggest *Call) {
	var most int64
	for _, c := range calls {
		if weight := c.weight(); biggest == nil || weight > most {
			biggest, most = c, weight
		}
	}
	return biggest
}

// weight is the resident memory of the call's processes in bytes.
func (c *Call) weight() int64 {
	below, err := proctree.Descendants(c.process.pid)
	if err != nil {
		return 0
	}
	return proctree.RSS(below)
}
