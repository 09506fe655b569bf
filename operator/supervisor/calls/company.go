package calls

import (
	"errors"
	"iter"
	"maps"
	"time"

	"toolcall-operator/supervisor/wire"
)

// objection says why a call may not start beside those that run; "" when it may. The lock is held.
func (r *Registry) objection(request wire.Start) string {
	if anyRuns(maps.Keys(r.alone)) {
		return "a call that carries credentials runs, and no other may run beside it"
	}
	if r.mustBeAlone(request) && anyRuns(maps.Values(r.calls)) {
		return "the call carries credentials and must run alone, and another call runs"
	}
	return ""
}

func (r *Registry) mustBeAlone(request wire.Start) bool {
	return request.Credentials != nil && (request.Credentials.Exclusive || r.config.Exclusive)
}

// anyRuns reports whether one of the calls has not ended.
func anyRuns(calls iter.Seq[*Call]) bool {
	for c := range calls {
		if c.Exit() == nil {
			return true
		}
	}
	return false
}

// join counts a call in. The lock is held.
func (r *Registry) join(c *Call, request wire.Start) {
	r.running++
	if r.mustBeAlone(request) {
		r.alone[c] = struct{}{}
	}
}

// part counts out a call of which nothing is left. The lock is held.
func (r *Registry) part(c *Call) {
	r.running--
	delete(r.alone, c)
}

var (
	errUncleared = errors.New("what an ended call with credentials has left is not removed yet")
	errStrays    = errors.New("the call carries credentials and must run alone, and processes that an ended call has left do not die")
)

// meetEvery is how often a start that waits looks again: a call waits for it.
const meetEvery = 500 * time.Microsecond

// awaitCompany waits until nothing is left that this call may not meet, or that may not meet it, of calls that have ended: as a rule it is gone within
// milliseconds of their end. None that runs is in the way: Enter has seen to that.
func (r *Registry) awaitCompany(c *Call) error {
	isAlone := false
	if !r.await(roomWithin, meetEvery, func() bool {
		_, isAlone = r.alone[c]
		return len(r.alone) == 0 || isAlone && r.running == 1
	}) {
		return errUncleared
	}
	if isAlone && !r.config.Launcher.reaper.KillStrays(roomWithin) {
		return errStrays
	}
	return nil
}
