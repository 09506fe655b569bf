// Package reaper waits for every child of this process: the shims it forked, and whatever a dead shim left to it.
package reaper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper knows which children were forked on purpose. There is one in a process, for it takes all wait statuses.
type Reaper struct {
	gate  sync.RWMutex // held for reading while a child is forked, for writing while strays are looked for
	reap  sync.Mutex   // held while children are waited for: a pid is not used again before
	mu    sync.Mutex
	known map[int]chan struct{}
	early map[int]struct{} // reaped while forks were under way: perhaps a child that is not entered yet
	forks int

	hunting bool            // a hunt for strays is under way
	clients []chan struct{} // who waits for its end
}

// Start reaps from now on.
func Start() *Reaper {
	r := &Reaper{known: map[int]chan struct{}{}, early: map[int]struct{}{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			r.collect()
		}
	}()
	return r
}

// Fork runs start, which forks one child and gives its pid. The channel closes when the child was reaped.
func (r *Reaper) Fork(start func() (int, error)) (int, <-chan struct{}, error) {
	r.gate.RLock()
	defer r.gate.RUnlock()
	r.mu.Lock()
	r.forks++
	r.mu.Unlock()
	pid, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	if err == nil {
		r.enter(pid, done)
	}
	if r.forks--; r.forks == 0 {
		clear(r.early)
	}
	return pid, done, err
}

func (r *Reaper) enter(pid int, done chan struct{}) {
	if _, gone := r.early[pid]; gone {
		delete(r.early, pid)
		close(done)
		return
	}
	r.known[pid] = done
}

func (r *Reaper) collect() {
	r.reap.Lock()
	defer r.reap.Unlock()
	r.collectAll()
}

func (r *Reaper) collectAll() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		r.settle(pid)
	}
}

func (r *Reaper) settle(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done, known := r.known[pid]; known {
		delete(r.known, pid)
		close(done)
	} else if r.forks > 0 {
		r.early[pid] = struct{}{}
	}
}

// Kill kills a child that was forked on purpose, unless it was reaped: its pid may be somebody else's then.
func (r *Reaper) Kill(pid int, reaped <-chan struct{}) {
	r.reap.Lock()
	defer r.reap.Unlock()
	select {
	case <-reaped:
	default:
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
