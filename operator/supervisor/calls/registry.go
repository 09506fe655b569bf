package calls

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"toolcall-operator/supervisor/reaper"
	"toolcall-operator/supervisor/shim"
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
	Reaper    *reaper.Reaper
	Base      Base
	Spool     string        // folder of nameless files
	Retention time.Duration // how long an exited call waits for its acknowledgement
	Gauge     Gauge
}

// Registry is every call of this boot, by uid.
type Registry struct {
	config Config

	mu         sync.Mutex
	calls      map[string]*Call
	buried     map[string]struct{}
	tombstones []string // the same, oldest first
	running    int
	watching   bool   // memory
	closing    string // why nothing starts any more
}

// NewRegistry starts empty: calls do not outlive a boot.
func NewRegistry(config Config) *Registry {
	return &Registry{config: config, calls: map[string]*Call{}, buried: map[string]struct{}{}}
}

// Start gives the call of this uid, and whether it was known before. A new one is started with this standard input (nil for none), which is read
// while Start runs and not after. Errors: ErrAcknowledged, *Unavailable.
func (r *Registry) Start(request wire.Start, stdin *os.File) (c *Call, attached bool, err error) {
	c, known, err := r.enter(request)
	if err != nil {
		return nil, false, err
	}
	if known {
		<-c.born
		return c, true, c.failure
	}
	if err := r.launch(c, request, stdin); err != nil {
		r.drop(c, err)
		return nil, false, c.failure
	}
	close(c.born)
	return c, false, nil
}

// enter gives the call of this uid, or makes it known.
func (r *Registry) enter(request wire.Start) (c *Call, known bool, err error) {
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
	c = newCall(request, r.config.Spool)
	r.calls[request.UID] = c
	r.running++
	if r.watchesMemory() {
		go r.watchMemory()
	}
	return c, false, nil
}

func (r *Registry) launch(c *Call, request wire.Start, stdin *os.File) error {
	process, err := r.config.Launcher.launch(r.spec(request, stdin != nil), stdin)
	if err != nil {
		return err
	}
	c.process = process
	go func() {
		c.run(request.Timeout, r.config.Reaper.KillStrays, r.config.Gauge.OOMKills)
		r.retire(c)
	}()
	return nil
}

func (r *Registry) spec(request wire.Start, hasStdin bool) shim.Spec {
	base := r.config.Base
	box := base.Box
	if own := filepath.Join(base.Inputs, request.UID); isFolder(own) {
		box.Read = append(box.Read[:len(box.Read):len(box.Read)], own)
	}
	if hasStdin {
		// Without a rule of its own a tool could read its stdin, but not open it by its other name, /dev/stdin.
		box.Read = append(box.Read[:len(box.Read):len(box.Read)], "/proc/self/fd/0")
	}
	return shim.Spec{
		Argv:        request.Argv,
		Env:         base.overlaid(request.Env),
		Path:        base.Path,
		Box:         box,
		Pids:        request.Pids,
		LandlockABI: base.LandlockABI,
	}
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// drop makes a call unknown again that could not be made.
func (r *Registry) drop(c *Call, why error) {
	r.mu.Lock()
	delete(r.calls, c.uid)
	r.running--
	r.mu.Unlock()
	c.failure = &Unavailable{fmt.Sprintf("the supervisor could not start the call: %v", why)}
	close(c.born)
}

// retire counts an ended call out, and buries it when nobody comes for it.
func (r *Registry) retire(c *Call) {
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	time.AfterFunc(r.config.Retention, func() { r.expire(c) })
}

func (r *Registry) expire(c *Call) {
	if c.isWatched() {
		time.AfterFunc(r.config.Retention, func() { r.expire(c) })
		return
	}
	_ = r.Acknowledge(c.uid)
}

// Find gives a call that is running, or ended and not acknowledged. Errors: ErrUnknown, ErrAcknowledged.
func (r *Registry) Find(uid string) (*Call, error) {
	r.mu.Lock()
	c, known := r.calls[uid]
	_, dead := r.buried[uid]
	r.mu.Unlock()
	switch {
	case dead:
		return nil, ErrAcknowledged
	case !known:
		return nil, ErrUnknown
	}
	if <-c.born; c.failure != nil {
		return nil, ErrUnknown
	}
	return c, nil
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

func (r *Registry) bury(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, dead := r.buried[uid]; dead {
		return
	}
	delete(r.calls, uid)
	r.buried[uid] = struct{}{}
	r.tombstones = append(r.tombstones, uid)
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
