package redact

import (
	"math/bits"
	"math/rand/v2"
)

// modulus is a Mersenne prime: two texts that differ have the same hash once in 2^61 divided by their length.
const modulus = 1<<61 - 1

// base is another one in every process, and nothing shows it: nobody can write texts that have the same hash.
var base = 1<<32 + rand.Uint64N(1<<60)

// digest is the hash of a text, with what a hash is multiplied by when this text is appended to its own.
type digest struct{ sum, power uint64 }

// window is the hashes of a stretch of a text, each of what lies before its place.
type window struct {
	from int
	sums []uint64
}

// cover makes the window reach over a stretch that begins no earlier than the last one did, and says how many bytes it took.
func (w *window) cover(text []byte, from, to int) int {
	reached := w.from + len(w.sums) - 1
	if len(w.sums) == 0 || reached < from {
		*w, reached = window{from, append(w.sums[:0], 0)}, from
	}
	for _, c := range text[reached:max(reached, to)] {
		w.sums = append(w.sums, appended(w.sums[len(w.sums)-1], c))
	}
	return max(reached, to) - reached
}

// has says whether the hash is that of so many bytes from a position.
func (w *window) has(hash digest, position, length int) bool {
	at := position - w.from
	return reduce(times(w.sums[at], hash.power)+hash.sum) == w.sums[at+length]
}

// advance lets the text begin so many bytes later.
func (w *window) advance(by int) {
	gone := by - w.from
	switch {
	case gone >= len(w.sums):
		*w = window{}
	case gone > 0:
		*w = window{0, w.sums[gone:]}
	default:
		w.from = -gone
	}
}

// appended is the hash of a text with one byte more.
func appended(hash uint64, c byte) uint64 { return reduce(times(hash, base) + uint64(c) + 1) }

// power is base to the n.
func power(n int) uint64 {
	result, square := uint64(1), base
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = times(result, square)
		}
		square = times(square, square)
	}
	return result
}

func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return reduce(low&modulus + (low>>61 | high<<3))
}

func reduce(n uint64) uint64 {
	n = n&modulus + n>>61
	if n >= modulus {
		n -= modulus
	}
	return n
}
