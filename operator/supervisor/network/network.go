// Package network finds out whether a sandbox is shut off from the addresses it must not reach.
package network

import (
	"net/netip"
	"sync"
	"time"
)

// What is known of the network of a sandbox, as its hello tells it.
const (
	Blocked = "Blocked" // no address could be reached, twice in a row, and none since
	Open    = "Open"    // an address could be reached until the patience was over, or again since
)

// pace is how a watch looks.
type pace struct {
	patience time.Duration // until the first verdict, from the start of the watch
	between  time.Duration // from one look to the next
	seldom   time.Duration // the same once there is a verdict, and the look before agreed with it
	dial     func(netip.AddrPort) bool
}

const (
	between = 200 * time.Millisecond
	seldom  = 5 * time.Second
	// inARow is how many looks must find nothing in reach: one may have met a lost packet, or a policy that is just being written.
	inARow = 2
)

// Watch looks from its start for as long as the process lives: what shuts a network off can be taken away. A nil Watch has nothing to look for.
type Watch struct {
	addresses []netip.AddrPort
	pace      pace
	decided   chan struct{} // closed with the first verdict

	mu      sync.Mutex
	verdict string         // "" before the first
	reached netip.AddrPort // the last that could be
}

// Start begins to look for the addresses, and gives itself so long for its first verdict. Without addresses the Watch is nil.
func Start(addresses []netip.AddrPort, patience time.Duration) *Watch {
	return begin(addresses, pace{patience, between, seldom, isReachable})
}

func begin(addresses []netip.AddrPort, p pace) *Watch {
	if len(addresses) == 0 {
		return nil
	}
	w := &Watch{addresses: addresses, pace: p, decided: make(chan struct{})}
	time.AfterFunc(p.patience, w.giveUp)
	go w.look()
	return w
}

// Await gives the verdict of this moment, and waits for the first one; "" where there is nothing to look for.
func (w *Watch) Await() string {
	if w == nil {
		return ""
	}
	<-w.decided
	verdict, _ := w.known()
	return verdict
}

// Objection is why no call may start, "" when one may.
func (w *Watch) Objection() string {
	if w == nil {
		return ""
	}
	switch verdict, reached := w.known(); {
	case verdict == Blocked:
		return ""
	case verdict == Open && reached.IsValid():
		return "the network of the sandbox is not blocked: " + reached.String() + " can be reached"
	}
	return "the network of the sandbox was not seen to be blocked yet"
}

func (w *Watch) known() (verdict string, reached netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.verdict, w.reached
}

// look goes on for ever, and counts the looks in a row that reached nothing.
func (w *Watch) look() {
	for blocked := 0; ; {
		if address, found := w.round(); found {
			w.note(address)
			blocked = 0
		} else if blocked++; blocked >= inARow {
			w.block()
		}
		time.Sleep(w.pause(blocked))
	}
}

// pause is how long the next look waits, after so many that reached nothing.
func (w *Watch) pause(blocked int) time.Duration {
	if verdict, _ := w.known(); verdict == Blocked || verdict == Open && blocked == 0 {
		return w.pace.seldom
	}
	return w.pace.between
}

// round tries every address at once, and names one that can be reached.
func (w *Watch) round() (netip.AddrPort, bool) {
	reached := make(chan netip.AddrPort, len(w.addresses))
	var tries sync.WaitGroup
	for _, address := range w.addresses {
		tries.Go(func() {
			if w.pace.dial(address) {
				reached <- address
			}
		})
	}
	tries.Wait()
	select {
	case address := <-reached:
		return address, true
	default:
		return netip.AddrPort{}, false
	}
}

// note records an address that was reached. A blocked network is open again at once: a connection that came about is no accident.
func (w *Watch) note(address netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = address
	if w.verdict == Blocked {
		w.say(Open)
	}
}

// giveUp makes Open the first verdict, if there is none when the patience is over.
func (w *Watch) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.verdict == "" {
		w.say(Open)
	}
}

func (w *Watch) block() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say(Blocked)
}

// say records a verdict, and lets go whoever waits for the first. It is called with the lock held.
func (w *Watch) say(verdict string) {
	if w.verdict == "" {
		close(w.decided)
	}
	w.verdict = verdict
}
