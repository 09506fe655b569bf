package server

import (
	"testing"

	"toolcall-operator/supervisor/wire"
)

func TestTheSupervisorSaysWhoItIs(t *testing.T) {
	o := dial(t, newServer(t))
	o.send(`{"type":"hello","versions":[2,1],"key":"%x","epoch":0,"client":"test"}`, theKey)
	o.expect(`"bootID":"boot"`, `"version":1`, `"landlockABI":7`, `"isolation":"Landlock"`, `"supervisor":"0"`)
}

func TestAWrongKeyAVersionOrAFirstWordIsRefusedAndTheConnectionClosed(t *testing.T) {
	s := newServer(t)
	for name, row := range map[string]struct{ hello, code string }{
		"another key":     {`{"type":"hello","versions":[1],"key":"00","epoch":9,"client":"test"}`, wire.BadKey},
		"a later version": {`{"type":"hello","versions":[2],"key":"6b6579206f66207468652074657374","epoch":0,"client":"test"}`, wire.VersionMismatch},
		"no hello":        {`{"type":"ping","id":1}`, wire.ProtocolError},
		"half a hello":    {`{"type":"hello","versions":[1]}`, wire.ProtocolError},
	} {
		o := dial(t, s)
		o.send("%s", row.hello)
		if m := o.receive(); m["type"] != "refused" || m["code"] != row.code {
			t.Errorf("%s: %s", name, m)
		}
		if m := o.receive(); m != nil {
			t.Errorf("%s: then %s", name, m)
		}
	}
	if s.leaders.epoch != 0 {
		t.Error("the epoch of a stranger counts")
	}
}

func TestABreachOfTheProtocolEndsTheConnectionAndNotTheCalls(t *testing.T) {
	s := newServer(t)
	for name, bytes := range map[string][]byte{
		"an unknown kind":    append(length(2), 9, 0),
		"a length of 0":      length(0),
		"an unknown type":    wire.AppendControl(nil, []byte(`{"type":"stop","id":1}`)),
		"an unknown field":   wire.AppendControl(nil, []byte(`{"type":"ping","id":1,"x":1}`)),
		"a second hello":     wire.AppendControl(nil, []byte(`{"type":"hello","versions":[1],"key":"00","epoch":0,"client":""}`)),
		"data of an output":  wire.AppendData(nil, 1, wire.Stdout, 0, []byte("x")),
		"stdin with a gap":   wire.AppendData(nil, 1, wire.Stdin, 1, []byte("x")),
		"a huge control":     append(length(wire.MaxControl+2), byte(wire.Control)),
		"stdin beyond bound": append(length(14+65537), byte(wire.Data)),
	} {
		o := greeted(t, s, 0)
		o.start(1, "survivor", "sleep 60", usual())
		o.expect(`"started"`)
		o.raw(bytes)
		if m := o.receive(); m["type"] != "refused" || m["code"] != wire.ProtocolError {
			t.Errorf("%s: %s", name, m)
		}
		if m := o.receive(); m != nil {
			t.Errorf("%s: then %s", name, m)
		}
	}
	o := greeted(t, s, 0)
	o.send(`{"type":"list","id":1}`)
	o.expect(`{"state":"Running","uid":"survivor"}`)
}

func TestAnOlderLeaderMayLookAndNotTouch(t *testing.T) {
	s := newServer(t)
	old := greeted(t, s, 3)
	old.start(1, "a", "sleep 60", usual())
	old.expect(`"started"`)
	greeted(t, s, 4)
	for _, request := range []string{
		`{"type":"kill","id":7,"uid":"a"}`,
		`{"type":"acknowledge","id":7,"uid":"a"}`,
	} {
		old.send("%s", request)
		old.expect(`"id":7`, wire.StaleEpoch)
	}
	old.start(2, "b", "true", usual())
	old.expect(`"channel":2`, wire.StaleEpoch)
	old.attach(3, "a", 0, 0, 100)
	old.expect(`"started"`, `"channel":3`)
}

func TestEveryRequestIsAnswered(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	for _, row := range []struct{ request, answer string }{
		{`{"type":"ping","id":9007199254740991}`, `{"id":9007199254740991,"type":"pong"}`},
		{`{"type":"list","id":2}`, `{"calls":[],"id":2,"type":"calls"}`},
		{`{"type":"kill","id":3,"uid":"x"}`, wire.UnknownCall},
		{`{"type":"acknowledge","id":4,"uid":"x"}`, wire.UnknownCall},
		{`{"type":"attach","channel":5,"uid":"x","stdoutOffset":0,"stderrOffset":0,"window":0}`, wire.UnknownCall},
		{`{"type":"detach","channel":6}`, `{"channel":6,"type":"detached"}`},
		{`{"type":"credit","channel":7,"bytes":0}`, wire.BadField},
		{`{"type":"ping","id":8,"uid":null}`, wire.ProtocolError},
	} {
		o.send("%s", row.request)
		o.expect(row.answer)
	}
}
