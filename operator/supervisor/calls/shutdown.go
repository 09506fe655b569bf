package calls

import (
	"fmt"
	"time"

	"toolcall-operator/supervisor/wire"
)

// Terminate starts nothing more, and ends every call as Terminating with its own grace.
func (r *Registry) Terminate() {
	for _, c := range r.close("the sandbox was told to stop") {
		c.stop(wire.CauseTerminating, c.grace)
	}
}

// KillAll starts nothing more, and kills every call at once; one that was asked to end before keeps that cause.
func (r *Registry) KillAll() {
	for _, c := range r.close("the supervisor ends") {
		c.stop(wire.CauseKilled, 0)
	}
}

func (r *Registry) close(why string) []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing == "" {
		r.closing = why
	}
	return r.all()
}

// all is every call that was not acknowledged. The lock is held.
func (r *Registry) all() []*Call {
	all := make([]*Call, 0, len(r.calls))
	for _, c := range r.calls {
		all = append(all, c)
	}
	return all
}

const (
	// pollEvery is how often a supervisor that ends looks whether it may.
	pollEvery = 10 * time.Millisecond
	// lastly is how long calls may take to die that were sent KILL because the time was up, and once more when their shims were.
	lastly = time.Second
)

// AwaitEnd waits until no call runs. When the time is up the calls that are left are killed, and then their shims. The error says how many live on.
func (r *Registry) AwaitEnd(most time.Duration) error {
	noneRuns := func() bool { return r.running == 0 }
	if r.await(most, pollEvery, noneRuns) {
		return nil
	}
	r.each(func(c *Call) { c.stop(wire.CauseTerminating, 0) })
	if r.await(lastly, pollEvery, noneRuns) {
		return nil
	}
	r.each((*Call).abandon)
	if r.await(lastly, pollEvery, noneRuns) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Errorf("calls whose processes do not die: %d", r.running)
}

func (r *Registry) each(do func(*Call)) {
	r.mu.Lock()
	all := r.all()
	r.mu.Unlock()
	for _, c := range all {
		do(c)
	}
}

// AwaitAcknowledged waits until every call was acknowledged, or until the time is up.
func (r *Registry) AwaitAcknowledged(most time.Duration) {
	r.await(most, pollEvery, func() bool { return len(r.calls) == 0 })
}

// await reports whether the state was reached in time; reached is asked with the lock held, every now and then.
func (r *Registry) await(most, every time.Duration, reached func() bool) bool {
	for end := time.Now().Add(most); ; time.Sleep(every) {
		r.mu.Lock()
		done := reached()
		r.mu.Unlock()
		if done || time.Now().After(end) {
			return done
		}
	}
}
