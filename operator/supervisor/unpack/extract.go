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

// archive is one that is being unpacked.
type archive struct {
	root       *os.Root
	left, most int64 // bytes that may still be written, and in all
	names      int   // entries that came
}

// extract unpacks a gzipped tar archive, of at most so many bytes when it is unpacked.
func extract(file io.Reader, root *os.Root, most int64) error {
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("it is not a gzip file: %w", err)
	}
	whole := &bounded{from: unzipped, left: most, most: most}
	entries := tar.NewReader(whole)
	a := &archive{root: root, left: most, most: most}
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

// bounded is a stream that breaks when it gets too long.
type bounded struct {
	from       io.Reader
	left, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, tooMuch(b.most)
	}
	return n, err
}

func tooMuch(most int64) error { return fmt.Errorf("it holds more than %d bytes", most) }

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
