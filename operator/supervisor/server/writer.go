package server

import (
	"io"
	"sync"
	"time"

	"toolcall-operator/supervisor/wire"
)

const (
	// payload is how much of one channel is sent before the next has its turn.
	payload = 32 << 10
	// batch is how much is put together before it is written: control frames that come up meanwhile wait for no more than this.
	batch = 64 << 10
	// backlog is how many answers may wait for a slow operator before no more of its requests are read.
	backlog = 1024
	// farewell is how long the last answers may take to leave.
	farewell = 2 * time.Second
)

// writer sends the frames of one connection. It pulls: answers first, then from the channels that have something, in turns. Output stays in the
// spools until it is sent, so a slow reader costs nothing and delays nobody else.
type writer struct {
	to io.Writer

	mu       sync.Mutex
	changed  *sync.Cond // broadcast after every change of the fields below
	answers  [][]byte
	ready    []*channel
	broken   bool // nothing can be sent any more
	ending   bool // what waits is sent, and nothing more
	finished chan struct{}
}

func newWriter(to io.Writer) *writer {
	w := &writer{to: to, finished: make(chan struct{})}
	w.changed = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// answer queues a control frame.
func (w *writer) answer(answer any) {
	frame := wire.AppendAnswer(nil, answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, frame)
	w.changed.Broadcast()
}

// admit waits until few enough answers wait, and says whether it is worth reading on.
func (w *writer) admit() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.answers) >= backlog && !w.broken {
		w.changed.Wait()
	}
	return !w.broken
}

// offer puts a channel in line that may have something to send.
func (w *writer) offer(c *channel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offerLocked(c)
}

func (w *writer) offerLocked(c *channel) {
	if !c.queued && !c.closed && c.call != nil {
		c.queued = true
		w.ready = append(w.ready, c)
		w.changed.Broadcast()
	}
}

// finish sends what waits, as far as the peer takes it in time.
func (w *writer) finish() {
	w.mu.Lock()
	w.ending = true
	w.changed.Broadcast()
	w.mu.Unlock()
	select {
	case <-w.finished:
	case <-time.After(farewell):
	}
}

func (w *writer) run() {
	defer close(w.finished)
	buffer := make([]byte, 0, batch+payload+wire.DataOverhead)
	for w.wait() {
		buffer = w.fill(buffer[:0])
		if len(buffer) == 0 {
			continue
		}
		if _, err := w.to.Write(buffer); err != nil {
			w.fail()
			return
		}
		if cap(buffer) > 2*(batch+payload) { // One answer was huge; its memory is not kept.
			buffer = make([]byte, 0, batch+payload+wire.DataOverhead)
		}
	}
}

// wait blocks until there may be something to send; false at the end.
func (w *writer) wait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.answers) == 0 && len(w.ready) == 0 && !w.ending && !w.broken {
		w.changed.Wait()
	}
	return len(w.answers) > 0 || (len(w.ready) > 0 && !w.ending)
}

func (w *writer) fail() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = true
	w.changed.Broadcast()
}

// fill gathers frames for one write.
func (w *writer) fill(buffer []byte) []byte {
	for len(buffer) < batch {
		var c *channel
		if buffer, c = w.next(buffer); c == nil {
			break
		}
		buffer = c.fill(buffer)
	}
	return buffer
}

// next appends the answers that wait, and takes the channel whose turn it is.
func (w *writer) next(buffer []byte) ([]byte, *channel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, frame := range w.answers {
		buffer = append(buffer, frame...)
	}
	w.answers = nil
	w.changed.Broadcast()
	if len(w.ready) == 0 || w.ending {
		return buffer, nil
	}
	c := w.ready[0]
	w.ready = w.ready[1:]
	c.queued = false
	return buffer, c
}
