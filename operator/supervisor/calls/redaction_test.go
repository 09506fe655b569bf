package calls

import (
	"strings"
	"testing"

	"toolcall-operator/supervisor/wire"
)

const printed = "ghp_/+NoSecretAtAll"

// printing is a start of a call that is given the token.
func printing(script string) wire.Start {
	r := sh(script)
	r.Credentials = &wire.Credentials{Env: map[string]string{"TOKEN": printed}, Redacted: true, Workspace: wire.WorkspaceShared}
	return r
}

func TestWhatACallWasGivenIsReplacedInAllItWrites(t *testing.T) {
	s := newSandbox(t)
	c, exit := s.run(printing(`echo "out $TOKEN"; echo "err $TOKEN" >&2; printf %s "$TOKEN" | base64; printf ghp_; sleep 0.1; printf "/+NoSecretAtAll"; printf ghp_`))

	if got := s.text(c, wire.Stdout); !strings.HasPrefix(got, "out [redacted]\n[redacted]") || !strings.HasSuffix(got, "\n[redacted]ghp_") || strings.Contains(got, "NoSecret") {
		t.Errorf("stdout is %q", got)
	}
	if got := s.text(c, wire.Stderr); got != "err [redacted]\n" {
		t.Errorf("stderr is %q", got)
	}
	if stored := int64(len(s.text(c, wire.Stdout))); exit.Stdout != (wire.Output{Size: stored, Stored: stored}) {
		t.Errorf("the exit says %+v of %d bytes", exit.Stdout, stored)
	}
}

func TestWhatOneCallWasGivenNoOtherWritesNeitherOneThatRanBefore(t *testing.T) {
	s := newSandbox(t)
	reads, early := sh("cat "+s.workspace+"/left"), s.start(sh("while ! test -e "+s.workspace+"/done; do sleep 0.01; done; cat "+s.workspace+"/left"))
	s.run(printing("printf %s \"$TOKEN\" > " + s.workspace + "/left; touch " + s.workspace + "/done"))

	late, _ := s.run(reads)
	s.end(early)
	for name, c := range map[string]*Call{"early": early, "late": late} {
		if got := s.text(c, wire.Stdout); got != "[redacted]" {
			t.Errorf("%s wrote %q", name, got)
		}
	}
}

func TestTheLimitIsOfWhatIsShown(t *testing.T) {
	s := newSandbox(t)
	r := printing(`printf "ab$TOKEN$TOKEN"`)
	r.OutputBytes = 5
	c, exit := s.run(r)

	if got := s.text(c, wire.Stdout); got != "ab[re" || exit.Stdout != (wire.Output{Size: 22, Stored: 5}) {
		t.Errorf("kept %q of %+v", got, exit.Stdout)
	}
}
