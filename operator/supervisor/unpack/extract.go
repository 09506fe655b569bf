package unpack

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
)

// mostEntries bounds the files, folders and links of one archive.
const mostEntries = 65536

// room is how many bytes all archives together may have, and have left: in their streams, and in their files, which may have holes.
type room struct{ most, streams, files int64 }

func newRoom(most int64) *room { return &room{most, most, most} }

// take uses room up.
func (r *room) take(left *int64, bytes int64) error {
	if *left -= bytes; *left < 0 {
		return fmt.Errorf("what is unpacked has more than %d bytes", r.most)
	}
	return nil
}

// archive is one that is being unpacked.
type archive struct {
	root  *os.Root
	room  *room
	names int // entries that came
}

// extract unpacks a gzipped tar archive.
func extract(file io.Reader, root *os.Root, room *room) error {
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("it is not a gzip file: %w", err)
	}
	whole := &bounded{unzipped, room}
	entries := tar.NewReader(whole)
	a := &archive{root: root, room: room}
	for {
		header, err := entries.Next()
		if err == io.EOF {
			_, err := io.Copy(io.Discard, whole) // To its end, where its checksum is.
			return err
		}
		if err != nil {
			return err
		}
		if err := a.take(header, entries); err != nil {
			return err
		}
	}
}

// bounded is a stream that breaks when there is no room for it.
type bounded struct {
	from io.Reader
	room *room
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if over := b.room.take(&b.room.streams, int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

// take makes what one header stands for.
func (a *archive) take(header *tar.Header, content io.Reader) error {
	if a.names++; a.names > mostEntries {
		return fmt.Errorf("it holds more than %d entries", mostEntries)
	}
	if header.Typeflag == tar.TypeXGlobalHeader { // It says something of the archive, as `git archive` does, and is no entry.
		return nil
	}
	name, err := inside(header.Name)
	if err != nil {
		return fmt.Errorf("%.100q: %w", header.Name, err)
	}
	if err := a.make(name, header, content); err != nil {
		return fmt.Errorf("%.100q: %w", header.Name, err)
	}
	return nil
}
