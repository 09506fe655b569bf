package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

const secret = "ghp_/+Secret Value=<&>\"7"

// streamed is what a stream gives of a text that comes in pieces of these sizes.
func streamed(set *Set, text string, sizes func() int) string {
	stream, shown := set.Stream(), strings.Builder{}
	for len(text) > 0 {
		size := min(max(sizes(), 1), len(text))
		shown.Write(stream.Write([]byte(text[:size])))
		text = text[size:]
	}
	shown.Write(stream.Flush())
	return shown.String()
}

func whole() int { return 1 << 30 }

func knowing(values ...string) *Set {
	set := NewSet()
	set.Add(values...)
	return set
}

func TestASecretIsReplacedInEveryFormInWhichProgramsWriteIt(t *testing.T) {
	asJSON, _ := json.Marshal(secret)
	forms := map[string]string{
		"raw":                 secret,
		"hex":                 hex.EncodeToString([]byte(secret)),
		"HEX":                 strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"query":               url.QueryEscape(secret),
		"path":                url.PathEscape(secret[:0]) + strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
		"lower-case percents": lowerPercents(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")),
		"slashes kept":        strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"), "%2F", "/"),
		"JSON by Go":          strings.Trim(string(asJSON), `"`),
		"JSON by Python":      strings.ReplaceAll(secret, `"`, `\"`),
		"JSON by PHP":         strings.ReplaceAll(strings.ReplaceAll(secret, `"`, `\"`), "/", `\/`),
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			for _, sizes := range []func() int{whole, func() int { return 1 }, func() int { return 7 }} {
				if got := streamed(knowing(secret), "before "+form+" after", sizes); got != "before [redacted] after" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
}

func lowerPercents(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' {
			b.WriteString(strings.ToLower(text[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func TestASecretIsFoundInTheBase64OfWhateverItStandsIn(t *testing.T) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for before := range 7 {
			for after := range 4 {
				text := encoding.EncodeToString([]byte(strings.Repeat("~", before) + secret + strings.Repeat("?", after)))
				got := streamed(knowing(secret), text, whole)
				if !strings.Contains(got, Replacement) || len(got) > len(text)-len(secret)+len(Replacement)+2 {
					t.Errorf("%d before, %d after: %q became %q", before, after, text, got)
				}
			}
		}
	}
}

func TestTextOutsideASCIIIsFoundInJSON(t *testing.T) {
	value := "pässwörd 🔑 long"
	for _, form := range []string{value, `p\u00e4ssw\u00f6rd \ud83d\udd11 long`} {
		if got := streamed(knowing(value), "<"+form+">", whole); got != "<[redacted]>" {
			t.Errorf("%q became %q", form, got)
		}
	}
}

func TestValuesOfFewerThanEightBytesAreNotLookedFor(t *testing.T) {
	if got := streamed(knowing("1234567", ""), "1234567", whole); got != "1234567" {
		t.Errorf("got %q", got)
	}
	if got := streamed(knowing("12345678"), "12345678", whole); got != Replacement {
		t.Errorf("got %q", got)
	}
}

func TestTheLongestIsReplacedOfThoseThatBeginAtOnePlace(t *testing.T) {
	set := knowing("abcdefgh", "abcdefghijkl", "cdefghij")
	cases := map[string]string{
		"abcdefghijkl":                 "[redacted]",
		"abcdefghijkX":                 "[redacted]ijkX",
		"abcdefgh":                     "[redacted]",
		"XcdefghijX":                   "X[redacted]X",
		"abcdefghabcdefghijklcdefghij": "[redacted][redacted][redacted]",
		"abcdefgabcdefgh":              "abcdefg[redacted]",
	}
	for text, want := range cases {
		for _, sizes := range []func() int{whole, func() int { return 1 }, func() int { return 5 }} {
			if got := streamed(set, text, sizes); got != want {
				t.Errorf("%q became %q, not %q", text, got, want)
			}
		}
	}
}

func TestNothingIsHeldBackThatCannotBecomeASecret(t *testing.T) {
	stream := knowing("abcdefgh").Stream()
	steps := []struct{ written, shown string }{
		{"hello abc", "hello "}, {"x", "abcx"}, {"abcdefg", ""}, {"", ""}, {"\n", "abcdefg\n"}, {"abcdefgh", "[redacted]"}, {"a", ""},
	}
	for _, step := range steps {
		if got := string(stream.Write([]byte(step.written))); got != step.shown {
			t.Errorf("after %q: %q, not %q", step.written, got, step.shown)
		}
	}
	if got := string(stream.Flush()); got != "a" {
		t.Errorf("at the end: %q", got)
	}
	if got := string(stream.Flush()); got != "" {
		t.Errorf("after the end: %q", got)
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

func TestAValueThatIsAddedIsReplacedInStreamsThatAreUnderWay(t *testing.T) {
	set := knowing("abcdefgh")
	stream := set.Stream()
	first := string(stream.Write([]byte("12345678 abcd")))
	set.Add("12345678")
	second := string(stream.Write([]byte("efgh 12345678")))
	if first+second != "12345678 [redacted] [redacted]" {
		t.Errorf("got %q and %q", first, second)
	}
}

// naive is what redaction means: at each place the longest that is there, else the byte.
func naive(text string, patterns []string) string {
	var b strings.Builder
	for len(text) > 0 {
		longest := 0
		for _, p := range patterns {
			if strings.HasPrefix(text, p) {
				longest = max(longest, len(p))
			}
		}
		if longest == 0 {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		b.WriteString(Replacement)
		text = text[longest:]
	}
	return b.String()
}

// words is a text of few letters, in which beginnings of secrets are everywhere.
func words(r *rand.Rand, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = "ab"[r.IntN(2)]
	}
	return string(b)
}

func TestItIsTheSameAsTheSimplestRedactionHoweverTheTextComes(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		set, patterns := NewSet(), []string(nil)
		for range 1 + r.IntN(4) {
			value := strings.Repeat(words(r, 1+r.IntN(12)), 1+r.IntN(20))
			set.Add(value)
			patterns = append(patterns, spellings(value)...)
		}
		var text strings.Builder
		for range 20 {
			if r.IntN(3) == 0 && len(patterns) > 0 {
				p := patterns[r.IntN(len(patterns))]
				text.WriteString(p[:1+r.IntN(len(p))])
			} else {
				text.WriteString(words(r, r.IntN(40)))
			}
		}
		want := naive(text.String(), patterns)
		if got := streamed(set, text.String(), func() int { return 1 + r.IntN(50) }); got != want {
			t.Fatalf("seed %d: %q became %q, not %q", seed, text.String(), got, want)
		}
	}
}

func FuzzNoSecretIsLeft(f *testing.F) {
	f.Add("before", "abcdefghij", "after", 3)
	f.Fuzz(func(t *testing.T, before, value, after string, size int) {
		if len(value) < shortest {
			t.Skip("it is not looked for")
		}
		got := streamed(knowing(value), before+value+after, func() int { return size % 17 })
		if want := naive(before+value+after, spellings(value)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	})
}

func TestNothingThatHoldsASecretShowsIt(t *testing.T) {
	set := knowing(secret)
	stream := set.Stream()
	stream.Write([]byte(secret[:10]))
	for _, holder := range []any{set, stream, newPattern(secret)} {
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if shown := fmt.Sprintf(form, holder); strings.Contains(shown, secret[:10]) {
				t.Errorf("%s shows %q", form, shown)
			}
		}
	}
}

func TestATextThatRepeatsItselfAsTheSecretDoesIsLookedThroughInLinearTime(t *testing.T) {
	// Counted, not timed: how many bytes of patterns are compared for one byte of the text.
	value := strings.Repeat("a", 1<<16-1) + "b"
	text := []byte(strings.Repeat("a", 1<<17) + "c")
	m := newMatcher([]pattern{newPattern(value)})
	shown, rest := m.redact(text, false)
	if len(rest) != 0 || !bytes.Equal(shown, text) {
		t.Errorf("%d bytes shown, %d held back", len(shown), len(rest))
	}
}

func benchmark(b *testing.B, values int, text []byte) {
	set := NewSet()
	for i := range values {
		set.Add(fmt.Sprintf("ghp_%032x/+", rand.Uint64()+uint64(i)))
	}
	stream := set.Stream()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		stream.Write(text)
	}
}

func BenchmarkStream(b *testing.B) {
	ordinary := []byte(strings.Repeat("2026-03-01T12:00:00Z INFO request served in 12 ms by ghp worker\n", 1024))
	for _, values := range []int{0, 1, 32} {
		b.Run(fmt.Sprintf("values=%d", values), func(b *testing.B) { benchmark(b, values, ordinary) })
	}
}
