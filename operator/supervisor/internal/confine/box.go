package confine

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// Box is the inner layer of a call, which its tool runs in: the only paths it may use, and a system call filter.
type Box struct {
	Read    []string // read, list and execute
	Write   []string // everything, rename and link between any two of them included
	Devices []string // read, write and ioctl

	BindsWrites       bool // Write is less than every call has: paths are taken as they are, and the kernel must be able to keep to them
	NoNetwork         bool // sockets are Unix sockets
	RefuseUnixSockets bool // socket(AF_UNIX) is refused, socketpair is not
}

// Enter confines the calling thread and whatever it starts: no_new_privs, a Landlock domain with these paths and both scopes, no capabilities, the filter.
// Paths that do not exist are left out. The thread must be locked to its goroutine, and ends with it. Without Landlock the rest is done, unless writes
// are bound: nothing would bind them.
func (b Box) Enter() error {
	if err := b.enforceable(ABI()); err != nil {
		return err
	}
	rules, err := b.rules()
	if err != nil {
		return err
	}
	defer rules.close()
	if err := noNewPrivileges(); err != nil {
		return err
	}
	if err := rules.enter(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return installFilter(b.table())
}

// enforceable is an error where this Landlock cannot bind the writes of a box that binds them: below ABI 3 whoever may not write a file can still empty it.
func (b Box) enforceable(abi int) error {
	if b.BindsWrites && abi < abiTruncate {
		return fmt.Errorf("bind writes with Landlock ABI %d: %w", abi, unix.EOPNOTSUPP)
	}
	return nil
}

func (b Box) rules() (ruleset, error) {
	abi := ABI()
	files := allRights(abi)
	if measures.Off("landlock-files") {
		files = 0
	}
	rules, err := newRuleset(files, scopes(abi))
	if err != nil || files == 0 {
		return rules, err
	}
	for _, grant := range []struct {
		paths  []string
		rights uint64
		open   opener
	}{
		{b.readable(), rightsToRead, following},
		{b.Write, files, b.writeOpener()},
		{b.Devices, rightsOnDevice, following},
	} {
		for _, path := range grant.paths {
			if err := rules.allow(path, grant.rights, grant.open); err != nil {
				rules.close()
				return ruleset{}, err
			}
		}
	}
	return rules, nil
}

// readable is Read; a build to be attacked may give a call the folder that holds the inputs of all (…/in for …/in/<call>).
func (b Box) readable() []string {
	if !measures.Off("private-inputs") {
		return b.Read
	}
	var paths []string
	for _, path := range b.Read {
		if parent := filepath.Dir(filepath.Clean(path)); filepath.Base(parent) == "in" {
			path = parent
		}
		paths = append(paths, path)
	}
	return paths
}
