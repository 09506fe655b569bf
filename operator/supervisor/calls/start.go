package calls

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// Launch starts a call that Enter made known, once, with this standard input (nil for none), which is read while Launch runs and not after.
// Errors: *Unavailable, and the call is unknown again.
func (r *Registry) Launch(c *Call, request wire.Start, stdin *os.File) error {
	process, err := r.process(request, stdin)
	if err != nil {
		r.drop(c, err)
		return c.failure
	}
	c.adopt(process)
	close(c.born)
	go func() {
		c.run(request.Timeout, r.config.Gauge.OOMKills)
		r.retire(c)
	}()
	return nil
}

func (r *Registry) process(request wire.Start, stdin *os.File) (*process, error) {
	for _, folder := range r.config.Shared {
		folder.Mend()
	}
	spec, err := r.spec(request, stdin != nil)
	if err != nil {
		return nil, err
	}
	return r.config.Launcher.launch(spec, stdin, r.countRunning())
}

func (r *Registry) countRunning() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// spec is what the shim of a call is told. The error is one of its inputs: a call does not run without those it was given.
func (r *Registry) spec(request wire.Start, hasStdin bool) (shim.Spec, error) {
	base := r.config.Base
	box := base.Box
	box.Read = slices.Clone(box.Read)
	hasInputs, err := base.Inputs.Has(request.UID)
	if err != nil {
		return shim.Spec{}, err
	}
	if hasInputs {
		box.Read = append(box.Read, filepath.Join(base.Inputs.Path(), request.UID))
	}
	if hasStdin {
		// Without a rule of its own a tool could read its stdin, but not open it by its other name, /dev/stdin.
		box.Read = append(box.Read, "/proc/self/fd/0")
	}
	return shim.Spec{
		Argv:        request.Argv,
		Env:         base.overlaid(request.Env),
		Path:        base.Path,
		Box:         box,
		Pids:        request.Pids,
		LandlockABI: base.LandlockABI,
	}, nil
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
