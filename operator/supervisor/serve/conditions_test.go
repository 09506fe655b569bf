package serve

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestServeIsSilentUntilTheNetworkIsBlockedAndSaysSo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	o := run(t, self(t, flags(t.TempDir(), "--stdio", "--blocked", listener.Addr().String(), "--blocked", "127.0.0.1:1")...))
	begun := time.Now()
	time.AfterFunc(time.Second, func() { _ = listener.Close() })
	o.greet(`"network":"Blocked"`)
	if took := time.Since(begun); took < time.Second || took > 5*time.Second {
		t.Errorf("it was silent for %s", took)
	}
	o.start("a", "true")
}

func TestServeSaysThatTheNetworkIsOpenWhenItsPatienceIsOverAndStartsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address := listener.Addr().String()
	o := run(t, self(t, flags(t.TempDir(), "--stdio", "--blocked", address, "--blocked-patience", "1s")...))
	o.greet(`"network":"Open"`)
	o.ask(1, "a", "true")
	if got := o.next(); !strings.Contains(got, `"Unavailable"`) || !strings.Contains(got, address) {
		t.Errorf("got %q", got)
	}
}

func TestServeRefusesCallsWhenABlockedAddressAnswersLater(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	o := run(t, self(t, flags(t.TempDir(), "--stdio", "--blocked", address)...))
	o.greet(`"network":"Blocked"`)
	o.start("before", "true")
	_, _ = o.output()

	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if _, err := again.Accept(); err != nil { // serve looks
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // it learns of the connection a moment after we do
	o.ask(2, "after", "true")
	if got := o.next(); !strings.Contains(got, `"Unavailable"`) || !strings.Contains(got, address) {
		t.Errorf("got %q", got)
	}
}

func TestAServeThatMustNotReachNothingSaysNothingOfTheNetwork(t *testing.T) {
	o := run(t, self(t, flags(t.TempDir(), "--stdio")...))
	o.greet()
	if strings.Contains(o.greeting, "network") {
		t.Errorf("got %q", o.greeting)
	}
}

func TestWhatAllCallsWriteTogetherIsBounded(t *testing.T) {
	o := embedded(t, t.TempDir(), "--spool-bytes", "100000")
	o.start("first", "head -c 99000 /dev/zero")
	if text, exit := o.output(); len(text) != 98304 || !strings.Contains(exit, `"stdout":{"size":99000,"stored":98304}`) {
		t.Errorf("%d bytes, %s", len(text), exit)
	}
	o.start("second", "echo lost; exit 3")
	if text, exit := o.output(); text != "" || !strings.Contains(exit, `"code":3`) || !strings.Contains(exit, `"stdout":{"size":5,"stored":0}`) {
		t.Errorf("%q, %s", text, exit)
	}
	o.send(`{"type":"acknowledge","id":1,"uid":"first"}`)
	o.expect(`"acknowledged"`)
	o.start("third", "echo kept")
	if text, exit := o.output(); text != "kept\n" {
		t.Errorf("%q, %s", text, exit)
	}
}
