package server

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"toolcall-operator/supervisor/network"
	"toolcall-operator/supervisor/wire"
)

// listening is an address that can be reached until it is closed.
func listening(t *testing.T) (net.Listener, []netip.AddrPort) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener, []netip.AddrPort{netip.MustParseAddrPort(listener.Addr().String())}
}

func TestTheAnswerToHelloWaitsUntilTheNetworkIsBlockedAndThenCallsStart(t *testing.T) {
	s := newServer(t)
	listener, addresses := listening(t)
	s.network = network.Start(addresses, time.Minute)
	o := dial(t, s)
	o.send(`{"type":"hello","versions":[1],"key":"%x","epoch":0,"client":"test"}`, theKey)
	begun := time.Now()
	time.AfterFunc(300*time.Millisecond, func() { _ = listener.Close() })
	o.expect(`"network":"Blocked"`)
	if took := time.Since(begun); took < 300*time.Millisecond {
		t.Errorf("it was answered after %s", took)
	}
	o.start(1, "a", "true", usual())
	o.expect(`"started"`)
}

func TestARefusalOfAHelloWaitsForNothing(t *testing.T) {
	s := newServer(t)
	_, addresses := listening(t)
	s.network = network.Start(addresses, time.Minute)
	for _, row := range []struct{ hello, code string }{
		{`{"type":"hello","versions":[1],"key":"00","epoch":0,"client":"test"}`, wire.BadKey},
		{`{"type":"hello","versions":[2],"key":"6b6579206f66207468652074657374","epoch":0,"client":"test"}`, wire.VersionMismatch},
	} {
		o := dial(t, s)
		o.send("%s", row.hello)
		o.expect(`"refused"`, row.code)
	}
}

func TestWhileTheNetworkIsOpenHelloSaysSoAndNothingStarts(t *testing.T) {
	s := newServer(t)
	_, addresses := listening(t)
	s.network = network.Start(addresses, 100*time.Millisecond)
	o := dial(t, s)
	o.send(`{"type":"hello","versions":[1],"key":"%x","epoch":0,"client":"test"}`, theKey)
	o.expect(`"network":"Open"`)
	o.start(1, "a", "true", usual())
	o.expect(`"channel":1`, wire.Unavailable, addresses[0].String())
	for _, row := range []struct{ request, answer string }{
		{`{"type":"list","id":2}`, `{"calls":[],"id":2,"type":"calls"}`},
		{`{"type":"ping","id":3}`, `{"id":3,"type":"pong"}`},
	} {
		o.send("%s", row.request)
		o.expect(row.answer)
	}
}
