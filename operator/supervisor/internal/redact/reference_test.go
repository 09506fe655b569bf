package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// reference says what redaction means, and is as slow as that is simple.
type reference struct {
	patterns []string
	left     string // was not shown yet
}

func (r *reference) add(value string) {
	if len(value) >= shortest {
		r.patterns = append(r.patterns, spellings(value)...)
	}
}

func (r *reference) write(text string, end bool) string {
	var shown strings.Builder
	for r.left += text; r.left != "" && (end || !r.waits()); {
		if longest := r.longest(); longest > 0 {
			shown.WriteString(Replacement)
			r.left = r.left[longest:]
			continue
		}
		shown.WriteByte(r.left[0])
		r.left = r.left[1:]
	}
	return shown.String()
}

func (r *reference) waits() bool {
	for _, p := range r.patterns {
		if len(p) > len(r.left) && strings.HasPrefix(p, r.left) {
			return true
		}
	}
	return false
}

func (r *reference) longest() int {
	longest := 0
	for _, p := range r.patterns {
		if strings.HasPrefix(r.left, p) {
			longest = max(longest, len(p))
		}
	}
	return longest
}

// both are a stream and its reference, which must show the same at each step.
type both struct {
	set    *Set
	stream *Stream
	simple reference
}

func newBoth() *both {
	set := NewSet()
	return &both{set: set, stream: set.Stream()}
}

func (b *both) add(value string) {
	b.set.Add(value)
	b.simple.add(value)
}

// write gives a complaint, or nothing.
func (b *both) write(text string) string {
	return compare(b.simple.write(text, false), written(b.stream, text))
}

func (b *both) flush() string { return compare(b.simple.write("", true), flushed(b.stream)) }

func compare(want, got string) string {
	if want != got {
		return fmt.Sprintf("shown is %q, not %q", got, want)
	}
	return ""
}

// letters is a text of few letters, in which beginnings of secrets are everywhere.
func letters(r *rand.Rand, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = "ab"[r.IntN(2)]
	}
	return string(b)
}

// value is made of a piece that comes again and again, or is a part of another value, so that secrets overlap in all ways.
func (b *both) value(r *rand.Rand) string {
	if n := len(b.simple.patterns); n > 0 && r.IntN(3) == 0 {
		p := b.simple.patterns[r.IntN(n)]
		from := r.IntN(len(p))
		return p[from:from+r.IntN(len(p)-from)] + letters(r, r.IntN(3))
	}
	return strings.Repeat(letters(r, 1+r.IntN(12)), 1+r.IntN(30))
}

// text has secrets in it, whole ones and beginnings.
func (b *both) text(r *rand.Rand) string {
	if n := len(b.simple.patterns); n > 0 && r.IntN(3) > 0 {
		p := b.simple.patterns[r.IntN(n)]
		return p[:1+r.IntN(len(p))]
	}
	return letters(r, r.IntN(40))
}

func TestItShowsAtEachWriteWhatTheSimplestRedactionShows(t *testing.T) {
	for seed := range uint64(500) {
		r, b := rand.New(rand.NewPCG(seed, 1)), newBoth()
		most := 1 + r.IntN(100)
		for range 30 {
			if r.IntN(5) == 0 {
				b.add(b.value(r))
			}
			for _, piece := range pieces(b.text(r), func() int { return 1 + r.IntN(most) }) {
				if complaint := b.write(piece); complaint != "" {
					t.Fatalf("seed %d: %s", seed, complaint)
				}
			}
		}
		if complaint := b.flush(); complaint != "" {
			t.Fatalf("seed %d: at the end, %s", seed, complaint)
		}
	}
}

func FuzzItShowsAtEachWriteWhatTheSimplestRedactionShows(f *testing.F) {
	f.Add("abcdefgh|abcdefghijkl|cdefghij", "<abcdefghijkl|cdefghij|abcdefgh>", 3)
	f.Add(secret+"|"+strings.Repeat("a", 300), secret+strings.Repeat("a", 900), 64)
	f.Add(awkward, "6162"+awkward+"\xff\xfe", 1)
	f.Add("\xff\x00\xff\x00\xff\x00\xff\x00", "\xff\x00\xff\x00\xff\x00\xff\x00\xff\x00", 2)
	f.Fuzz(func(t *testing.T, values, text string, size int) {
		b := newBoth()
		for _, value := range strings.Split(values, "|") {
			b.add(value)
		}
		for _, piece := range pieces(text, always(size)) {
			if complaint := b.write(piece); complaint != "" {
				t.Fatal(complaint)
			}
		}
		if complaint := b.flush(); complaint != "" {
			t.Fatal(complaint)
		}
	})
}

func FuzzASecretIsInNoFormLeft(f *testing.F) {
	f.Add("before", "abcdefghij", "after", 3)
	f.Add("", awkward, "%", 1)
	f.Fuzz(func(t *testing.T, before, value, after string, size int) {
		if len(value) < shortest || strings.Contains(Replacement, value) {
			return
		}
		for _, form := range spellings(value) {
			got := streamed(knowing(value), before+form+after, always(size))
			if strings.Contains(strings.ReplaceAll(got, Replacement, "\n"), form) && !strings.Contains(form, "\n") {
				t.Errorf("%q", got)
			}
		}
	})
}
