// Package unpack lays out archives in folders that a sandbox mounts to read.
package unpack

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolcall-operator/supervisor/internal/usage"
)

// job is one archive: a file, the digest that it must have ("-" for none), and the folder that it goes to.
type job struct{ file, digest, folder string }

// noDigest is said in the place of a digest that nobody knows.
const noDigest = "-"

// Main unpacks what the command line names. Errors: flag.ErrHelp, *usage.Error, or what is wrong with which archive.
func Main(args []string) error {
	jobs, most, err := parse(args)
	if err != nil {
		return err
	}
	room := newRoom(most)
	for _, j := range jobs {
		if err := j.do(room); err != nil {
			return fmt.Errorf("%s to %s: %w", j.file, j.folder, err)
		}
	}
	return nil
}

func parse(args []string) (jobs []job, most int64, err error) {
	flags := flag.NewFlagSet("supervisor unpack [FLAGS] FILE DIGEST|- DIR [FILE DIGEST|- DIR …]", flag.ContinueOnError)
	flags.Int64Var(&most, "bytes", 1<<30, "`BYTES` that all archives together may hold when they are unpacked, their headers among them")
	if err := usage.Parse(flags, args); err != nil {
		return nil, 0, err
	}
	if most <= 0 {
		return nil, 0, usage.Errorf("--bytes must be more than nothing")
	}
	words := flags.Args()
	if len(words) == 0 || len(words)%3 != 0 {
		return nil, 0, usage.Errorf("it takes FILE DIGEST|- DIR, once or more")
	}
	for group := range slices.Chunk(words, 3) {
		jobs = append(jobs, job{group[0], group[1], filepath.Clean(group[2])})
	}
	return jobs, most, check(jobs)
}

func check(jobs []job) error {
	folders := map[string]bool{}
	for _, j := range jobs {
		if j.digest != noDigest && !isDigest(j.digest) {
			return usage.Errorf("%.100q is neither %sHEX nor %s", j.digest, digestPrefix, noDigest)
		}
		if folders[j.folder] {
			return usage.Errorf("%.100q is given twice", j.folder)
		}
		folders[j.folder] = true
	}
	return nil
}

const digestPrefix = "sha256:"

func isDigest(text string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(text, digestPrefix))
	return strings.HasPrefix(text, digestPrefix) && err == nil && len(sum) == sha256.Size
}

// do checks the archive before anything is written.
func (j job) do(room *room) error {
	file, err := os.Open(j.file)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := j.compare(file); err != nil {
		return err
	}
	return into(j.folder, func(root *os.Root) error { return extract(file, root, room) })
}

// compare compares the digests, and goes back to the beginning of the file.
func (j job) compare(file io.ReadSeeker) error {
	if j.digest == noDigest {
		return nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	if found := digestPrefix + hex.EncodeToString(hash.Sum(nil)); !strings.EqualFold(found, j.digest) {
		return fmt.Errorf("its digest is %s, and not %s", found, j.digest)
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}
