// Package redact replaces secrets in streams of bytes, in every form in which programs are used to write them.
package redact

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Replacement stands where a secret was.
const Replacement = "[redacted]"

// shortest is how long what is looked for must be: a shorter one would be found where it is none.
const shortest = 8

// Room is how many bytes of secrets, in all their forms, a set takes: about 700 tokens of 1,500 bytes, or 7,000 of 40. Each costs about two bytes of
// memory, and the smallest sandbox has 64 MiB.
const Room = 8 << 20

// Set is every secret of a sandbox. What was added stays for as long as it lives: a call may write what another one was given.
// Any number of goroutines may use it. In no text does it show what it is.
type Set struct {
	mute
	mu    sync.RWMutex
	known atomic.Pointer[known] // guarded by mu; nil while there is nothing to look for, so that a stream pays for secrets only once there are any
}

// known is what a set knows.
type known struct {
	mute
	values map[string]struct{}
	finder finder
	size   int // of all forms of the values
}

// NewSet knows no secret yet.
func NewSet() *Set { return &Set{} }

// Add has these values replaced from now on, in all streams; those of fewer than 8 bytes are not looked for. It reports whether there was room for all.
func (s *Set) Add(values ...string) bool {
	for _, value := range values {
		if len(value) >= shortest && !s.knows(value) && !s.add(value, patterns(value)) { // Spelling a long value out takes longer than streams should wait.
			return false
		}
	}
	return true
}

func (s *Set) knows(value string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := s.known.Load()
	if k == nil {
		return false
	}
	_, there := k.values[value]
	return there
}

func (s *Set) add(value string, patterns []*pattern) (fits bool) {
	size := 0
	for _, p := range patterns {
		size += len(p.text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known.Load()
	if k == nil {
		k = &known{values: map[string]struct{}{}, finder: finder{starts: map[uint64]*node{}}}
		s.known.Store(k)
	}
	if k.size+size > Room {
		return false
	}
	k.size += size
	for _, p := range patterns {
		k.finder.add(p)
	}
	k.values[value] = struct{}{}
	return true
}

// Stream is the way of one stream of bytes. One goroutine at a time may use it. In no text does it show what it is.
type Stream struct {
	mute
	set  *Set
	held atomic.Pointer[tail] // may be the beginning of a secret; nil while nothing is
	work int                  // bytes that were compared, hashed or held back anew, as tests bound it
}

// tail is the end of a stream as it came so far.
type tail struct {
	mute
	text   []byte
	hashes window
}

// Stream is a new stream, in which all secrets of the set are replaced, also those that are added later.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Write shows what of the stream, p included, can be shown now, in a few pieces that are good until show returns. What may be the beginning of a secret
// is held back until more comes, or Flush, however long that takes: always less than the longest form of a secret, and never a byte that cannot be in one.
//
// However long secrets are, and whatever they and the stream repeat, each byte and each Write costs at most a look at 128 bytes, times the places where
// secrets that begin as the text there does part from each other.
func (s *Stream) Write(p []byte, show func([]byte)) {
	if s.set.known.Load() == nil {
		show(p)
		return
	}
	p = s.settle(p, show)
	if at := s.look(&tail{text: p}, false, show); at < len(p) {
		s.held.Store(&tail{text: bytes.Clone(p[at:])})
		s.work += len(p) - at
	}
}

// joint is how much of p is joined with what is held back, to begin with: nearly always enough, and nothing next to all of p.
const joint = 64

// settle joins what is held back with as much of p as it takes to tell what it is, and gives the rest of p.
func (s *Stream) settle(p []byte, show func([]byte)) []byte {
	held := s.held.Load()
	for some := joint; held != nil && len(p) > 0; some *= 2 {
		before, more := len(held.text), p[:min(some, len(p))]
		held.text = append(held.text, more...)
		at := s.look(held, false, show)
		if at >= before {
			s.held.Store(nil)
			return p[at-before:]
		}
		p = p[len(more):]
		s.work += held.drop(at)
	}
	return p
}

// drop lets go of the beginning, and says how much it copied for that. If the rest is most of it, it grows where it is: of a tool that writes byte by
// byte, what is held back is not copied for each.
func (t *tail) drop(beginning int) (copied int) {
	if rest := t.text[beginning:]; len(rest) <= beginning {
		*t = tail{text: bytes.Clone(rest)}
		return len(rest)
	}
	t.text = t.text[beginning:]
	t.hashes.advance(beginning)
	return 0
}

// Flush shows what was held back, at the end of the stream: a secret that was not finished is none.
func (s *Stream) Flush(show func([]byte)) {
	if held := s.held.Swap(nil); held != nil {
		s.look(held, true, show)
	}
}

// look shows what can be shown, and says where the rest begins.
func (s *Stream) look(t *tail, end bool, show func([]byte)) (at int) {
	s.set.mu.RLock()
	l := look{finder: &s.set.known.Load().finder, tail: t, end: end}
	shown, at := l.through()
	s.set.mu.RUnlock() // before it is shown: whoever adds a secret waits for no disk
	s.work += l.work
	if len(shown) > 0 {
		show(shown)
	}
	return at
}
