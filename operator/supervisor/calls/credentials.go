package calls

import (
	"errors"
	"log"
	"maps"
	"slices"
	"time"

	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

var errTooMany = errors.New("the calls of this sandbox were given more credentials than can be looked for in what they write")

// equip prepares a call for what it carries: from here on its values show in no output, and it has a home. nil for a call that carries nothing.
func (r *Registry) equip(carried *wire.Credentials) (*private.Home, error) {
	if carried == nil {
		return nil, nil
	}
	if carried.Redacted && !r.config.Secrets.Add(slices.Collect(maps.Values(carried.Env))...) {
		return nil, errTooMany
	}
	return r.config.Base.Homes.New()
}

// house puts a call that carries credentials into its home: nobody else has a right there, and what it carries has the last word in its environment.
func (b Base) house(spec *shim.Spec, request wire.Start, home *private.Home) {
	spec.Env = b.overlaid(request.Env, home.Env(), request.Credentials.Env)
	spec.Box.Write = with(spec.Box.Write, home.Path())
	if request.Credentials.Workspace == wire.WorkspaceNone {
		spec.Dir = home.Env()["HOME"]
	}
}

// clear removes what a call that carried credentials leaves when it has ended. Until the processes of one that is lost are dead, which may take as long
// as the kernel likes, they still have them; and a home that cannot be removed holds up every other call where only that keeps it from them.
func (r *Registry) clear(c *Call, home *private.Home) {
	if home == nil {
		return
	}
	if c.Exit().Cause == wire.CauseLost {
		for !r.config.Launcher.reaper.KillStrays(clearing) {
			continue
		}
	}
	for !leave(home) && r.config.Exclusive {
		time.Sleep(removeEvery)
	}
}

// removeEvery is the pause before what could not be removed is tried again.
const removeEvery = time.Second

// leave removes a home that no process uses. What cannot be removed now, the next boot removes.
func leave(home *private.Home) (gone bool) {
	err := home.Remove()
	if err != nil {
		log.Print(err)
	}
	return err == nil
}
