package redact

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// pattern is one form of a secret.
type pattern struct {
	text string
	sums []uint64 // the hashes of its beginnings whose lengths are multiples of compared
}

// compared is how much of a pattern is compared byte by byte. Of a longer one that begins so, the rest is compared by its hash: where a text repeats
// itself as the secret does, each position would cost the whole length of the secret otherwise.
const compared = 64

func newPattern(text string) pattern {
	p := pattern{text: text}
	for sum, i := uint64(0), 0; i < len(text); i++ {
		if i%compared == 0 {
			p.sums = append(p.sums, sum)
		}
		sum = appended(sum, text[i])
	}
	return p
}

// hash is the hash of so many bytes of its beginning.
func (p pattern) hash(length int) uint64 {
	nearest := min(length/compared, len(p.sums)-1)
	sum := p.sums[nearest]
	for i := nearest * compared; i < length; i++ {
		sum = appended(sum, p.text[i])
	}
	return sum
}

// matcher finds patterns. It does not change.
type matcher struct {
	// filter has the bit of every pattern's first four bytes: nearly every position of an ordinary text ends here.
	filter [1 << 10]uint64
	// starts are the patterns by their first eight bytes, the longest first.
	starts map[uint64][]pattern
	// heads are the beginnings of patterns that are shorter than that, each with its length.
	heads map[head]struct{}
}

type head struct {
	bytes  uint64
	length int
}

func newMatcher(patterns []pattern) *matcher {
	m := &matcher{starts: map[uint64][]pattern{}, heads: map[head]struct{}{}}
	for _, p := range patterns {
		first := binary.LittleEndian.Uint64([]byte(p.text[:shortest]))
		m.mark(uint32(first))
		m.starts[first] = append(m.starts[first], p)
		for length := 1; length < shortest; length++ {
			m.heads[headOf([]byte(p.text[:length]))] = struct{}{}
		}
	}
	for _, same := range m.starts {
		slices.SortStableFunc(same, func(a, b pattern) int { return len(b.text) - len(a.text) })
	}
	return m
}

func headOf(text []byte) head {
	var eight [8]byte
	copy(eight[:], text)
	return head{binary.LittleEndian.Uint64(eight[:]), len(text)}
}

func place(four uint32) (word int, bit uint64) {
	hash := four * 0x9E3779B1 >> 16
	return int(hash >> 6), 1 << (hash & 63)
}

func (m *matcher) mark(four uint32) {
	word, bit := place(four)
	m.filter[word] |= bit
}

func (m *matcher) mayStart(four uint32) bool {
	word, bit := place(four)
	return m.filter[word]&bit != 0
}

// redact gives text with every pattern in it replaced, the leftmost first, and of those that begin there the longest. What may become a longer one, or
// one at all, when more comes is left over, unless this is the end.
func (m *matcher) redact(text []byte, end bool) (shown, rest []byte) {
	t := look{matcher: m, text: text, end: end}
	from := 0 // what is before it is in shown
	for at := m.next(text, 0); at < len(text); at = m.next(text, at) {
		length, waits := t.at(at)
		switch {
		case waits:
			return join(shown, text[from:at]), text[at:]
		case length > 0:
			shown = append(append(shown, text[from:at]...), Replacement...)
			at += length
			from = at
		default:
			at++
		}
	}
	return join(shown, text[from:]), nil
}

// next is the first position from this one on where a pattern may begin, or one of the last few.
func (m *matcher) next(text []byte, at int) int {
	for ; at+shortest <= len(text); at += 4 {
		eight := binary.LittleEndian.Uint64(text[at:])
		for i := range 4 {
			if m.mayStart(uint32(eight >> (8 * i))) {
				return at + i
			}
		}
	}
	return at
}

// join avoids a copy of a text in which nothing was found.
func join(shown, more []byte) []byte {
	if len(shown) == 0 {
		return more
	}
	return append(shown, more...)
}

// look is one look through a text.
type look struct {
	*matcher
	text   []byte
	end    bool
	hashes []uint64 // of the beginnings of the text; made when a long pattern seems to be there
}

// at says how long the pattern is that begins at a position, 0 for none, or that this cannot be told before more comes.
func (t *look) at(position int) (length int, waits bool) {
	left := t.text[position:]
	if len(left) < shortest {
		_, waits = t.heads[headOf(left)]
		return 0, waits && !t.end
	}
	for _, p := range t.starts[binary.LittleEndian.Uint64(left)] {
		switch {
		case len(p.text) > len(left):
			if !t.end && t.begins(p, position, len(left)) {
				return 0, true
			}
		case t.begins(p, position, len(p.text)) && bytes.Equal(left[:len(p.text)], []byte(p.text)):
			return len(p.text), false
		}
	}
	return 0, false
}

// begins says whether so many bytes from a position are the beginning of a pattern; of a long one it is as good as certain.
func (t *look) begins(p pattern, position, length int) bool {
	near := min(length, compared)
	if string(t.text[position:position+near]) != p.text[:near] {
		return false
	}
	if length <= compared {
		return true
	}
	if t.hashes == nil {
		t.hashes = prefixHashes(t.text)
	}
	return between(t.hashes, position, length) == p.hash(length)
}

// String shows nothing.
func (p pattern) String() string { return Replacement }

// GoString shows nothing.
func (p pattern) GoString() string { return Replacement }
