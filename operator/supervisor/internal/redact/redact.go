// Package redact replaces secrets in streams of bytes, in every form in which programs are used to write them.
package redact

import (
	"sync"
	"sync/atomic"
)

// Replacement stands where a secret was.
const Replacement = "[redacted]"

// shortest is how long what is looked for must be: a shorter one would be found where it is none.
const shortest = 8

// Set is every secret of a sandbox. What was added stays for as long as it lives: a call may write what another one was given.
type Set struct {
	mu      sync.Mutex
	known   map[string]struct{} // values and, apart from those, their spellings
	secrets []pattern
	matcher atomic.Pointer[matcher] // nil while there is nothing to look for
}

// NewSet knows no secret yet.
func NewSet() *Set { return &Set{known: map[string]struct{}{}} }

// Add has these values replaced from now on, in all streams; those of fewer than 8 bytes are not looked for.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.secrets)
	for _, value := range values {
		for _, spelled := range spellings(value) {
			if _, known := s.known[spelled]; !known {
				s.known[spelled] = struct{}{}
				s.secrets = append(s.secrets, newPattern(spelled))
			}
		}
	}
	if len(s.secrets) > before {
		s.matcher.Store(newMatcher(s.secrets))
	}
}

// String shows nothing.
func (s *Set) String() string { return Replacement }

// GoString shows nothing.
func (s *Set) GoString() string { return Replacement }

// Stream is the way of one stream of bytes; it is used by one goroutine at a time.
type Stream struct {
	set  *Set
	held []byte // may be the beginning of a secret
}

// Stream is a new stream, in which all secrets of the set are replaced, also those that are added later.
func (s *Set) Stream() *Stream { return &Stream{set: s} }

// Write gives what of the stream, p included, can be shown now. What may be the beginning of a secret is held back until more comes, or Flush: never
// more than a secret less one byte. The result may share memory with p.
func (s *Stream) Write(p []byte) []byte {
	m := s.set.matcher.Load()
	if m == nil {
		return p
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	shown, rest := m.redact(p, false)
	if len(rest) > 0 {
		s.held = append([]byte(nil), rest...)
	}
	return shown
}

// Flush gives what was held back, at the end of the stream: a secret that was not finished is none.
func (s *Stream) Flush() []byte {
	held := s.held
	s.held = nil
	if m := s.set.matcher.Load(); m != nil && len(held) > 0 {
		held, _ = m.redact(held, true)
	}
	return held
}

// String shows nothing.
func (s *Stream) String() string { return Replacement }

// GoString shows nothing.
func (s *Stream) GoString() string { return Replacement }
