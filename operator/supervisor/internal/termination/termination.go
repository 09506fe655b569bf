// Package termination leaves the reason why a container ended where Kubernetes shows it, in the container's status.
package termination

import (
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// File is where a kubelet looks for the reason; it made the file before the container was started.
const File = "/dev/termination-log"

// longest is what is kept of a reason, in bytes: a status is read by people.
const longest = 1024

// Log leaves the reason in a file, in one line. Where there is no such file, or it may not be written, nothing is done: the reason is on stderr as well.
func Log(path, reason string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	_, _ = file.WriteString(Line(reason))
}

// Line is a reason in one line of bounded length, without control characters.
func Line(reason string) string {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, strings.TrimSpace(reason))
	if len(line) <= longest {
		return line
	}
	const cut = "…"
	end := longest - len(cut)
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + cut
}
