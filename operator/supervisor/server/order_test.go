package server

import (
	"fmt"
	"strings"
	"testing"

	"toolcall-operator/supervisor/wire"
)

// together sends control frames in one write.
func (o *operator) together(messages ...string) {
	o.t.Helper()
	var frames []byte
	for _, m := range messages {
		frames = wire.AppendControl(frames, []byte(m))
	}
	o.raw(frames)
}

// inAnyOrder expects one message for each of the texts: what waits for a shim is answered later than what does not.
func (o *operator) inAnyOrder(texts ...string) {
	o.t.Helper()
	var got []string
	for range texts {
		got = append(got, o.receive().String())
	}
	for _, text := range texts {
		if !strings.Contains(strings.Join(got, "\n"), text) {
			o.t.Fatalf("%s is not in %v", text, got)
		}
	}
}

const longGrace = `{"type":"start","channel":%d,"uid":%q,"argv":["sleep","60"],"env":{},"stdinSize":0,"timeoutMs":60000,"graceMs":60000,` +
	`"outputBytes":0,"pids":50,"stdoutOffset":0,"stderrOffset":0,"window":0}`

func TestAKillThatComesWithTheStartFindsTheCallAndEndsIt(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	for n := range 30 {
		uid := fmt.Sprintf("call-%d", n)
		o.together(fmt.Sprintf(longGrace, 1, uid), fmt.Sprintf(`{"type":"kill","id":1,"uid":%q}`, uid))
		o.inAnyOrder(`"killing"`, `"started"`)
		o.expect(`"exit"`, `"cause":"Killed"`, `"code":null`)
	}
}

func TestTheRequestsOfAConnectionAreCarriedOutInTheOrderTheyCame(t *testing.T) {
	o := greeted(t, newServer(t), 0)
	o.together(
		fmt.Sprintf(longGrace, 1, "a"),
		`{"type":"list","id":1}`,
		`{"type":"acknowledge","id":2,"uid":"a"}`,
		`{"type":"attach","channel":2,"uid":"a","stdoutOffset":0,"stderrOffset":0,"window":0}`,
	)
	o.inAnyOrder(
		`{"calls":[{"state":"Running","uid":"a"}],"id":1,"type":"calls"}`, wire.StillRunning,
		`{"attached":false,"channel":1,"type":"started"}`, `{"attached":true,"channel":2,"type":"started"}`,
	)
}
