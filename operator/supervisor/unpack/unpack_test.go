package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"toolcall-operator/supervisor/internal/usage"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // Tests compare whole modes, also of folders that they make themselves.
	os.Exit(m.Run())
}

// zipped is a gzipped tar archive of these entries. The size of a file is that of its text unless it is given.
func zipped(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Mode == 0 && e.Typeflag != tar.TypeXGlobalHeader {
			e.Mode = 0o600
		}
		e.Size = int64(len(e.text))
		if err := archive.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry { return entry{tar.Header{Name: name}, text} }

func program(name string, mode int64) entry { return entry{tar.Header{Name: name, Mode: mode}, ""} }

func folder(name string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o700}, ""}
}

func link(name, target string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}, ""}
}

func hard(name, target string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target}, ""}
}

func special(name string, kind byte) entry { return entry{tar.Header{Name: name, Typeflag: kind}, ""} }

func digestOf(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// place is an archive on a disk, and a folder for it that is not there yet.
type place struct{ archive, folder string }

func placed(t *testing.T, content []byte) place {
	t.Helper()
	dir := t.TempDir()
	p := place{dir + "/bundle.tar.gz", dir + "/mounts/a"}
	if err := os.WriteFile(p.archive, content, 0o400); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) unpack(flags ...string) error {
	return Main(append(flags, p.archive, noDigest, p.folder))
}

// tree is what lies in a folder: modes, and texts or targets.
func tree(t *testing.T, root string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(path string, found fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := found.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(path, root+"/") + " " + info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, _ := os.ReadFile(path)
			line += " " + string(text)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestAnArchiveIsLaidOutWithModesOfOurOwn(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	p := placed(t, zipped(t,
		entry{tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "of git"}}, ""},
		folder("./"),
		folder("sub/"),
		file("./sub/text", "some text"),
		program("tool", 0o4711),
		program("worldly", 0o666),
		link("sub/again", "text"),
		link("deep/down/up", "../../sub/text"),
		link("nowhere", "not/there"),
		hard("twin", "sub/text"),
	))
	if err := p.unpack(); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"deep drwxr-xr-x", "deep/down drwxr-xr-x", "deep/down/up Lrwxrwxrwx ../../sub/text", "nowhere Lrwxrwxrwx not/there",
		"sub drwxr-xr-x", "sub/again Lrwxrwxrwx text", "sub/text -rw-r--r-- some text",
		"tool -rwxr-xr-x ", "twin -rw-r--r-- some text", "worldly -rw-r--r-- ",
	}, "\n")
	if got := tree(t, p.folder); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestADigestIsComparedBeforeAnythingIsWritten(t *testing.T) {
	content := zipped(t, file("a", "text"))
	p := placed(t, content)
	other := digestOf([]byte("another"))
	err := Main([]string{p.archive, other, p.folder})
	if err == nil || !strings.Contains(err.Error(), digestOf(content)) || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Dir(p.folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	for _, digest := range []string{digestOf(content), "sha256:" + strings.ToUpper(digestOf(content)[7:])} {
		if err := Main([]string{p.archive, digest, p.folder}); err != nil {
			t.Error(err)
		}
	}
	if got := tree(t, p.folder); got != "a -rw-r--r-- text" {
		t.Errorf("got %s", got)
	}
}

func TestManyArchivesAreUnpackedInOrderUntilOneFails(t *testing.T) {
	one, other := placed(t, zipped(t, file("a", "1"))), placed(t, []byte("no archive"))
	third := placed(t, zipped(t, file("a", "3")))
	err := Main([]string{one.archive, noDigest, one.folder, other.archive, noDigest, other.folder, third.archive, noDigest, third.folder})
	if err == nil || !strings.Contains(err.Error(), other.archive) || !strings.Contains(err.Error(), other.folder) {
		t.Errorf("got %v", err)
	}
	if tree(t, one.folder) != "a -rw-r--r-- 1" || tree(t, other.folder) != "" || tree(t, third.folder) != "" {
		t.Errorf("got %q, %q, %q", tree(t, one.folder), tree(t, other.folder), tree(t, third.folder))
	}
}

func TestAnArchiveThatReachesOutOfItsFolderIsRefusedAndNothingOfItStays(t *testing.T) {
	for name, entries := range map[string][]entry{
		"an absolute path":                       {file("/etc/x", "")},
		"a path upwards":                         {file("../x", "")},
		"a path upwards further down":            {file("a/../../x", "")},
		"a path upwards that stays inside":       {file("a/../x", "")},
		"a file through a link":                  {folder("a"), link("b", "a"), file("b/x", "")},
		"a folder through a link":                {folder("a"), link("b", "a"), folder("b/c")},
		"an absolute link":                       {link("x", "/etc/passwd")},
		"a link upwards":                         {link("x", "../x")},
		"a link upwards further down":            {link("a/x", "../../x")},
		"a link down and up again":               {folder("a"), link("a/x", "b/../../../x")},
		"a link by way of another":               {link("a/up", ".."), link("b", "a/up/../x")},
		"a link to nothing":                      {link("x", "")},
		"a hard link upwards":                    {hard("x", "../x")},
		"an absolute hard link":                  {hard("x", "/etc/passwd")},
		"a hard link to a folder":                {folder("a"), hard("x", "a")},
		"a hard link to a link":                  {link("a", "b"), hard("x", "a")},
		"a hard link to what came later":         {hard("x", "y"), file("y", "")},
		"a hard link through a link":             {folder("a"), file("a/f", ""), link("b", "a"), hard("x", "b/f")},
		"a hard link to itself":                  {file("x", ""), hard("x", "x")},
		"a device":                               {special("x", tar.TypeChar)},
		"a disk":                                 {special("x", tar.TypeBlock)},
		"a pipe":                                 {special("x", tar.TypeFifo)},
		"a kind that is not known":               {special("x", 'Z')},
		"a file where the folder is":             {file(".", "")},
		"a link where the folder is":             {link(".", "x")},
		"a file below a file":                    {file("a", ""), file("a/x", "")},
		"a file in the place of a folder":        {folder("a"), file("a", "")},
		"a folder in the place of a file":        {file("a", ""), folder("a")},
		"a link in the place of a filled folder": {file("a/x", ""), link("a", "b")},
	} {
		p := placed(t, zipped(t, append([]entry{file("early", "text")}, entries...)...))
		if err := p.unpack(); err == nil || len(err.Error()) > 1024 {
			t.Errorf("%s: %v", name, err)
		}
		if left := tree(t, filepath.Dir(p.folder)); left != "a drwxr-xr-x" {
			t.Errorf("%s: left is %s", name, left)
		}
	}
}

func TestOfTwoFilesWithOneNameTheLaterStands(t *testing.T) {
	p := placed(t, zipped(t, file("a", "first"), link("b", "a"), file("a", "second"), file("b", "third")))
	if err := p.unpack(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, p.folder); got != "a -rw-r--r-- second\nb -rw-r--r-- third" {
		t.Errorf("got %s", got)
	}
}

func TestTheBytesOfAllArchivesCountTogether(t *testing.T) {
	content := zipped(t, file("a", strings.Repeat("x", 20000)))
	one, other := placed(t, content), placed(t, content)
	err := Main([]string{"--bytes", "30000", one.archive, noDigest, one.folder, other.archive, noDigest, other.folder})
	if err == nil || !strings.Contains(err.Error(), other.archive) || !strings.Contains(err.Error(), "30000 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	many := make([]entry, mostEntries+1)
	for i := range many {
		many[i] = folder("a")
	}
	for name, row := range map[string]struct {
		content []byte
		flags   []string
		says    string
	}{
		"bytes":   {zipped(t, file("a", strings.Repeat("x", 20000))), []string{"--bytes", "19999"}, "19999 bytes"},
		"headers": {zipped(t, folder("a"), folder("b"), folder("c")), []string{"--bytes", "1000"}, "1000 bytes"},
		"holes":   {sparse(t), []string{"--bytes", "1000000"}, "1000000 bytes"},
		"padding": {padded(t, 100000), []string{"--bytes", "50000"}, "50000 bytes"},
		"entries": {zipped(t, many...), nil, "65536 entries"},
	} {
		p := placed(t, row.content)
		if err := p.unpack(row.flags...); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v", name, err)
		}
		if left := tree(t, p.folder); left != "" {
			t.Errorf("%s: left is %s", name, left)
		}
	}
}

// sparse is an archive with a file of a terabyte that has no bytes, in the format of GNU's tar 1.0 for PAX.
func sparse(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	record := func(key, value string) string {
		line := " " + key + "=" + value + "\n"
		for size := len(line); ; size++ {
			if whole := fmt.Sprint(size) + line; len(whole) == size {
				return whole
			}
		}
	}
	records := record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "a") +
		record("GNU.sparse.realsize", "1099511627776")
	_, _ = zip.Write(rawHeader("PaxHeaders/a", 'x', len(records)))
	_, _ = zip.Write(append([]byte(records), make([]byte, 512-len(records))...))
	_, _ = zip.Write(rawHeader("a", '0', 512))
	_, _ = zip.Write(append([]byte("0\n"), make([]byte, 510)...))
	_, _ = zip.Write(make([]byte, 1024))
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// rawHeader is a header as the format has it, which the writer of the library would not write.
func rawHeader(name string, kind byte, size int) []byte {
	header := make([]byte, 512)
	copy(header, name)
	copy(header[100:], "0000644\x000000000\x000000000\x00")
	copy(header[124:], fmt.Sprintf("%011o\x00%011o\x00        %c", size, 0, kind))
	copy(header[257:], "ustar\x0000")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return header
}

// padded is an archive with so many bytes after its end.
func padded(t *testing.T, size int) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write(make([]byte, 1024+size))
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestAnArchiveThatIsCutShortOrDamagedIsRefused(t *testing.T) {
	whole := zipped(t, file("a", strings.Repeat("some text ", 1000)))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6] ^= 1 // In the checksum, which comes after everything else.
	for name, content := range map[string][]byte{
		"empty":                   nil,
		"cut in the middle":       whole[:len(whole)/2],
		"cut before its checksum": whole[:len(whole)-8],
		"another checksum":        damaged,
		"not zipped":              []byte("plain text, and no archive at all"),
	} {
		p := placed(t, content)
		if err := p.unpack(); err == nil {
			t.Errorf("%s: it was unpacked", name)
		}
		if left := tree(t, p.folder); left != "" {
			t.Errorf("%s: left is %s", name, left)
		}
	}
}

func TestItCanBeDoneAgainAlsoAfterAnAttemptThatWasCutShort(t *testing.T) {
	p := placed(t, zipped(t, file("a", "text"), file("sub/b", "more")))
	if err := errors.Join(
		os.MkdirAll(p.folder+"/"+unfinished+"1/sub", 0o700), os.MkdirAll(p.folder+"/sub/old", 0o700), os.WriteFile(p.folder+"/others", nil, 0o644),
	); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.unpack(); err != nil {
			t.Fatal(err)
		}
		want := "a -rw-r--r-- text\nothers -rw-r--r-- \nsub drwxr-xr-x\nsub/b -rw-r--r-- more"
		if got := tree(t, p.folder); got != want {
			t.Errorf("got\n%s", got)
		}
	}
}

func TestAMistakeOnTheCommandLineIsTheCallers(t *testing.T) {
	digest := digestOf(nil)
	for _, args := range []string{
		"", "a", "a -", "a - b c", "a - b c - b", "a - b c - ./b/", "a sha256: b", "a md5:00 b", "a " + digest[7:] + " b", "a " + digest[:70] + " b",
		"--bytes 0 a - b", "--bytes much a - b", "--colour a - b",
	} {
		var mistake *usage.Error
		if err := Main(strings.Fields(args)); !errors.As(err, &mistake) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
