package reaper

import (
	"os"
	"slices"
	"time"

	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/treekill"
)

const (
	// huntEvery is the pause between two looks for strays: forks go on meanwhile.
	huntEvery = 10 * time.Millisecond
	// huntAtLeast is the longest pause, for strays that do not die: those the kernel holds (a dead network disk, a frozen group).
	huntAtLeast = time.Second
)

// KillStrays kills every child that was not forked on purpose, with all that descend from it. It reports whether none is left, which it waits for at
// most so long; those that do not die are hunted on.
func (r *Reaper) KillStrays(most time.Duration) bool {
	done := make(chan struct{})
	r.mu.Lock()
	r.clients = append(r.clients, done)
	if !r.hunting {
		r.hunting = true
		go r.hunt()
	}
	r.mu.Unlock()
	select {
	case <-done:
		return true
	case <-time.After(most):
		return false
	}
}

// hunt goes on until a look finds nobody that began after the last client had come.
func (r *Reaper) hunt() {
	for pause := huntEvery; ; pause = min(pause*5/4, huntAtLeast) {
		r.mu.Lock()
		served := len(r.clients)
		r.mu.Unlock()
		if !r.killRound() && r.dismiss(served) {
			return
		}
		time.Sleep(pause)
	}
}

// dismiss lets the first so many clients go, and ends the hunt when there is no other.
func (r *Reaper) dismiss(served int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, done := range r.clients[:served] {
		close(done)
	}
	r.clients = slices.Delete(r.clients, 0, served)
	r.hunting = len(r.clients) > 0
	return !r.hunting
}

// killRound kills the strays that are seen at this moment; false when there is none. Nothing is forked or reaped meanwhile: no pid changes its owner.
func (r *Reaper) killRound() bool {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.reap.Lock()
	defer r.reap.Unlock()
	return treekill.Round(r.strays)
}

// strays are the descendants of this process whose way up meets no known child. The way is walked for each: a list of children that is read
// while processes come and go may skip one, and a process of a living call must never be taken for a stray.
func (r *Reaper) strays() []int {
	r.collectAll()
	self := os.Getpid()
	below, err := proctree.Descendants(self)
	if err != nil {
		return nil
	}
	var strays []int
	for _, pid := range below {
		if r.isStray(pid, self) {
			strays = append(strays, pid)
		}
	}
	return strays
}

func (r *Reaper) isStray(pid, self int) bool {
	for pid != self {
		if r.isKnown(pid) {
			return false
		}
		parent, err := proctree.ParentOf(pid)
		if err != nil || parent == 0 {
			return false
		}
		pid = parent
	}
	return true
}

func (r *Reaper) isKnown(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.known[pid]
	return known
}
