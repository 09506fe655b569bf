package redact

import (
	"fmt"
	"strings"
	"testing"
)

// attack is a text that is hard to look through for these values.
type attack struct {
	values    []string
	text      string
	partings  int // where patterns that begin as the text does part from each other, or end
	mostBytes int // of a write
}

// fibonacci is a text that repeats itself as much as one without an end to its repetitions can.
func fibonacci(length int) string {
	a, b := "a", "ab"
	for len(b) < length {
		a, b = b, b+a
	}
	return b[:length]
}

// attacks are by what they try, for secrets of this length.
func attacks(length int) map[string]attack {
	as, most := strings.Repeat("a", length), 4*length
	var alike, nested []string
	for i := range 32 {
		alike = append(alike, as+fmt.Sprint(1000+i))
		nested = append(nested, strings.Repeat("a", length/32*(i+1))+"b")
	}
	return map[string]attack{
		"a text like a secret but for its end":     {[]string{as + "b"}, strings.Repeat(as+"c", 4), 0, most},
		"the same in small pieces":                 {[]string{as + "b"}, strings.Repeat(as+"c", 2), 0, 16},
		"the same byte by byte":                    {[]string{as + "b"}, strings.Repeat(as+"c", 2), 0, 1},
		"the beginning of a secret without end":    {[]string{as + "b"}, strings.Repeat(as, 4), 0, 1000},
		"a short secret that a long one begins as": {[]string{as + "b", "aaaaaaaa"}, strings.Repeat(as+"c", 4), 1, most},
		"the same, byte by byte":                   {[]string{as + "b", "aaaaaaaa"}, strings.Repeat(as+"c", 2), 1, 1},
		"32 secrets that begin alike":              {alike, strings.Repeat(as+"c", 4), 3, most},
		"32 secrets that part everywhere":          {nested, strings.Repeat(as+"c", 4), 32, most},
		"a secret that repeats itself":             {[]string{fibonacci(length) + "c"}, fibonacci(4 * length), 0, most},
		"its first bytes again and again":          {[]string{"aaaabbbb" + as}, strings.Repeat("aaaabbbb", length/2), 0, most},
		"a secret again and again":                 {[]string{as + "b"}, strings.Repeat(as+"b", 4), 0, 100},
	}
}

func ignore([]byte) {}

func TestNoTextCostsMoreThanItsLengthWhateverTheLengthOfTheSecrets(t *testing.T) {
	for _, length := range []int{1 << 10, 1 << 12, 1 << 15} {
		for name, a := range attacks(length) {
			stream, writes := knowing(a.values...).Stream(), 0
			for _, piece := range pieces(a.text, always(a.mostBytes)) {
				stream.Write([]byte(piece), ignore)
				writes++
			}
			stream.Flush(ignore)
			// At each place, and again where a write begins: what is compared and what is hashed on the way to each parting. And each byte a few times when it comes.
			most := (len(a.text)+writes+1)*(a.partings+1)*2*compared + 4*len(a.text)
			if stream.work > most {
				t.Errorf("%s of %d bytes: %d bytes were looked at, more than %d", name, length, stream.work, most)
			}
		}
	}
}

func TestAnOrdinaryTextIsHardlyLookedAt(t *testing.T) {
	stream, text := knowing(tokens(32)...).Stream(), ordinary(1<<20)
	stream.Write(text, ignore)
	if stream.work > len(text)/1000 {
		t.Errorf("%d bytes of %d were", stream.work, len(text))
	}
}

func TestWhatIsHeldBackTakesNoMoreRoomHoweverLongTheStream(t *testing.T) {
	const length = 1 << 12
	for _, size := range []int{1, 100, 2 * length} {
		stream := knowing(strings.Repeat("a", length) + "b").Stream()
		for _, piece := range pieces(strings.Repeat("a", 20*length), always(size)) {
			stream.Write([]byte(piece), ignore)
		}
		held := stream.held.Load()
		if text, hashes := cap(held.text), cap(held.hashes.sums); text > 4*(length+size) || hashes > 4*(length+size) {
			t.Errorf("in pieces of %d: room for %d bytes and %d hashes", size, text, hashes)
		}
	}
}
