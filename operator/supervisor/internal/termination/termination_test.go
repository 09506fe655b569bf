package termination

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func TestTheReasonReplacesWhatIsInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("before ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	Log(path, "it broke")
	if text, err := os.ReadFile(path); err != nil || string(text) != "it broke" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAFileThatIsNotThereIsNotMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	Log(path, "it broke")
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoFileIsLeftAloneAndWaitedForByNobody(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"link": os.Symlink(target, filepath.Join(dir, "link")),
		"fifo": syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		"dir":  os.Mkdir(filepath.Join(dir, "dir"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
		Log(filepath.Join(dir, name), "it broke")
	}
	if text, _ := os.ReadFile(target); string(text) != "untouched" {
		t.Errorf("%q was written through a link", text)
	}
}

func TestAReasonIsOneShortLineOfText(t *testing.T) {
	for reason, want := range map[string]string{
		"plain":                "plain",
		"two\nlines\n":         "two lines",
		"a\x1b[31mred\x00\x9b": "a [31mred  ",
		"not \xff UTF-8":       "not   UTF-8",
	} {
		if line := Line(reason); line != want {
			t.Errorf("%q became %q", reason, line)
		}
	}
	for _, letter := range []string{"x", "ü", "☃"} {
		line := Line(strings.Repeat(letter, 2000))
		if len(line) > longest || len(line) < longest-6 || !utf8.ValidString(line) || !strings.HasSuffix(line, letter+"…") {
			t.Errorf("%d bytes, %q", len(line), line[len(line)-10:])
		}
	}
}
