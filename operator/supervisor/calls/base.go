package calls

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/wire"
)

// defaultPath is where commands are found when the sandbox itself does not say.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Base is what every call gets: an environment, a way to find commands, a box.
type Base struct {
	Env         map[string]string
	Path        []string
	Box         confine.Box
	Roots       []confine.Root // that the box may write
	Workspace   string         // one of them, by its real path
	Inputs      *kept.Folder   // holds one folder a call, named by uid
	Homes       *private.Homes // holds those of calls that carry credentials
	LandlockABI int
}

// BaseEnv is the supervisor's own environment without what belongs to Kubernetes or to the supervisor, and with what programs expect.
func BaseEnv(own []string, home, tmp string) map[string]string {
	env := map[string]string{"PATH": defaultPath, "HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8"}
	for _, pair := range own {
		name, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "KUBERNETES_") && !strings.HasPrefix(name, "TOOLCALL_") && name != "" {
			env[name] = value
		}
	}
	return env
}

// SearchPath is the folders of a PATH. Relative ones, the empty one too, are left out: they would mean the workspace, where tools write.
func SearchPath(path string) []string {
	return slices.DeleteFunc(strings.Split(path, ":"), func(folder string) bool { return !filepath.IsAbs(folder) })
}

// overlaid is NAME=value of the base with these variables on top, the last ones uppermost.
func (b Base) overlaid(layers ...map[string]string) []string {
	all := maps.Clone(b.Env)
	for _, layer := range layers {
		maps.Copy(all, layer)
	}
	env := make([]string, 0, len(all))
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	return env
}

// confined is the box of all calls, of which a call may lose some.
func (b Base) confined(request wire.Start) confine.Box {
	c := request.Confine
	box := b.Box
	box.NoNetwork = c.NoNetwork
	if c.BindsWrites {
		box = box.Bind(b.Roots, c.Writable)
	}
	if request.Credentials == nil {
		return box
	}
	switch request.Credentials.Workspace {
	case wire.WorkspaceReadOnly:
		return box.ReadingOnly(b.Workspace)
	case wire.WorkspaceNone:
		return box.Without(b.Workspace)
	}
	return box
}
