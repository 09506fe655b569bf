package calls

import (
	"time"

	"toolcall-operator/supervisor/wire"
)

// Terminate starts nothing more, and ends every call as Terminating with its own grace.
func (r *Registry) Terminate() {
	for _, c := range r.close("the sandbox was told to stop") {
		go func() {
			if <-c.born; c.failure == nil {
				c.stop(wire.CauseTerminating, c.grace)
			}
		}()
	}
}

// KillAll starts nothing more, and kills every call at once.
func (r *Registry) KillAll() {
	for _, c := range r.close("the supervisor ends") {
		go func() {
			if <-c.born; c.failure == nil {
				c.stop(wire.CauseKilled, 0)
			}
		}()
	}
}

func (r *Registry) close(why string) []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = why
	all := make([]*Call, 0, len(r.calls))
	for _, c := range r.calls {
		all = append(all, c)
	}
	return all
}

// pollEvery is how often a supervisor that ends looks whether it may.
const pollEvery = 10 * time.Millisecond

// AwaitEnd waits until no call runs, or until the time is up.
func (r *Registry) AwaitEnd(most time.Duration) {
	r.await(most, func() bool { return r.running == 0 })
}

// AwaitAcknowledged waits until every call was acknowledged, or until the time is up.
func (r *Registry) AwaitAcknowledged(most time.Duration) {
	r.await(most, func() bool { return len(r.calls) == 0 })
}

func (r *Registry) await(most time.Duration, reached func() bool) {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(pollEvery) {
		r.mu.Lock()
		done := reached()
		r.mu.Unlock()
		if done {
			return
		}
	}
}
