package calls

import (
	"fmt"
	"sync"
	"time"

	"toolcall-operator/supervisor/internal/cgroup"
	"toolcall-operator/supervisor/internal/proctree"
)

const (
	// leftTasks is how many processes and threads must be left when a call starts: for the shims and the supervisor that are to end the call that took
	// all others. Of a small group it is a quarter.
	leftTasks = 64
	// growth is how many a start adds in its first moments: the next spare shim has 8, and a tool that is a Go program as many on a larger machine.
	growth = 16
	// growing is how long these moments are where many calls start at once; after them a call is seen for what it has.
	growing = 500 * time.Millisecond
	// roomWithin is how long a call waits for it: as a rule others were let in just before, and what they take is about to be known.
	roomWithin = time.Second
	// roomEvery is the pause between two looks.
	roomEvery = 20 * time.Millisecond
)

// room is what a call needs of the machine besides memory.
type room struct {
	pids  cgroup.Pids
	tasks int // how many processes and threads the sandbox may have as far as it was told; 0 when it was not

	mu    sync.Mutex
	young int // calls that were let in and may still grow
}

func newRoom(tasks int) *room { return &room{pids: cgroup.OwnPids(), tasks: tasks} }

// enter lets in one of so many calls, or says what there is too little of. left is called when that call is gone, and may be called again.
func (r *room) enter(calls int) (left func(), err error) {
	if err := checkFiles(calls); err != nil {
		return nil, err
	}
	for end := time.Now().Add(roomWithin); ; time.Sleep(roomEvery) {
		if left, err = r.tryEnter(); err == nil || time.Now().After(end) {
			return left, err
		}
	}
}

func (r *room) tryEnter() (left func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free, most := r.left()
	if free -= growth * r.young; free < reserve(most) {
		return nil, fmt.Errorf("the sandbox may have only %d processes and threads more", max(0, free))
	}
	r.young++
	left = sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.young--
	})
	time.AfterFunc(growing, left)
	return left, nil
}

// isNearlyFull reports whether half of what must be left at a start is used as well.
func (r *room) isNearlyFull() bool {
	left, most := r.left()
	return left < reserve(most)/2
}

// has reports whether there may be so many processes and threads more.
func (r *room) has(tasks int) bool {
	left, _ := r.left()
	return left >= tasks
}

func reserve(most int) int { return min(leftTasks, most/4) }

// left is how many processes and threads there may be more, and how many in all.
func (r *room) left() (left, most int) {
	left, most = r.pids.Left()
	if r.tasks == 0 {
		return left, most
	}
	if told := r.tasks - r.used(); told < left {
		return told, r.tasks
	}
	return left, most
}

// used is how many processes and threads the sandbox has: a container sees those of its control group, another sandbox those of its process namespace.
func (r *room) used() int {
	if used, ok := r.pids.Used(); ok {
		return used
	}
	used, _ := proctree.AllTasks() // Without /proc nothing here could be.
	return used
}
