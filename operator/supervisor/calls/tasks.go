package calls

import (
	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/wire"
)

// counts reports whether it was told how many processes and threads there may be: all of them are the sandbox's own then. A control group that can be
// seen may be shared with others, for whose processes no call is to be killed.
func (l *Launcher) counts() bool { return l.room.tasks > 0 }

// relieveTasks kills the call with the most processes and threads when nearly none are left. In a full table the supervisor could not be helped: the
// Go runtime ends a process that needs a thread and gets none.
func (r *Registry) relieveTasks(running []*Call) {
	if l := r.config.Launcher; l.counts() && l.room.isNearlyFull() {
		relieve(running, wire.CauseTooManyProcesses, (*Call).tasks)
	}
}

// tasks is how many processes and threads the call has.
func (c *Call) tasks() int64 {
	below, err := proctree.Descendants(c.process.pid)
	if err != nil {
		return 0
	}
	return int64(proctree.Tasks(below))
}
