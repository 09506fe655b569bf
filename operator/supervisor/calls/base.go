package calls

import (
	"path/filepath"
	"slices"
	"strings"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
)

// defaultPath is where commands are found when the sandbox itself does not say.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Base is what every call gets: an environment, a way to find commands, a box.
type Base struct {
	Env         map[string]string
	Path        []string
	Box         confine.Box
	Roots       []confine.Root // that the box may write
	Inputs      *kept.Folder   // holds one folder a call, named by uid
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

// overlaid is NAME=value of the base with those of a call on top.
func (b Base) overlaid(over map[string]string) []string {
	env := make([]string, 0, len(b.Env)+len(over))
	for name, value := range b.Env {
		if _, replaced := over[name]; !replaced {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range over {
		env = append(env, name+"="+value)
	}
	return env
}
