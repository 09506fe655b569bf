// Package network finds out whether a sandbox is shut off from the addresses it must not reach.
package network

import (
	"net/netip"
	"sync"
	"time"
)

// What is known of the network of a sandbox, as its hello tells it.
const (
	Blocked = "Blocked" // no address could be reached, twice in a row
	Open    = "Open"    // an address could be reached until the patience was over
)

// pace is how a watch looks.
type pace struct {
	patience time.Duration // until the first verdict, from the start of the watch
	between  time.Duration // from one look to the next
	seldom   time.Duration // the same when the patience is over
	dial     func(netip.AddrPort) bool
}

const (
	between = 200 * time.Millisecond
	seldom  = 5 * time.Second
	// inARow is how many looks must find nothing in reach: one may have met a lost packet, or a policy that is just being written.
	inARow = 2
)

// Watch looks from its start until the network is blocked. A nil Watch has nothing to look for.
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
	time.AfterFunc(p.patience, func() { w.decide(Open) })
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

// look goes on until the network is blocked.
func (w *Watch) look() {
	for blocked := 0; ; {
		address, found := w.round()
		if found {
			w.note(address)
			blocked = 0
		} else if blocked++; blocked == inARow {
			w.decide(Blocked)
			return
		}
		time.Sleep(w.pause(found))
	}
}

// pause is how long the next look waits. Nobody waits for a network that was found open when the patience was over.
func (w *Watch) pause(found bool) time.Duration {
	if verdict, _ := w.known(); found && verdict == Open {
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

func (w *Watch) note(address netip.AddrPort) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = address
}

// decide records a verdict. Blocked is the last one: nothing is looked for after it.
func (w *Watch) decide(verdict string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.verdict == Blocked {
		return
	}
	if w.verdict == "" {
		defer close(w.decided)
	}
	w.verdict = verdict
}
