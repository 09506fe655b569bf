package redact

import (
	"encoding/binary"
	"slices"
)

// finder knows where in a text a pattern may begin, and which patterns begin alike.
type finder struct {
	mute
	firsts  []uint64         // the first eight bytes of all patterns, sorted
	starts  map[uint64]*node // the patterns that begin so
	opening filter           // the first four bytes of all patterns
	inside  filter           // each four of their first eight bytes
}

// filter says of four bytes that they are not among those that were marked; of some others it does not know. It lies in the fastest cache, and has at
// most 2 % of its bits set by 32 tokens.
type filter [1 << 11]uint64

func (f *filter) mark(four uint32) {
	word, bit := place(four)
	f[word] |= bit
}

func (f *filter) mayHave(four uint32) bool {
	word, bit := place(four)
	return f[word]&bit != 0
}

func place(four uint32) (word uint32, bit uint64) {
	hash := four * 0x9E3779B1 >> 15
	return hash >> 6, 1 << (hash & 63)
}

func (f *finder) add(p *pattern) {
	first := binary.BigEndian.Uint64([]byte(p.text[:shortest]))
	if at, known := slices.BinarySearch(f.firsts, first); !known {
		f.firsts = slices.Insert(f.firsts, at, first)
		f.mark(p.text)
	}
	f.starts[first] = f.starts[first].with(p, shortest)
}

func (f *finder) mark(text string) {
	f.opening.mark(four(text))
	for i := range stride {
		f.inside.mark(four(text[i:]))
	}
}

// stride is how many fours of bytes there are in eight. Every pattern that begins within so many bytes has the four behind them among its first eight.
const stride = shortest - 4 + 1

func four[T string | []byte](text T) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

// next is the first position from this one on where a pattern may begin, or one of the last few.
func (f *finder) next(text []byte, at int) int {
	for ; at+shortest <= len(text); at += stride {
		if !f.inside.mayHave(four(text[at+stride-1:])) {
			continue
		}
		for i := range stride {
			if f.opening.mayHave(four(text[at+i:])) {
				return at + i
			}
		}
	}
	return at
}

// beginsOne says whether a text of fewer than eight bytes, but one, is the beginning of a pattern.
func (f *finder) beginsOne(text []byte) bool {
	var eight [shortest]byte
	copy(eight[:], text)
	first := binary.BigEndian.Uint64(eight[:])
	at, _ := slices.BinarySearch(f.firsts, first)
	return at < len(f.firsts) && (f.firsts[at]^first)>>(8*(shortest-len(text))) == 0
}

// look is one look through the end of a stream.
type look struct {
	*finder
	*tail
	end  bool // nothing more comes
	work int
}

// through gives the text with every pattern in it replaced, the leftmost first, and of those that begin there the longest. From the position it gives
// on, it cannot be told before more comes.
func (l *look) through() (shown []byte, at int) {
	from := 0 // what is before it is in shown
	for at = l.next(l.text, 0); at < len(l.text); at = l.next(l.text, at) {
		length, waits := l.at(at)
		if waits {
			break
		}
		if length == 0 {
			at++
			continue
		}
		shown = append(append(shown, l.text[from:at]...), Replacement...)
		at += length
		from = at
	}
	at = min(at, len(l.text))
	if shown == nil {
		return l.text[:at], at
	}
	return append(shown, l.text[from:at]...), at
}

// at says how long the pattern is that begins at a position, 0 for none, or that this cannot be told before more comes.
func (l *look) at(position int) (length int, waits bool) {
	left := l.text[position:]
	if len(left) < shortest {
		return 0, !l.end && l.beginsOne(left)
	}
	same := shortest
	for n := l.starts[binary.BigEndian.Uint64(left)]; n != nil && l.goesOn(n, position, same); n = n.next[left[same]] {
		if len(left) < n.length {
			return length, !l.end
		}
		same = n.length
		if n.ends {
			length = same
		}
		if len(left) == same {
			return length, len(n.next) > 0 && !l.end
		}
	}
	return length, false
}

// goesOn says whether the text at a position, of which so many bytes are as those of the node, goes on like it to where either ends. Beyond the first
// bytes it compares hashes: where a text repeats itself as a secret does, each position would cost the whole length of the secret otherwise.
func (l *look) goesOn(n *node, position, same int) bool {
	upto := min(n.length, len(l.text)-position)
	near := min(upto, same+compared)
	l.work += near - same
	if string(l.text[position+same:position+near]) != n.of.text[same:near] {
		return false
	}
	if near == upto {
		return true
	}
	l.work += l.hashes.cover(l.text, position, position+upto)
	if upto == n.length {
		return l.hashes.has(n.hash, position, upto)
	}
	l.work += upto % compared
	return l.hashes.has(n.of.hash(upto), position, upto)
}
