package calls

import (
	"fmt"
	"path/filepath"
	"slices"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// Launch starts a call that Enter made known, once, with this standard input (nil for none), which is the call's from here on.
// Errors: *Unavailable, and the call is unknown again.
func (r *Registry) Launch(c *Call, request wire.Start, stdin *kept.File) error {
	c.stdin = stdin
	home, process, err := r.begin(c, request, stdin)
	if err != nil {
		r.drop(c, err)
		return c.failure
	}
	c.adopt(process)
	close(c.born)
	go func() {
		c.run(request.Timeout, r.config.Gauge.OOMKills)
		r.clear(c, home)
		r.retire(c)
	}()
	return nil
}

// begin gives the call what it needs, its process last: the home if it carries credentials, and company or none. After an error there is no home.
func (r *Registry) begin(c *Call, request wire.Start, stdin *kept.File) (*private.Home, *process, error) {
	if err := r.awaitCompany(c); err != nil {
		return nil, nil, err
	}
	home, err := r.equip(request.Credentials)
	if err != nil {
		return nil, nil, err
	}
	process, err := r.process(request, stdin, home)
	if err != nil {
		leave(home)
	}
	return home, process, err
}

// process is a shim that was told what to start. It waits for room.
func (r *Registry) process(request wire.Start, stdin *kept.File, home *private.Home) (*process, error) {
	left, err := r.config.Launcher.room.enter(r.countRunning())
	if err != nil {
		return nil, err
	}
	process, err := r.told(request, stdin, home)
	if err != nil {
		left()
		return nil, err
	}
	process.left = left
	return process, nil
}

func (r *Registry) told(request wire.Start, stdin *kept.File, home *private.Home) (*process, error) {
	r.config.Launcher.launching.Enter()
	defer r.config.Launcher.launching.Leave()
	for _, folder := range r.config.Shared {
		folder.Mend()
	}
	spec, err := r.spec(request, stdin != nil, home)
	if err != nil {
		return nil, err
	}
	return r.config.Launcher.launch(spec, stdin)
}

func (r *Registry) countRunning() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// spec is what the shim of a call is told. The error is one of its inputs: a call does not run without those it was given.
func (r *Registry) spec(request wire.Start, hasStdin bool, home *private.Home) (shim.Spec, error) {
	base := r.config.Base
	box := base.confined(request)
	hasInputs, err := base.Inputs.Has(request.UID)
	if err != nil {
		return shim.Spec{}, err
	}
	if hasInputs {
		box.Read = with(box.Read, filepath.Join(base.Inputs.Path(), request.UID))
	}
	if hasStdin {
		// Without a rule of its own a tool could read its stdin, but not open it by its other name, /dev/stdin.
		box.Read = with(box.Read, "/proc/self/fd/0")
	}
	spec := shim.Spec{
		Argv:        request.Argv,
		Env:         base.overlaid(request.Env),
		Path:        base.Path,
		Box:         box,
		Trusted:     request.Confine.TrustedProgram,
		Distrusted:  with(confine.Paths(base.Roots), base.Homes.Path()),
		Pids:        request.Pids,
		LandlockABI: base.LandlockABI,
	}
	if home != nil {
		base.house(&spec, request, home)
	}
	return spec, nil
}

// with is paths and one more, in a list of its own.
func with(paths []string, path string) []string { return slices.Concat(paths, []string{path}) }

// drop makes a call unknown again that could not be made.
func (r *Registry) drop(c *Call, why error) {
	r.mu.Lock()
	delete(r.calls, c.uid)
	r.part(c)
	r.mu.Unlock()
	c.failure = &Unavailable{fmt.Sprintf("the supervisor could not start the call: %v", why)}
	_ = c.stdin.Close()
	close(c.born)
}
