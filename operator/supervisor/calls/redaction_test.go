package calls

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/wire"
)

const printed = "ghp_/+NoSecretAtAll"

// printing is a start of a call that is given the token.
func printing(script string) wire.Start {
	r := sh(script)
	r.Credentials = &wire.Credentials{Env: map[string]string{"TOKEN": printed}, Redacted: true}
	return r
}

// spoolWithout is a spool whose stream does not show the token.
func spoolWithout(t *testing.T, limit int64) *spool {
	t.Helper()
	secrets := redact.NewSet()
	secrets.Add(printed)
	s := &spool{folder: openFolder(t, t.TempDir()), limit: limit, secrets: secrets.Stream()}
	t.Cleanup(s.close)
	return s
}

func (s *spool) text() string {
	p := make([]byte, 1000)
	n, _ := s.readAt(p, 0)
	return string(p[:n])
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

func TestACallWhoseOutputMustBeExactWritesWhatItWasGiven(t *testing.T) {
	s := newSandbox(t)
	r := printing(`printf %s "$TOKEN"`)
	r.Credentials.Redacted = false

	if c, _ := s.run(r); s.text(c, wire.Stdout) != printed {
		t.Errorf("it wrote %q", s.text(c, wire.Stdout))
	}
}

func TestOutputIsShownAtOnceButForWhatMayBecomeASecretAndThatAtTheEnd(t *testing.T) {
	s := newSandbox(t)
	c := s.start(printing(`printf 'Proceed? ghp_/+No'; exec sleep 60`))
	s.eventually("the prompt", func() bool { return s.text(c, wire.Stdout) == "Proceed? " })
	if err := s.Kill(c.UID()); err != nil {
		t.Fatal(err)
	}
	exit := s.end(c)

	if got := s.text(c, wire.Stdout); got != "Proceed? ghp_/+No" || exit.Stdout != (wire.Output{Size: 17, Stored: 17}) {
		t.Errorf("kept %q, %+v", got, exit.Stdout)
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

func TestASpoolKeepsTheHeadOfWhatIsShownWhereverItsLimitCuts(t *testing.T) {
	const shown = "a[redacted][redacted]\xffghp_/"
	for limit := range int64(len(shown) + 2) {
		for _, size := range []int{1, 3, len(printed), 100} {
			s := spoolWithout(t, limit)
			for text := "a" + printed + printed + "\xffghp_/"; text != ""; text = text[min(size, len(text)):] {
				s.write([]byte(text[:min(size, len(text))]))
			}
			s.finish()

			want := shown[:min(limit, int64(len(shown)))]
			if got := s.text(); got != want || s.output() != (wire.Output{Size: int64(len(shown)), Stored: int64(len(want))}) {
				t.Errorf("at most %d, in pieces of %d: kept %q, %+v", limit, size, got, s.output())
			}
		}
	}
}

func TestASpoolSaysWhetherThereIsMoreToReadOnlyWhenThereIs(t *testing.T) {
	s := spoolWithout(t, 13)
	for i, step := range []struct {
		kept, want bool
		shown      string
	}{
		{s.write([]byte("ghp_/+No")), false, ""},
		{s.write([]byte("SecretAtAll")), true, "[redacted]"},
		{s.write([]byte("ghp")), false, "[redacted]"},
		{s.finish(), true, "[redacted]ghp"},
		{s.finish(), false, "[redacted]ghp"},
		{s.write([]byte("more")), false, "[redacted]ghp"},
	} {
		if step.kept != step.want {
			t.Errorf("step %d: %v", i, step.kept)
		}
	}
	if got := s.text(); got != "[redacted]ghp" {
		t.Errorf("kept %q", got)
	}
}

func TestNothingOfASandboxShowsWhatItsCallsWereGiven(t *testing.T) {
	secrets := redact.NewSet()
	secrets.Add(printed)
	r := NewRegistry(Config{Secrets: secrets})
	request := printing("true")
	c := newCall(request, nil, secrets)
	c.streams[0].write([]byte(printed[:12])) // is held back
	r.calls[c.uid] = c

	for _, holder := range []any{r, &r.config, c, c.streams, c.streams[0], request, []any{secrets}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			shown := fmt.Sprintf(verb, holder)
			for _, form := range []string{printed[:10], fmt.Sprintf("%x", printed[:10]), fmt.Sprint([]byte(printed[:4]))[1:16]} {
				if strings.Contains(shown, form) {
					t.Errorf("%s of %T shows %q", verb, holder, form)
				}
			}
		}
	}
}

func TestACallWhoseCredentialsCannotAllBeLookedForDoesNotStart(t *testing.T) {
	s := newSandbox(t)
	for i := range 1 << 10 {
		if !s.config.Secrets.Add(strings.Repeat("x", 30_000) + strconv.Itoa(i)) {
			break
		}
	}
	r := printing("true")
	r.Credentials.Env["LARGE"] = strings.Repeat("y", 60_000)
	s.refused(r, "more credentials than can be looked for")
	_, exit := s.run(printing("true"))
	s.expect(exit, "Exited code 0")
}
