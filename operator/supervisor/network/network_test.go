package network

import (
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var anywhere = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:443"), netip.MustParseAddrPort("[2001:db8::1]:80")}

// looks is a network in which the second address of anywhere can be reached as long as a look says so.
type looks struct {
	mu      sync.Mutex
	open    func(look int) bool
	count   int
	started []time.Time
}

func (l *looks) dial(address netip.AddrPort) bool {
	if address != anywhere[1] {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.started = append(l.started, time.Now())
	return l.open(l.count)
}

func (l *looks) seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

func watch(patience time.Duration, open func(look int) bool) (*Watch, *looks) {
	l := &looks{open: open}
	return begin(anywhere, pace{patience, 10 * time.Millisecond, 50 * time.Millisecond, l.dial}), l
}

func always(int) bool { return true }

func never(int) bool { return false }

func TestTheNetworkIsBlockedWhenTwoLooksInARowReachNothing(t *testing.T) {
	for name, row := range map[string]struct {
		open  func(look int) bool
		looks int
	}{
		"from the start":      {never, 2},
		"after a while":       {func(look int) bool { return look <= 3 }, 5},
		"one look met a loss": {func(look int) bool { return look != 2 && look <= 4 }, 6},
	} {
		w, l := watch(time.Minute, row.open)
		if verdict := w.Await(); verdict != Blocked || l.seen() != row.looks || w.Objection() != "" {
			t.Errorf("%s: %q after %d looks, %q", name, verdict, l.seen(), w.Objection())
		}
		if pause := l.started[1].Sub(l.started[0]); pause < 10*time.Millisecond {
			t.Errorf("%s: the second look came %s after the first", name, pause)
		}
	}
}

func TestAfterItItIsNotLookedForAnyMore(t *testing.T) {
	w, l := watch(20*time.Millisecond, never)
	w.Await()
	time.Sleep(100 * time.Millisecond)
	if w.Await() != Blocked || l.seen() != inARow {
		t.Errorf("%q after %d looks", w.Await(), l.seen())
	}
}

func TestANetworkThatIsOpenUntilThePatienceIsOverIsOpenAndNamesTheAddress(t *testing.T) {
	begun := time.Now()
	w, _ := watch(100*time.Millisecond, always)
	if w.Objection() == "" {
		t.Error("there is no objection while nothing is known")
	}
	if verdict := w.Await(); verdict != Open || time.Since(begun) < 100*time.Millisecond {
		t.Errorf("%q after %s", verdict, time.Since(begun))
	}
	if why := w.Objection(); !strings.Contains(why, anywhere[1].String()) {
		t.Errorf("the objection is %q", why)
	}
}

func TestAnOpenNetworkMayBeBlockedLater(t *testing.T) {
	var closed atomic.Bool
	w, l := watch(30*time.Millisecond, func(int) bool { return !closed.Load() })
	if verdict := w.Await(); verdict != Open {
		t.Fatalf("it is %q", verdict)
	}
	before := l.seen()
	time.Sleep(200 * time.Millisecond)
	if looks := l.seen() - before; looks > 5 {
		t.Errorf("%d looks in 200 ms", looks)
	}
	closed.Store(true)
	for end := time.Now().Add(5 * time.Second); w.Await() != Blocked; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it stays %q", w.Await())
		}
	}
}

func TestWithoutAddressesThereIsNothingToWaitForAndNoObjection(t *testing.T) {
	if w := Start(nil, time.Hour); w.Await() != "" || w.Objection() != "" {
		t.Errorf("%q, %q", w.Await(), w.Objection())
	}
}
