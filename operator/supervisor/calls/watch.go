package calls

import (
	"time"

	"toolcall-operator/supervisor/internal/measures"
)

const (
	// lookEvery is how often memory and processes are looked at while calls run.
	lookEvery = 100 * time.Millisecond
	// lookOften is the same where memory is nearly used up: of a sandbox with 256 MiB the last tenth is filled within 12 ms.
	lookOften = 5 * time.Millisecond
	// fastest is how many bytes a tool may fill in a second: twice what one processor was seen to, which was 2 GiB.
	fastest = 4 << 30
	// share is how much of a processor the looks may take: a look at many calls takes a while.
	share = 20
)

// watch ends calls while what all calls share is short. It ends when no call runs.
func (r *Registry) watch() {
	for {
		began := time.Now()
		running, goOn := r.runningCalls()
		if !goOn {
			return
		}
		free := r.relieveMemory(running)
		r.relieveTasks(running)
		time.Sleep(max(pause(free), share*time.Since(began)))
	}
}

// pause is how long nobody needs to look at memory of which so many bytes are free.
func pause(free int64) time.Duration {
	filled := time.Duration(float64(free) / fastest * float64(time.Second))
	return min(max(filled, lookOften), lookEvery)
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
