package redact

import (
	"math/bits"
	"math/rand/v2"
)

// modulus is a Mersenne prime: two texts have the same hash about once in 2^60 for each byte of theirs.
const modulus = 1<<61 - 1

// base is another one in every process, so that nobody can write texts that have the same hash.
var base = 1<<32 + rand.Uint64N(1<<60) //nolint:gosec // nobody is shown anything that depends on it

// prefixHashes are the hashes of the beginnings of a text, by their length.
func prefixHashes(text []byte) []uint64 {
	hashes := make([]uint64, len(text)+1)
	for i, c := range text {
		hashes[i+1] = appended(hashes[i], c)
	}
	return hashes
}

// appended is the hash of a text with one byte more.
func appended(hash uint64, c byte) uint64 { return reduce(times(hash, base) + uint64(c) + 1) }

// between is the hash of so many bytes from a position, as that of a text of its own would be.
func between(hashes []uint64, position, length int) uint64 {
	return reduce(hashes[position+length] + modulus - times(hashes[position], power(length)))
}

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
