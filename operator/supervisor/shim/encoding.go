package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// headSize is the length of a spec, which comes before it. Standard input, if there is any, travels beside the head.
const headSize = 4

var errMalformed = errors.New("a malformed spec")

// Append appends the spec as its bytes: a length, then numbers, lists and strings, each ended by NUL, which no argument, variable or path can hold.
// JSON would cost every call 0.2 ms: its decoder learns the types anew in each process.
func (s Spec) Append(to []byte) []byte {
	start := len(to)
	to = append(to, make([]byte, headSize)...)
	for _, n := range []int{s.Pids, s.LandlockABI} {
		to = appendText(to, strconv.Itoa(n))
	}
	for _, set := range s.flags() {
		to = appendText(to, strconv.Itoa(int(flag(*set))))
	}
	to = appendText(to, s.Dir)
	for _, list := range s.lists() {
		to = appendText(to, strconv.Itoa(len(*list)))
		for _, text := range *list {
			to = appendText(to, text)
		}
	}
	binary.BigEndian.PutUint32(to[start:], uint32(len(to)-start-headSize))
	return to
}

func (s *Spec) lists() []*[]string {
	return []*[]string{&s.Argv, &s.Env, &s.Path, &s.Box.Read, &s.Box.Write, &s.Box.Devices, &s.Distrusted}
}

func (s *Spec) flags() []*bool {
	return []*bool{&s.Box.RefuseUnixSockets, &s.Box.NoNetwork, &s.Box.BindsWrites, &s.Trusted}
}

func appendText(to []byte, text string) []byte { return append(append(to, text...), 0) }

// words takes the parts of a spec off, one by one.
type words struct {
	left []string
	err  error
}

func (w *words) text() string {
	if len(w.left) == 0 {
		w.err = errMalformed
		return ""
	}
	text := w.left[0]
	w.left = w.left[1:]
	return text
}

func (w *words) number() int {
	n, err := strconv.Atoi(w.text())
	if err != nil {
		w.err = errMalformed
	}
	return n
}

func (w *words) list() []string {
	n := w.number()
	if n < 0 || n > len(w.left) {
		w.err = errMalformed
		return nil
	}
	list := w.left[:n:n]
	w.left = w.left[n:]
	return list
}

func decode(body string) (Spec, error) {
	w := &words{left: strings.Split(body, "\x00")}
	var s Spec
	s.Pids, s.LandlockABI = w.number(), w.number()
	for _, set := range s.flags() {
		*set = w.number() == 1
	}
	s.Dir = w.text()
	for _, list := range s.lists() {
		*list = w.list()
	}
	return s, w.err
}

// receive waits for the spec on the control socket, and puts the standard input that comes with it in its place.
func receive() (Spec, error) {
	var head [headSize]byte
	if err := receiveHead(head[:]); err != nil {
		return Spec{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	for got := 0; got < len(body); {
		n, err := control(controlFD).Read(body[got:])
		if err != nil {
			return Spec{}, err
		}
		got += n
	}
	return decode(string(body))
}

func receiveHead(head []byte) error {
	rights := make([]byte, unix.CmsgSpace(4))
	var n, size int
	_, err := ignoringEINTR(func() (int, error) {
		var err error
		n, size, _, _, err = unix.Recvmsg(controlFD, head, rights, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
		return n, err
	})
	if err != nil {
		return err
	}
	if n < len(head) {
		return errNobody
	}
	if size == 0 {
		return nil
	}
	return takeStdin(rights[:size])
}

// errNobody ends a shim that was made in advance and is not needed.
var errNobody = errors.New("the supervisor is gone")

func takeStdin(rights []byte) error {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return errMalformed
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return errMalformed
	}
	defer func() { _ = unix.Close(fds[0]) }()
	if err := unix.Dup3(fds[0], 0, 0); err != nil {
		return fmt.Errorf("take stdin: %w", err)
	}
	return nil
}
