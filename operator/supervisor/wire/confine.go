package wire

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Bounds of what a call is confined to, as PROTOCOL.md lists them.
const (
	maxWritable = 1024
	maxPath     = 4096
)

// Confinement is what a call may do less than the sandbox lets every call do. Its zero value takes nothing away.
type Confinement struct {
	NoNetwork      bool
	BindsWrites    bool     // it may write only below the paths of Writable, which may be none
	Writable       []string // absolute, without . and ..
	TrustedProgram bool     // its program must lie where no call can write
}

func (f *fields) confinement() Confinement {
	var c Confinement
	f.nested("confine", func(inner *fields) {
		c = Confinement{NoNetwork: inner.only("network", "None"), TrustedProgram: inner.only("program", "Trusted")}
		c.Writable, c.BindsWrites = inner.writable()
	})
	return c
}

// only reports whether a field is there that has but one value.
func (f *fields) only(name, value string) bool {
	raw, there := f.takeOptional(name)
	if !there {
		return false
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text != value {
		f.object("%s must be %q, or absent", name, value)
	}
	return true
}

func (f *fields) writable() (paths []string, there bool) {
	raw, there := f.takeOptional("writable")
	if !there {
		return nil, false
	}
	var given []*string
	if err := json.Unmarshal(raw, &given); err != nil || len(given) > maxWritable {
		f.object("writable must be a list of at most %d paths", maxWritable)
		return nil, true
	}
	for i, path := range given {
		if path == nil || !filepath.IsAbs(*path) || len(*path) > maxPath || strings.ContainsRune(*path, 0) {
			f.object("writable[%d] must be an absolute path of at most %d bytes, without NUL", i, maxPath)
			return nil, true
		}
		paths = append(paths, filepath.Clean(*path))
	}
	return paths, true
}
