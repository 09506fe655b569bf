package calls

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/wire"
)

func TestASpoolKeepsTheHeadAndCountsEverything(t *testing.T) {
	for name, row := range map[string]struct {
		limit  int64
		writes []string
		stored string
	}{
		"nothing written":         {10, nil, ""},
		"below the limit":         {10, []string{"abc", "def"}, "abcdef"},
		"exactly at the limit":    {6, []string{"abc", "def"}, "abcdef"},
		"straddling the limit":    {5, []string{"abc", "def", "ghi"}, "abcde"},
		"far beyond the limit":    {4, []string{"abcdefgh", "ijklmnop", "q"}, "abcd"},
		"a limit of 0":            {0, []string{"abc"}, ""},
		"one write over a border": {1, []string{"ab"}, "a"},
	} {
		s := &spool{folder: openFolder(t, t.TempDir()), limit: row.limit, secrets: redact.NewSet().Stream()}
		for _, w := range row.writes {
			s.write([]byte(w))
		}
		want := wire.Output{Size: int64(len(strings.Join(row.writes, ""))), Stored: int64(len(row.stored))}
		if got := s.output(); got != want {
			t.Errorf("%s: %+v, expected %+v", name, got, want)
		}
		got := make([]byte, 100)
		n, _ := s.readAt(got, 0)
		if string(got[:n]) != row.stored {
			t.Errorf("%s: kept %q", name, got[:n])
		}
		s.close()
	}
}

func TestASpoolIsReadFromAnyOffset(t *testing.T) {
	s := &spool{folder: openFolder(t, t.TempDir()), limit: 100, secrets: redact.NewSet().Stream()}
	defer s.close()
	s.write([]byte("0123456789"))
	p := make([]byte, 4)
	if n, err := s.readAt(p, 3); n != 4 || err != nil || string(p) != "3456" {
		t.Errorf("%q, %v", p[:n], err)
	}
	if n, _ := s.readAt(p, 8); string(p[:n]) != "89" {
		t.Errorf("%q", p[:n])
	}
	if n, err := s.readAt(p, 10); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

func TestASpoolOnADiskThatTakesNothingCountsOn(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &spool{limit: 100, file: full, secrets: redact.NewSet().Stream()}
	defer s.close()
	if s.write([]byte("abc")) {
		t.Error("something was kept")
	}
	s.write([]byte("de"))
	if got := s.output(); got != (wire.Output{Size: 5}) {
		t.Errorf("%+v", got)
	}
}

func TestWhereAllSpoolsTogetherAreFullTheRestIsCountedUntilACallIsForgotten(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Spool.Limit(8192) })
	first, exit := s.run(sh("head -c 6000 /dev/zero; head -c 6000 /dev/zero >&2"))
	s.expect(exit, "Exited code 0")
	if exit.Stdout.Size != 6000 || exit.Stderr.Size != 6000 || exit.Stdout.Stored+exit.Stderr.Stored > 8192 {
		t.Errorf("%+v", exit)
	}
	_, exit = s.run(sh("echo lost"))
	if exit.Stdout != (wire.Output{Size: 5}) {
		t.Errorf("%+v, while the first call holds all there is", exit.Stdout)
	}
	if err := s.Acknowledge(first.UID()); err != nil {
		t.Fatal(err)
	}
	c, exit := s.run(sh("echo kept"))
	if got := s.text(c, wire.Stdout); got != "kept\n" || exit.Stdout.Stored != 5 {
		t.Errorf("%q, %+v", got, exit.Stdout)
	}
}

func TestStandardInputTakesRoomUntilItsCallHasEnded(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Spool.Limit(8192) })
	file, err := s.config.Spool.Nameless()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, 8192), 0); err != nil {
		t.Fatal(err)
	}
	stdin, err := file.ReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	reader, _, err := s.Start(sh("sleep 60"), stdin)
	if err != nil {
		t.Fatal(err)
	}
	if _, exit := s.run(sh("echo lost")); exit.Stdout.Stored != 0 {
		t.Errorf("%+v, while another call may read as much", exit.Stdout)
	}
	_ = s.Kill(reader.UID())
	s.end(reader)
	if _, exit := s.run(sh("echo kept")); exit.Stdout.Stored != 5 {
		t.Errorf("%+v, and nothing else is there", exit.Stdout)
	}
}

func TestASpoolMakesNoFileBeforeTheFirstByteAndNoNameEver(t *testing.T) {
	folder := t.TempDir()
	s := &spool{folder: openFolder(t, folder), limit: 100, secrets: redact.NewSet().Stream()}
	defer s.close()
	if s.file != nil {
		t.Error("a file was made")
	}
	s.write([]byte("abc"))
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestStreamsAreKeptApartByteForByte(t *testing.T) {
	s := newSandbox(t)
	c, exit := s.run(sh(`printf 'a\000\377b'; printf 'e\r\n' >&2; printf c`))
	s.expect(exit, "Exited code 0")
	if got := s.text(c, wire.Stdout); got != "a\x00\xffbc" {
		t.Errorf("stdout %q", got)
	}
	if got := s.text(c, wire.Stderr); got != "e\r\n" {
		t.Errorf("stderr %q", got)
	}
	if exit.Stdout != (wire.Output{Size: 5, Stored: 5}) || exit.Stderr != (wire.Output{Size: 3, Stored: 3}) {
		t.Errorf("%+v", exit)
	}
}

func TestAToolIsNeverBlockedByOutputThatNobodyReads(t *testing.T) {
	s := newSandbox(t)
	r := sh("head -c 5000000 /dev/zero; head -c 70000 /dev/zero >&2")
	r.OutputBytes = 1000
	_, exit := s.run(r)
	s.expect(exit, "Exited code 0")
	if exit.Stdout != (wire.Output{Size: 5000000, Stored: 1000}) || exit.Stderr != (wire.Output{Size: 70000, Stored: 1000}) {
		t.Errorf("%+v", exit)
	}
}

func TestEverythingThatWasWrittenIsThereWithTheExit(t *testing.T) {
	s := newSandbox(t)
	for range 50 {
		c, _ := s.run(sh("head -c 65536 /dev/zero; printf end"))
		if got := s.text(c, wire.Stdout); len(got) != 65539 || !strings.HasSuffix(got, "end") {
			t.Fatalf("%d bytes", len(got))
		}
	}
}

func TestACallEndsAlsoWhenAStrangerHoldsItsOutputOpen(t *testing.T) {
	s := newSandbox(t)
	c := s.start(sh("echo early; sleep 0.3; echo late"))
	s.output(c, 1)
	// The tool's own pipe, opened once more by somebody who does not die with the call.
	held, err := os.OpenFile("/proc/"+itoa(descendantsOf(t, c.process.pid)[0])+"/fd/1", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	s.expect(s.end(c), "Exited code 0")
	if got := s.text(c, wire.Stdout); got != "early\nlate\n" {
		t.Errorf("got %q", got)
	}
}

func TestStandardInputIsAFileThatCanBeOpenedAgainToReadAndNotToWrite(t *testing.T) {
	for name, folder := range map[string]*kept.Folder{"on the disk": openFolder(t, t.TempDir()), "in memory": gone(t)} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			stdin, err := folder.Nameless()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stdin.Close() }()
			want := bytes.Repeat([]byte("0123456789"), 10000)
			if _, err := stdin.WriteAt(want, 0); err != nil {
				t.Fatal(err)
			}
			again, err := stdin.ReadOnly()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = again.Close() }()
			c, _, err := s.Start(sh("cat; cat /dev/stdin; echo x >/dev/stdin"), again)
			if err != nil {
				t.Fatal(err)
			}
			s.end(c)
			if got := s.text(c, wire.Stdout); got != string(want)+string(want) {
				t.Errorf("%d bytes, stderr %q", len(got), s.text(c, wire.Stderr))
			}
			after := make([]byte, len(want)+1)
			if n, err := stdin.ReadAt(after, 0); n != len(want) || err != io.EOF {
				t.Errorf("it has %d bytes, %v", n, err)
			}
		})
	}
}

// gone is a folder that was removed while it was open.
func gone(t *testing.T) *kept.Folder {
	t.Helper()
	path := t.TempDir() + "/gone"
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	folder := openFolder(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return folder
}
