package calls

import (
	"math"

	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/wire"
)

// killsAbove is the share of the limit, in percent, from which the biggest call is killed: before the kernel has to choose. On cgroup v2 it would
// take the whole container.
const killsAbove = 90

// Gauge knows the memory of all calls together.
type Gauge interface {
	// Limit is in bytes, 0 for none.
	Limit() int64
	// Usage is in bytes; trees weighs the processes of the calls, which takes time.
	Usage(trees func() int64) int64
	// OOMKills counts processes that the kernel killed for want of memory.
	OOMKills() int64
}

// relieveMemory kills the biggest call when memory is short, and says how many bytes there are until then.
func (r *Registry) relieveMemory(running []*Call) (free int64) {
	if !r.weighs() {
		return math.MaxInt64
	}
	most := r.config.Gauge.Limit() / 100 * killsAbove
	free = most - r.config.Gauge.Usage(func() int64 { return totalWeight(running) })
	if free < 0 {
		relieve(running, wire.CauseOutOfMemory, (*Call).weight)
	}
	return free
}

func totalWeight(calls []*Call) (total int64) {
	for _, c := range calls {
		total += c.weight()
	}
	return total
}

// weight is the resident memory of the call's processes in bytes.
func (c *Call) weight() int64 {
	below, err := proctree.Descendants(c.process.pid)
	if err != nil {
		return 0
	}
	return proctree.RSS(below)
}
