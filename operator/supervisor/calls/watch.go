package calls

import (
	"time"

	"toolcall-operator/supervisor/internal/measures"
)

// lookEvery is how often memory and processes are looked at while calls run.
const lookEvery = 100 * time.Millisecond

// watch ends calls while what all calls share is short. It ends when no call runs.
func (r *Registry) watch() {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for range ticks.C {
		running, goOn := r.runningCalls()
		if !goOn {
			return
		}
		r.relieveMemory(running)
		r.relieveTasks(running)
	}
}

// watches reports whether a watch is to be started, and takes note of it. The lock is held.
func (r *Registry) watches() bool {
	if r.watching || !r.weighs() && !r.config.Launcher.counts() {
		return false
	}
	r.watching = true
	return true
}

func (r *Registry) weighs() bool { return r.config.Gauge.Limit() != 0 && !measures.Off("memory-watch") }

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

func (c *Call) isRunning() bool {
	select {
	case <-c.born:
		return c.failure == nil && c.Exit() == nil
	default:
		return false
	}
}

// relieve ends the biggest call, one at a time: what one that dies has taken is not free at once.
func relieve(running []*Call, cause string, size func(*Call) int64) {
	for _, c := range running {
		if c.diesOf(cause) {
			return
		}
	}
	if biggest := biggest(running, size); biggest != nil {
		biggest.stop(cause, 0)
	}
}

func (c *Call) diesOf(cause string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause == cause
}

func biggest(calls []*Call, size func(*Call) int64) (biggest *Call) {
	var most int64
	for _, c := range calls {
		if size := size(c); biggest == nil || size > most {
			biggest, most = c, size
		}
	}
	return biggest
}
