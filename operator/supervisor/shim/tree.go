package shim

import (
	"io"
	"sync"
	"syscall"
	"time"

	"toolcall-operator/supervisor/internal/proctree"
)

const (
	// watchEvery is how often the processes of a call are counted that is young, or has not few of them.
	watchEvery = 50 * time.Millisecond
	// seldom is how often those of any other: of calls that wait there may be many.
	seldom = 250 * time.Millisecond
	// young is how long a call is watched closely whatever it does.
	young = time.Second
	// killEvery is how often a kill is repeated until nobody is left. With a scope the first one does; a tool that was being started is met by the next.
	killEvery = 10 * time.Millisecond
)

// tree is the processes of one call.
type tree struct {
	killer killer        // set with the spec
	begun  chan struct{} // closed when the main process exists, or could not be made
	gone   chan struct{} // closed when no process is left
	once   sync.Once

	mu      sync.Mutex
	asked   bool
	tooMany bool
}

func newTree() *tree { return &tree{begun: make(chan struct{}), gone: make(chan struct{})} }

// obey carries out orders until the supervisor is gone; then the call ends at once.
func (t *tree) obey(orders io.Reader) {
	var order [1]byte
	for {
		_, err := orders.Read(order[:])
		switch {
		case err != nil || order[0] == Kill:
			t.mark(&t.asked)
			t.kill()
		default:
			go t.terminate() // Not waited for: a kill that follows may not wait.
		}
		if err != nil {
			return
		}
	}
}

// terminate waits for the main process: one that is not there yet would not hear it, and live through its whole grace.
func (t *tree) terminate() {
	<-t.begun
	t.mark(&t.asked)
	t.killer.terminate()
}

// watch kills the call when it has more processes than it may.
func (t *tree) watch(pids int) {
	next := time.NewTimer(watchEvery)
	defer next.Stop()
	for begun := time.Now(); ; {
		select {
		case <-t.gone:
			return
		case <-next.C:
		}
		count := len(descendants())
		if count > pids {
			t.mark(&t.tooMany)
			t.kill()
			return
		}
		next.Reset(nextLook(time.Since(begun), count, pids))
	}
}

// nextLook is the pause before the next count.
func nextLook(age time.Duration, count, pids int) time.Duration {
	if age < young || count > pids/4 {
		return watchEvery
	}
	return seldom
}

// reap waits for every process of the call, and kills what the main one leaves behind. A subreaper that has no child has no descendant either.
func (t *tree) reap(main int) Report {
	defer close(t.gone)
	var report Report
	mainEnded, killing := false, false
	for {
		options := 0
		if mainEnded && !killing {
			options = syscall.WNOHANG
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, options, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return report
		case pid == 0:
			killing = true
			t.kill()
		case status.Stopped():
			letGo(pid, status.StopSignal())
		case pid == main:
			mainEnded = true
			report = t.report(status)
			killing = report.Asked // Asked to end, the others have the same grace as the main process.
		}
	}
}

func (t *tree) report(status syscall.WaitStatus) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Report{Status: status, Asked: t.asked, TooMany: t.tooMany}
}

// kill goes on killing until nobody is left.
func (t *tree) kill() {
	t.once.Do(func() { go t.killUntilGone() })
}

func (t *tree) killUntilGone() {
	for {
		t.killer.kill()
		select {
		case <-t.gone:
			return
		case <-time.After(killEvery):
		}
	}
}

func (t *tree) mark(fact *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*fact = true
}

func descendants() []int {
	below, err := proctree.Descendants(syscall.Getpid())
	if err != nil {
		return nil
	}
	return below
}
