package kept

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// block is what a disk gives at once: the shortest file takes one.
const block = 4096

// bound is how many blocks the nameless files of a folder may have together.
type bound struct {
	mu   sync.Mutex
	set  bool
	left int64
}

// take gives as many of so many blocks as are left.
func (b *bound) take(blocks int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.set {
		return blocks
	}
	given := min(blocks, b.left)
	b.left -= given
	return given
}

func (b *bound) giveBack(blocks int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += blocks
}

// File is a nameless file. It holds room in its folder until it is closed. A nil File is none, and can be closed.
type File struct {
	file  *os.File
	bound *bound

	mu     sync.Mutex
	blocks int64 // that it has of the bound
}

// WriteAt writes as much as the folder has room for; ENOSPC, as of a full disk, when that is not all.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	room := max(0, f.grow(offset+int64(len(p)))-offset)
	if room >= int64(len(p)) {
		return f.file.WriteAt(p, offset)
	}
	n, err := f.file.WriteAt(p[:room], offset)
	if err == nil {
		err = &os.PathError{Op: "write", Path: f.file.Name(), Err: unix.ENOSPC}
	}
	return n, err
}

// grow takes room for so many bytes, and says for how many there is.
func (f *File) grow(size int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wanted := (size+block-1)/block - f.blocks; wanted > 0 {
		f.blocks += f.bound.take(wanted)
	}
	return f.blocks * block
}

// ReadAt reads like that of os.File.
func (f *File) ReadAt(p []byte, offset int64) (int, error) { return f.file.ReadAt(p, offset) }

// Fd is its descriptor.
func (f *File) Fd() uintptr { return f.file.Fd() }

// Close gives its room back: nobody else may have it open any more.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	f.bound.giveBack(f.leave())
	return f.file.Close()
}

// leave gives up the blocks without giving them back.
func (f *File) leave() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	blocks := f.blocks
	f.blocks = 0
	return blocks
}

// ReadOnly opens the file again, from its beginning and for reading, with the room that it had. It lets nobody write it any more whom Landlock would
// let: it does not guard memory.
func (f *File) ReadOnly() (*File, error) {
	// Refused by a file on a disk.
	_, _ = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK)
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil, err
	}
	return &File{file: again, bound: f.bound, blocks: f.leave()}, nil
}
