package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

const secret = "ghp_/+Secret Value=<&>\"7"

func knowing(values ...string) *Set {
	set := NewSet()
	set.Add(values...)
	return set
}

func always(size int) func() int { return func() int { return size } }

// streamed is what a stream gives of a text that comes in pieces of these sizes.
func streamed(set *Set, text string, sizes func() int) string {
	stream, shown := set.Stream(), ""
	for _, piece := range pieces(text, sizes) {
		shown += written(stream, piece)
	}
	return shown + flushed(stream)
}

// written is what a stream shows of a text when it comes. The bytes that it was given are of no use afterwards.
func written(s *Stream, text string) (shown string) {
	p := []byte(text)
	s.Write(p, func(piece []byte) { shown += string(piece) })
	copy(p, bytes.Repeat([]byte("#"), len(p)))
	return shown
}

func flushed(s *Stream) (shown string) {
	s.Flush(func(piece []byte) { shown += string(piece) })
	return shown
}

func pieces(text string, sizes func() int) []string {
	var all []string
	for len(text) > 0 {
		size := min(max(sizes(), 1), len(text))
		all = append(all, text[:size])
		text = text[size:]
	}
	return all
}

// step is a write, and what can be shown then.
type step struct{ written, shown string }

func (s step) check(t *testing.T, stream *Stream) {
	t.Helper()
	if got := written(stream, s.written); got != s.shown {
		t.Errorf("after %q: %q, not %q", s.written, got, s.shown)
	}
}

func TestValuesOfFewerThanEightBytesAreNotLookedFor(t *testing.T) {
	for value, want := range map[string]string{"": "<>", "1234567": "<1234567>", "12345678": "<[redacted]>", "\xff2345678": "<[redacted]>"} {
		if got := streamed(knowing(value, ""), "<"+value+">", always(100)); got != want {
			t.Errorf("%q became %q", value, got)
		}
	}
}

func TestTheFirstIsReplacedAndTheLongestOfThoseThatBeginThere(t *testing.T) {
	set := knowing("abcdefgh", "abcdefghijkl", "cdefghij", "fghijklmnopq")
	for text, want := range map[string]string{
		"abcdefghijkl":                 "[redacted]",
		"abcdefghijkX":                 "[redacted]ijkX",
		"abcdefghijk":                  "[redacted]ijk",
		"abcdefgh":                     "[redacted]",
		"XcdefghijX":                   "X[redacted]X",
		"abcdefghabcdefghijklcdefghij": "[redacted][redacted][redacted]",
		"abcdefgabcdefgh":              "abcdefg[redacted]",
		"abcdefghijklmnopq":            "[redacted]mnopq",
		"bcdefghijklmnopq":             "b[redacted]klmnopq",
		"cdefghi":                      "cdefghi",
	} {
		for _, size := range []int{1, 2, 5, 100} {
			if got := streamed(set, text, always(size)); got != want {
				t.Errorf("%q became %q, not %q", text, got, want)
			}
		}
	}
}

func TestSecretsBackToBackAreReplacedOneByOne(t *testing.T) {
	for _, size := range []int{1, 23, 24, 25, 1000} {
		if got := streamed(knowing(secret), strings.Repeat(secret, 50), always(size)); got != strings.Repeat(Replacement, 50) {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

func TestNothingIsHeldBackThatCannotBecomeASecret(t *testing.T) {
	stream := knowing("abcdefgh").Stream()
	for _, s := range []step{
		{"hello abc", "hello "}, {"x", "abcx"}, {"abcdefg", ""}, {"", ""}, {"\n", "abcdefg\n"}, {"abcdefgh", "[redacted]"}, {"aabcdef", "a"}, {"abc", "abcdef"},
	} {
		s.check(t, stream)
	}
	for _, want := range []string{"abc", ""} {
		if got := flushed(stream); got != want {
			t.Errorf("at the end: %q", got)
		}
	}
}

func TestASecretThatIsThereIsHeldBackWhileItMayBeALongerOne(t *testing.T) {
	stream := knowing("abcdefgh", "abcdefgh-and-more").Stream()
	for _, s := range []step{{"abcdefgh", ""}, {"-and", ""}, {"!", "[redacted]-and!"}, {"abcdefgh-and-mor", ""}} {
		s.check(t, stream)
	}
	if got := flushed(stream); got != "[redacted]-and-mor" {
		t.Errorf("at the end: %q", got)
	}
}

func TestOutputWithoutASecretIsWhatWasWritten(t *testing.T) {
	all := make([]byte, 1<<16)
	for i := range all {
		all[i] = byte(rand.Uint32())
	}
	for _, set := range []*Set{NewSet(), knowing(secret, strings.Repeat("a", 100))} {
		if got := streamed(set, string(all), func() int { return rand.IntN(999) }); got != string(all) {
			t.Error("it is not")
		}
	}
}

func TestWithoutASecretTheBytesThemselvesAreGiven(t *testing.T) {
	p := []byte("anything")
	NewSet().Stream().Write(p, func(got []byte) {
		if &got[0] != &p[0] {
			t.Error("they were copied")
		}
	})
}

func TestAValueThatIsAddedIsReplacedInAllThatWasNotShownYet(t *testing.T) {
	set := NewSet()
	stream := set.Stream()
	step{"12345678 abcd", "12345678 abcd"}.check(t, stream)
	set.Add("abcdefgh.ijklmnop")
	step{"12345678 abcdefgh.", "12345678 "}.check(t, stream)
	set.Add("12345678", "abcdefgh.IJ")
	step{"I", ""}.check(t, stream)
	step{"J 12345678 abcdefgh.ijkl", "[redacted] [redacted] "}.check(t, stream)
	set.Add("efgh.ijk")
	step{"?", "abcd[redacted]l?"}.check(t, stream)
	step{"abcdefgh.ijkl", ""}.check(t, stream)
	set.Add("gh.ijklX", "defgh.ij")
	if got := flushed(stream); got != "abc[redacted]kl" {
		t.Errorf("at the end: %q", got)
	}
}

func TestStreamsAndValuesComeAndGoAtOnce(t *testing.T) {
	set := NewSet()
	var all sync.WaitGroup
	for i := range 8 {
		value := fmt.Sprintf("value-%d-of-one-call", i)
		all.Go(func() {
			set.Add(value)
			for range 50 {
				set.Add(value, fmt.Sprint(value, rand.Uint64()))
				if got := streamed(set, "<"+value+">", always(3)); got != "<[redacted]>" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	all.Wait()
}

// holder is as what has a set and streams elsewhere.
type holder struct {
	set    *Set
	stream *Stream
}

func TestNothingThatHoldsASecretShowsIt(t *testing.T) {
	set := knowing(secret, secret+"2")
	stream := set.Stream()
	written(stream, secret[:10])
	pattern := newPattern(secret)
	var logged bytes.Buffer
	for _, of := range []any{set, stream, pattern, (*node)(nil).with(pattern, shortest), []any{set, stream}, struct{ Set *Set }{set}, &holder{set, stream}, []any{holder{set, stream}}} {
		slog.New(slog.NewTextHandler(&logged, nil)).Info("here", "holder", of)
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("here", "holder", of)
		asJSON, _ := json.Marshal(of)
		logged.Write(asJSON)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t"} {
			fmt.Fprintf(&logged, verb+"\n", of)
		}
	}
	for _, form := range []string{secret[:10], fmt.Sprintf("%x", secret[:10]), fmt.Sprintf("%X", secret[:10]), fmt.Sprint([]byte(secret[:4]))} {
		if strings.Contains(logged.String(), form) {
			t.Errorf("%q is in %s", form, &logged)
		}
	}
}

func TestASetTakesOnlyAsManySecretsAsItHasRoomForAndGoesOnReplacingThose(t *testing.T) {
	set, first := NewSet(), strings.Repeat("first", 20)
	if !set.Add(first) {
		t.Fatal("there is no room for one")
	}
	fits := 0
	for set.Add(fmt.Sprintf("%s-%d", strings.Repeat("x", 30_000), fits)) {
		fits++
		if fits > Room/30_000 {
			t.Fatal("there is room without end")
		}
	}
	if fits == 0 || set.Add("another long one", strings.Repeat("y", 60_000)) {
		t.Errorf("room for %d, and for more", fits)
	}
	if !set.Add(first) {
		t.Error("what is known takes no room")
	}
	var shown []byte
	set.Stream().Write([]byte("<"+first+">"), func(p []byte) { shown = append(shown, p...) })
	if string(shown) != "<[redacted]>" {
		t.Errorf("got %q", shown)
	}
}

func TestASecretIsReplacedAsShellsTraceItAndFormsAndProgramsWriteIt(t *testing.T) {
	value := `it's~a\*secret=`
	for _, form := range []string{
		`it'\''s~a\*secret=`,        // set -x
		`it\'s~a\\*secret=`,         // repr of Python
		`it%27s%7Ea%5C*secret%3D`,   // URLSearchParams
		`it%27s%7Ea%5C%2Asecret%3D`, // URLSearchParams of old
		`it's~a%5C*secret%3D`,       // encodeURIComponent
	} {
		set := NewSet()
		set.Add(value)
		var shown []byte
		set.Stream().Write([]byte("<"+form+">"), func(p []byte) { shown = append(shown, p...) })
		if string(shown) != "<[redacted]>" {
			t.Errorf("%s became %q", form, shown)
		}
	}
}
