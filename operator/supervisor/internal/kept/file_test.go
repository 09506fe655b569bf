package kept

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func bounded(t *testing.T, blocks int64) *Folder {
	t.Helper()
	f := open(t, t.TempDir())
	f.Limit(blocks * block)
	return f
}

func nameless(t *testing.T, f *Folder) *File {
	t.Helper()
	file, err := f.Nameless()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// written is how many bytes of a write of so many were taken. Fewer than all must be the error of a full disk.
func written(t *testing.T, file *File, size int, offset int64) int {
	t.Helper()
	n, err := file.WriteAt(bytes.Repeat([]byte("x"), size), offset)
	if (n < size) != errors.Is(err, unix.ENOSPC) {
		t.Errorf("%d of %d bytes at %d: %v", n, size, offset, err)
	}
	return n
}

func TestAFolderThatIsFullTakesWhatFitsAndSaysSoLikeAFullDisk(t *testing.T) {
	f := bounded(t, 3)
	one, other := nameless(t, f), nameless(t, f)
	if n := written(t, one, 5000, 0); n != 5000 {
		t.Errorf("%d bytes", n)
	}
	if n := written(t, other, 5000, 0); n != block {
		t.Errorf("%d bytes, where one block was left", n)
	}
	if n := written(t, one, 4000, 5000); n != 2*block-5000 {
		t.Errorf("%d bytes, where the last block had %d left", n, 2*block-5000)
	}
	if n := written(t, other, 1, block); n != 0 {
		t.Errorf("%d bytes, where nothing was left", n)
	}
}

func TestWhatWasWrittenIsReadAlsoWhenMoreWasRefused(t *testing.T) {
	file := nameless(t, bounded(t, 1))
	written(t, file, 2*block, 0)
	got := make([]byte, 2*block)
	if n, err := file.ReadAt(got, 0); n != block || err != io.EOF || got[block-1] != 'x' {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestClosingGivesTheRoomBackOnce(t *testing.T) {
	f := bounded(t, 1)
	one := nameless(t, f)
	written(t, one, 10, 0)
	_, _ = one.Close(), one.Close()
	for range 2 {
		other := nameless(t, f)
		if n := written(t, other, 2*block, 0); n != block {
			t.Errorf("%d bytes", n)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAFileThatIsOpenedToReadKeepsItsRoom(t *testing.T) {
	f := bounded(t, 1)
	file := nameless(t, f)
	written(t, file, 10, 0)
	again, err := file.ReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	other := nameless(t, f)
	if n := written(t, other, 1, 0); n != 0 {
		t.Error("there was room while the file could be read")
	}
	_ = again.Close()
	if n := written(t, other, 1, 0); n != 1 {
		t.Error("there was no room when the file was gone")
	}
}

func TestManyWritersTogetherDoNotPassTheBound(t *testing.T) {
	f := bounded(t, 10)
	var all sync.WaitGroup
	sizes := make(chan int, 8)
	for range 8 {
		file := nameless(t, f)
		all.Go(func() {
			n, _ := file.WriteAt(make([]byte, 5*block), 0)
			sizes <- n
		})
	}
	all.Wait()
	close(sizes)
	total := 0
	for n := range sizes {
		total += n
	}
	if total != 10*block {
		t.Errorf("%d bytes", total)
	}
}

func TestAFolderWithoutABoundTakesEverything(t *testing.T) {
	if n := written(t, nameless(t, open(t, t.TempDir())), 100*block, 0); n != 100*block {
		t.Errorf("%d bytes", n)
	}
}

func TestNoFileCanBeClosed(t *testing.T) {
	var none *File
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
