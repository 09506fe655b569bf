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

// pause is how long the second look waited after the first.
func (l *looks) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.started[1].Sub(l.started[0])
}

// becomes waits until the verdict is this one.
func becomes(t *testing.T, w *Watch, verdict string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); w.Await() != verdict; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it stays %q", w.Await())
		}
	}
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
		if pause := l.pause(); pause < 10*time.Millisecond {
			t.Errorf("%s: the second look came %s after the first", name, pause)
		}
	}
}

func TestAfterItItIsLookedForSeldom(t *testing.T) {
	w, l := watch(20*time.Millisecond, never)
	w.Await()
	before := l.seen()
	time.Sleep(200 * time.Millisecond)
	if looks := l.seen() - before; w.Await() != Blocked || w.Objection() != "" || looks < 1 || looks > 5 {
		t.Errorf("%q, %q, after %d looks in 200 ms", w.Await(), w.Objection(), looks)
	}
}

func TestABlockedNetworkThatOpensIsOpenAtTheFirstLookAndMayBeBlockedAgain(t *testing.T) {
	var open atomic.Bool
	w, l := watch(20*time.Millisecond, func(int) bool { return open.Load() })
	for range 2 {
		becomes(t, w, Blocked)
		if why := w.Objection(); why != "" {
			t.Errorf("the objection to a blocked network is %q", why)
		}
		before := l.seen()
		open.Store(true)
		becomes(t, w, Open)
		if looks := l.seen() - before; looks > 2 {
			t.Errorf("it took %d looks", looks)
		}
		if why := w.Objection(); !strings.Contains(why, anywhere[1].String()) {
			t.Errorf("the objection is %q", why)
		}
		open.Store(false)
	}
	becomes(t, w, Blocked)
}

func TestTheEndOfThePatienceSaysNothingOfANetworkThatIsBlocked(t *testing.T) {
	w, _ := watch(20*time.Millisecond, never)
	w.Await()
	time.Sleep(40 * time.Millisecond)
	if verdict := w.Await(); verdict != Blocked {
		t.Errorf("it is %q", verdict)
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
	becomes(t, w, Blocked)
}

func TestWithoutAddressesThereIsNothingToWaitForAndNoObjection(t *testing.T) {
	if w := Start(nil, time.Hour); w.Await() != "" || w.Objection() != "" {
		t.Errorf("%q, %q", w.Await(), w.Objection())
	}
}
