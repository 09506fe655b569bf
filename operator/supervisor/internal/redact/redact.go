// Package redact replaces secrets in streams of bytes, in every form in which programs are used to write them.
package redact

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Replacement stands where a secret was.
const Replacement = "[redacted]"

// shortest is how long what is looked for must be: a shorter one would be found where it is none.
const shortest = 8

// Set is every secret of a sandbox. What was added stays for as long as it lives: a call may write what another one was given.
// Any number of goroutines may use it. In no text does it show what it is.
type Set struct {
	filled atomic.Bool // with anything to look for: a stream pays for a secret only once there is one

	mu     sync.RWMutex
	values map[string]struct{}
	finder finder
}

// NewSet knows no secret yet.
func NewSet() *Set {
	return &Set{values: map[string]struct{}{}, finder: finder{starts: map[uint64]*node{}}}
}

// Add has these values replaced from now on, in all streams; those of fewer than 8 bytes are not looked for.
func (s *Set) Add(values ...string) {
	for _, value := range values {
		if len(value) >= shortest && !s.knows(value) {
			s.add(value, patterns(value)) // Spelling a long value out takes longer than streams should wait.
		}
	}
}

func (s *Set) knows(value string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known := s.values[value]
	return known
}

func (s *Set) add(value string, patterns []*pattern) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range patterns {
		s.finder.add(p)
	}
	s.values[value] = struct{}{}
	s.filled.Store(true)
}

// Stream is the way of one stream of bytes. One goroutine at a time may use it. In no text does it show what it is.
type Stream struct {
	set    *Set
	held   []byte // may be the beginning of a secret
	hashes window // over what is held
	work   int    // bytes that were compared or hashed, as tests bound it
}

// Stream is a new stream, in which all secrets of the set are replaced, also those that are added later.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Write shows what of the stream, p included, can be shown now, in a few pieces that are good until show returns. What may be the beginning of a secret
// is held back until more comes, or Flush, however long that takes: always less than the longest form of a secret, and never a byte that cannot be in one.
//
// However long secrets are, and whatever they and the stream repeat, each byte and each Write costs at most a look at 128 bytes, times the places where
// secrets that begin as the text there does part from each other.
func (s *Stream) Write(p []byte, show func([]byte)) {
	if !s.set.filled.Load() {
		show(p)
		return
	}
	if p = s.settle(p, show); len(p) > 0 {
		at := s.look(p, false, show)
		s.hold(append([]byte(nil), p[at:]...))
	}
}

// joint is how much of p is joined with what is held back, to begin with: nearly always enough, and nothing next to all of p.
const joint = 64

// settle joins what is held back with as much of p as it takes to tell what it is, and gives the rest of p.
func (s *Stream) settle(p []byte, show func([]byte)) []byte {
	for some := joint; len(s.held) > 0 && len(p) > 0; some *= 2 {
		more := p[:min(some, len(p))]
		text := append(s.held, more...)
		at := s.look(text, false, show)
		if over := at - len(s.held); over >= 0 {
			s.hold(nil)
			return p[over:]
		}
		p = p[len(more):]
		if rest := text[at:]; len(rest) > at {
			// It grows where it is: what is held back of a tool that writes byte by byte is not copied for each.
			s.held = rest
			s.hashes.advance(at)
		} else {
			s.hold(append([]byte(nil), rest...))
		}
	}
	return p
}

func (s *Stream) hold(text []byte) { s.held, s.hashes = text, window{} }

// Flush shows what was held back, at the end of the stream: a secret that was not finished is none.
func (s *Stream) Flush(show func([]byte)) {
	s.look(s.held, true, show)
	s.hold(nil)
}

// look shows what of a text can be shown, and says where the rest begins.
func (s *Stream) look(text []byte, end bool, show func([]byte)) (at int) {
	s.set.mu.RLock()
	l := look{finder: &s.set.finder, text: text, end: end, hashes: &s.hashes}
	shown, at := l.through()
	s.set.mu.RUnlock() // before it is shown: whoever adds a secret waits for no disk
	s.work += l.work
	if len(shown) > 0 {
		show(shown)
	}
	return at
}

// Format writes the replacement, whatever the verb.
func (s *Set) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, Replacement) }

// Format writes the replacement, whatever the verb.
func (s *Stream) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, Replacement) }
