package calls

import (
	"errors"
	"sync"
	"time"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/wire"
)

// listedTombstones bounds how many acknowledged calls a list names.
const listedTombstones = 10000

// What a request about a call may meet.
var (
	ErrUnknown      = errors.New("no call of this uid is known to this boot")
	ErrAcknowledged = errors.New("the call was acknowledged, and can never start again")
	ErrRunning      = errors.New("the call has not ended yet")
)

// Unavailable says that a call could not be made: nothing ran, and nothing is remembered.
type Unavailable struct{ Reason string }

func (u *Unavailable) Error() string { return u.Reason }

// Config is what all calls of a supervisor share.
type Config struct {
	Launcher  *Launcher
	Base      Base
	Spool     *kept.Folder   // of nameless files
	Shared    []*kept.Folder // what calls share, and need their rights on
	Retention time.Duration  // how long an exited call waits for its acknowledgement
	Gauge     Gauge
	Secrets   *redact.Set // what no call's output may show
	Exclusive bool        // calls that carry credentials run alone
}

// Registry is every call of this boot, by uid.
type Registry struct {
	config Config

	mu         sync.Mutex
	calls      map[string]*Call
	buried     map[string]struct{}
	tombstones []string           // the same, oldest first
	running    int                // calls that were entered, and not cleared away
	alone      map[*Call]struct{} // those of them that may have no company
	watching   bool               // memory, and processes
	closing    string             // why nothing starts any more
}

// NewRegistry starts empty: calls do not outlive a boot.
func NewRegistry(config Config) *Registry {
	return &Registry{config: config, calls: map[string]*Call{}, buried: map[string]struct{}{}, alone: map[*Call]struct{}{}}
}

// Enter gives the call of this uid, and whether it was known before; a new one has no process until Launch. From here on it can be found, killed
// and listed. It does not wait. Errors: ErrAcknowledged, *Unavailable.
func (r *Registry) Enter(request wire.Start) (c *Call, known bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, dead := r.buried[request.UID]; dead {
		return nil, false, ErrAcknowledged
	}
	if c, known := r.calls[request.UID]; known {
		return c, true, nil
	}
	if r.closing != "" {
		return nil, false, &Unavailable{r.closing}
	}
	if objection := r.objection(request); objection != "" {
		return nil, false, &Unavailable{objection}
	}
	c = newCall(request, r.config.Spool, r.config.Secrets)
	r.calls[request.UID] = c
	r.join(c, request)
	if r.watches() {
		go r.watch()
	}
	return c, false, nil
}

// Find gives a call that is about to start, running, or ended and not acknowledged. Errors: ErrUnknown, ErrAcknowledged.
func (r *Registry) Find(uid string) (*Call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, dead := r.buried[uid]; dead {
		return nil, ErrAcknowledged
	}
	if c, known := r.calls[uid]; known {
		return c, nil
	}
	return nil, ErrUnknown
}

// Kill ends a call; one that ended already stays as it is. Errors: ErrUnknown.
func (r *Registry) Kill(uid string) error {
	c, err := r.Find(uid)
	if errors.Is(err, ErrAcknowledged) {
		return nil
	}
	if err != nil {
		return err
	}
	c.stop(wire.CauseKilled, c.grace)
	return nil
}

// Acknowledge forgets an ended call but for its tombstone; again does no harm. Errors: ErrUnknown, ErrRunning.
func (r *Registry) Acknowledge(uid string) error {
	c, err := r.Find(uid)
	if errors.Is(err, ErrAcknowledged) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Exit() == nil {
		return ErrRunning
	}
	r.bury(uid)
	c.forget()
	return nil
}

// List names the calls, the acknowledged ones last and newest first.
func (r *Registry) List() []wire.Listed {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]wire.Listed, 0, len(r.calls)+min(len(r.tombstones), listedTombstones))
	for uid, c := range r.calls {
		state := wire.Running
		if c.Exit() != nil {
			state = wire.Exited
		}
		list = append(list, wire.Listed{UID: uid, State: state})
	}
	for i := len(r.tombstones) - 1; i >= max(0, len(r.tombstones)-listedTombstones); i-- {
		list = append(list, wire.Listed{UID: r.tombstones[i], State: wire.Acknowledged})
	}
	return list
}
