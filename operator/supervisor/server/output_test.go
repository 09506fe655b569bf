package server

import (
	"strings"
	"testing"
	"time"

	"toolcall-operator/supervisor/wire"
)

func TestACallShowsItsOutputAndThenItsExit(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.start(1, "a", "printf out; printf err >&2; exit 3", usual())
	o.expect(`{"attached":false,"channel":1,"type":"started"}`)
	stdout, stderr, exit := o.until(1)
	if stdout != "out" || stderr != "err" {
		t.Errorf("%q, %q", stdout, stderr)
	}
	for _, text := range []string{`"cause":"Exited"`, `"code":3`, `"signal":null`, `"error":null`, `"step":null`, `"stdout":{"size":3,"stored":3}`} {
		if !strings.Contains(exit.String(), text) {
			t.Errorf("%s is not in %s", text, exit)
		}
	}
}

func TestStandardInputComesBeforeTheStart(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	big := strings.Repeat("0123456789abcdef", 4096)
	for i := range 80 {
		o.stdin(1, int64(i*len(big)), big)
	}
	with := usual()
	with.stdin = 80 * len(big)
	o.start(1, "a", "md5sum; wc -c </dev/stdin", with)
	o.expect(`"started"`)
	stdout, _, _ := o.until(1)
	if lines := strings.Fields(stdout); len(lines) != 3 || lines[2] != "5242880" {
		t.Errorf("got %q", stdout)
	}
}

func TestAStartWhoseInputHasAnotherSizeIsRefusedAndLeavesNoInput(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.stdin(1, 0, "abc")
	with := usual()
	with.stdin = 4
	o.start(1, "a", "cat", with)
	o.expect(`"refused"`, wire.BadField, "stdinSize")
	o.start(1, "a", "cat", with)
	o.expect(`"refused"`, wire.BadField, "stdinSize")
	o.stdin(1, 0, "abcd")
	o.start(1, "a", "cat", with)
	o.expect(`"started"`)
	if stdout, _, _ := o.until(1); stdout != "abcd" {
		t.Errorf("got %q", stdout)
	}
}

func TestOutputBeyondTheBoundIsCountedAndNotSent(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	with := usual()
	with.outputBytes = 5
	o.start(1, "a", "printf 0123456789", with)
	o.expect(`"started"`)
	stdout, _, exit := o.until(1)
	if stdout != "01234" || !strings.Contains(exit.String(), `"stdout":{"size":10,"stored":5}`) {
		t.Errorf("%q, %s", stdout, exit)
	}
}

func TestWhoeverComesBackGoesOnWhereItStopped(t *testing.T) {
	s := newServer(t)
	first := greeted(t, s, 0)
	first.start(1, "a", "printf 0123456789; printf abcdef >&2; sleep 0.3; printf ABC", usual())
	first.expect(`"started"`)
	first.receive()
	_ = first.conn.Close()
	again := greeted(t, s, 0)
	again.attach(4, "a", 7, 6, 1000)
	again.expect(`{"attached":true,"channel":4,"type":"started"}`)
	stdout, stderr, _ := again.until(4)
	if stdout != "789ABC" || stderr != "" {
		t.Errorf("%q, %q", stdout, stderr)
	}
	again.start(4, "a", "echo not again", usual())
	again.expect(`"attached":true`)
	if stdout, stderr, _ := again.until(4); stdout != "0123456789ABC" || stderr != "abcdef" {
		t.Errorf("%q, %q", stdout, stderr)
	}
}

func TestSeveralConnectionsWatchOneCall(t *testing.T) {
	s := newServer(t)
	starter := greeted(t, s, 0)
	starter.start(1, "a", "for i in 1 2 3 4 5; do echo $i; sleep 0.05; done", usual())
	starter.expect(`"started"`)
	var watchers []*operator
	for range 3 {
		w := greeted(t, s, 0)
		w.attach(1, "a", 0, 0, 1000)
		watchers = append(watchers, w)
	}
	for _, w := range append(watchers, starter) {
		if stdout, _, _ := w.until(1); stdout != "1\n2\n3\n4\n5\n" {
			t.Errorf("got %q", stdout)
		}
	}
}

func TestNoMoreIsSentThanTheWindowAndCreditAllow(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	with := usual()
	with.window = 10
	o.start(1, "a", "printf 0123456789abcdefghij; printf E >&2", with)
	o.expect(`"started"`)
	got := ""
	take := func(bytes int) {
		for bytes > 0 {
			m := o.receive()
			if m["type"] != "data" {
				t.Fatalf("got %s", m)
			}
			got += m["text"].(string)
			bytes -= len(m["text"].(string))
		}
		if bytes < 0 {
			t.Fatalf("%d bytes too many", -bytes)
		}
	}
	take(10)
	o.send(`{"type":"ping","id":1}`)
	o.expect(`"pong"`) // Nothing came meanwhile, and the exit waits too.
	o.send(`{"type":"credit","channel":1,"bytes":4}`)
	take(4)
	o.send(`{"type":"ping","id":2}`)
	o.expect(`"pong"`)
	o.send(`{"type":"credit","channel":1,"bytes":100}`)
	take(7)
	o.expect(`"exit"`)
	if strings.ReplaceAll(got, "E", "") != "0123456789abcdefghij" || strings.Count(got, "E") != 1 {
		t.Errorf("got %q", got)
	}
	o.send(`{"type":"credit","channel":1,"bytes":100}`) // Crossed with the exit: no offence.
	o.send(`{"type":"ping","id":3}`)
	o.expect(`"pong"`)
}

func TestAControlFrameOvertakesOutputThatWaits(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	with := usual()
	with.window = 16 << 20
	with.outputBytes = 8 << 20
	o.start(1, "a", "head -c 8000000 /dev/zero; sleep 60", with)
	o.expect(`"started"`)
	time.Sleep(300 * time.Millisecond) // All of it is stored, and waits for a reader that does not read.
	o.send(`{"type":"ping","id":1}`)
	time.Sleep(50 * time.Millisecond) // Its answer waits now, beside the output.
	before := 0
	for m := o.receive(); m["type"] != "pong"; m = o.receive() {
		before += len(m["text"].(string))
	}
	if before > 4*batch { // What was under way: of 8 MB, a pipeful.
		t.Errorf("%d bytes came before the answer", before)
	}
}

func TestChannelsTakeTurns(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	with := usual()
	with.window = 16 << 20
	with.outputBytes = 8 << 20
	o.start(1, "big", "head -c 8000000 /dev/zero; sleep 60", with)
	o.expect(`"started"`)
	o.start(2, "small", "printf x", with)
	time.Sleep(500 * time.Millisecond) // Both have written all they write, and nobody has read it.
	before := 0
	for m := o.receive(); m["type"] != "exit"; m = o.receive() {
		if m["channel"] == 1 {
			before += len(m["text"].(string))
		}
	}
	if before > 6*batch {
		t.Errorf("the small call waited for %d bytes of the big one", before)
	}
}

func TestAReaderThatIsStuckDelaysNobodyElse(t *testing.T) {
	s := newServer(t)
	stuck := greeted(t, s, 0)
	with := usual()
	with.window = 16 << 20
	stuck.start(1, "a", "head -c 1000000 /dev/zero", with)
	other := greeted(t, s, 0)
	began := time.Now()
	for i := range 20 {
		uid := "b" + string(rune('a'+i))
		other.start(1, uid, "printf x", usual())
		other.expect(`"started"`)
		if stdout, _, _ := other.until(1); stdout != "x" {
			t.Errorf("got %q", stdout)
		}
	}
	other.attach(2, "a", 999999, 0, 10)
	other.expect(`"started"`)
	other.until(2)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestADetachedChannelIsSilentAndItsNumberFree(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.start(1, "a", "while :; do echo x; sleep 0.01; done", usual())
	o.expect(`"started"`)
	o.expect(`"data"`)
	o.send(`{"type":"detach","channel":1}`)
	for m := o.receive(); m["type"] != "detached"; m = o.receive() {
		if m["type"] != "data" {
			t.Fatalf("got %s", m)
		}
	}
	time.Sleep(50 * time.Millisecond)
	o.send(`{"type":"ping","id":1}`)
	o.expect(`"pong"`)
	o.attach(1, "a", 0, 0, 2)
	o.expect(`"started"`)
	o.expect(`"data"`, `"offset":0`, `"text":"x\n"`)
}

func TestAChannelInUseIsRefused(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.start(1, "a", "sleep 60", usual())
	o.expect(`"started"`)
	o.start(1, "b", "true", usual())
	o.expect(`"refused"`, wire.BadField, "channel")
	o.send(`{"type":"list","id":1}`)
	if m := o.expect(`"calls"`); strings.Contains(m.String(), `"b"`) {
		t.Errorf("it is known: %s", m)
	}
}

func TestAKilledCallEndsAndIsAcknowledged(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.start(1, "a", "sleep 60", usual())
	o.expect(`"started"`)
	o.send(`{"type":"acknowledge","id":1,"uid":"a"}`)
	o.expect(wire.StillRunning)
	o.send(`{"type":"kill","id":2,"uid":"a"}`)
	o.expect(`{"id":2,"type":"killing"}`)
	if _, _, exit := o.until(1); exit["cause"] != wire.CauseKilled || exit["code"] != nil {
		t.Errorf("got %s", exit)
	}
	o.send(`{"type":"kill","id":3,"uid":"a"}`)
	o.expect(`"killing"`)
	for id := 4; id < 6; id++ {
		o.send(`{"type":"acknowledge","id":%d,"uid":"a"}`, id)
		o.expect(`"acknowledged"`)
	}
	o.start(1, "a", "true", usual())
	o.expect(`"channel":1`, wire.AcknowledgedCall)
	o.attach(1, "a", 0, 0, 1)
	o.expect(`"channel":1`, wire.AcknowledgedCall)
	o.send(`{"type":"list","id":6}`)
	o.expect(`{"state":"Acknowledged","uid":"a"}`)
}

func TestTheEndOfAConnectionDoesNotEndItsCalls(t *testing.T) {
	s := newServer(t)
	o := greeted(t, s, 0)
	o.start(1, "a", "sleep 0.2; printf done", usual())
	_ = o.conn.Close()
	<-o.served
	again := greeted(t, s, 0)
	again.start(1, "a", "printf twice", usual())
	again.expect(`"started"`)
	if stdout, _, _ := again.until(1); stdout != "done" && stdout != "twice" {
		t.Errorf("got %q", stdout)
	}
}

func TestManyCallsAtOnceEachShowExactlyTheirOwnOutput(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	const many = 100
	go func() {
		for i := range many {
			o.start(i+1, "call-"+number(i), "printf "+number(i), usual())
		}
	}()
	texts := map[int]string{}
	for exits := 0; exits < many; {
		m := o.receive()
		switch m["type"] {
		case "data":
			texts[m["channel"].(int)] += m["text"].(string)
		case "exit":
			exits++
		}
	}
	for i := range many {
		if texts[i+1] != number(i) {
			t.Errorf("channel %d: %q", i+1, texts[i+1])
		}
	}
}

func number(i int) string {
	return strings.Repeat("7", i%5) + string(rune('a'+i%26)) + strings.Repeat("x", i)
}
