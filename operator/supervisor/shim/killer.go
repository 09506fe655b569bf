package shim

import (
	"syscall"

	"toolcall-operator/supervisor/internal/measures"
	"toolcall-operator/supervisor/treekill"
)

// scopeABI is the first Landlock ABI that keeps signals inside a domain.
const scopeABI = 6

// killer reaches every process of the call, and no other. Its kill is repeated until nobody is left.
type killer interface {
	terminate()
	kill()
}

// newKiller takes the quick way where it is safe. kill(-1) outside of a scope would end everything the user runs on the machine, so the scope is
// put to the test first: the parent, of the same user, must be out of reach.
func newKiller(landlockABI int) killer {
	outOfReach := syscall.Kill(syscall.Getppid(), 0) == syscall.EPERM
	if landlockABI >= scopeABI && outOfReach && !measures.Off("scoped-kill") {
		return scoped{}
	}
	return walking{}
}

// scoped lets the kernel find the processes: those the shim's Landlock domain lets it signal.
type scoped struct{}

func (scoped) terminate() {
	_ = syscall.Kill(-1, syscall.SIGTERM)
	_ = syscall.Kill(-1, syscall.SIGCONT)
}

func (scoped) kill() { _ = syscall.Kill(-1, syscall.SIGKILL) }

// walking finds them in /proc.
type walking struct{}

func (walking) terminate() {
	pids := descendants()
	treekill.Signal(pids, syscall.SIGTERM)
	treekill.Signal(pids, syscall.SIGCONT)
}

func (walking) kill() { treekill.Round(descendants) }
