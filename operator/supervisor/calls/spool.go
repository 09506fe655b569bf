package calls

import (
	"io"
	"sync"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/internal/threads"
	"toolcall-operator/supervisor/wire"
)

// disk bounds the threads that a slow disk holds up: every call has two streams.
var disk = threads.NewGate(8)

// spool keeps the head of one stream, and counts all of it, both without the secrets of the sandbox: what they were cannot be told by how long they were.
// One goroutine writes, any number read.
type spool struct {
	folder  *kept.Folder
	limit   int64
	secrets *redact.Stream

	mu     sync.Mutex
	file   file  // nil until the first byte is kept
	size   int64 // bytes the tool wrote, with secrets replaced
	stored int64 // bytes kept: the first ones
	full   bool  // nothing more is kept: the limit, or a disk that takes no more
}

// file is where bytes are kept.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// write keeps of p what the limit leaves room for. It never fails: a tool does not feel the state of the supervisor's disk, and stored < size
// says that something is missing.
func (s *spool) write(p []byte) (kept bool) {
	s.secrets.Write(p, func(shown []byte) { kept = s.add(shown) || kept })
	return kept
}

// finish keeps what was held back because it might have become a secret: nothing more comes.
func (s *spool) finish() (kept bool) {
	s.secrets.Flush(func(shown []byte) { kept = s.add(shown) || kept })
	return kept
}

func (s *spool) add(p []byte) (kept bool) {
	s.mu.Lock()
	file, stored, room := s.file, s.stored, s.limit-s.stored
	full := s.full || room == 0
	s.mu.Unlock()
	n := 0
	if !full {
		file, n = s.keep(file, p[:min(int64(len(p)), room)], stored)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = file
	s.size += int64(len(p))
	s.stored += int64(n)
	s.full = full || n < len(p)
	return n > 0
}

// keep writes to the file, which is made now when there is none.
func (s *spool) keep(to file, p []byte, offset int64) (file, int) {
	disk.Enter()
	defer disk.Leave()
	if to == nil {
		made, err := s.folder.Nameless()
		if err != nil {
			return nil, 0
		}
		to = made
	}
	n, _ := to.WriteAt(p, offset)
	return to, n
}

// output is how much was written and how much of it kept.
func (s *spool) output() wire.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.Output{Size: s.size, Stored: s.stored}
}

// readAt reads kept bytes; fewer than p holds only at their end.
func (s *spool) readAt(p []byte, offset int64) (int, error) {
	s.mu.Lock()
	file, stored := s.file, s.stored
	s.mu.Unlock()
	if file == nil || offset >= stored {
		return 0, io.EOF
	}
	return file.ReadAt(p[:min(int64(len(p)), stored-offset)], offset)
}

func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
	s.full = true
}
