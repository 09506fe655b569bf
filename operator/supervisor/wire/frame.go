// Package wire is the supervisor protocol as bytes: frames, and the messages that control frames carry. PROTOCOL.md is its contract.
package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Kind says what the body of a frame is.
type Kind byte

// The kinds of frames.
const (
	Control Kind = 1
	Data    Kind = 2
)

// Stream is one of a call's three byte streams.
type Stream byte

// The streams, numbered like the file descriptors.
const (
	Stdin  Stream = 0
	Stdout Stream = 1
	Stderr Stream = 2
)

// Bounds of frames. A peer that has not said hello yet is given less room.
const (
	MaxControl = 8 << 20
	MaxPayload = 65536
	MaxHello   = 64 << 10

	lengthSize     = 4
	kindSize       = 1
	dataHeaderSize = 4 + 1 + 8
	// DataOverhead is how many bytes of a data frame are not payload.
	DataOverhead = lengthSize + kindSize + dataHeaderSize
)

// Violation is a breach of the protocol: the connection that carried it is closed.
type Violation struct{ Message string }

func (v *Violation) Error() string { return v.Message }

func violation(format string, args ...any) error {
	return &Violation{Message: fmt.Sprintf(format, args...)}
}

// Frame is one decoded frame. Body (control) and Payload (data) are valid until the next one is read.
type Frame struct {
	Kind    Kind
	Body    []byte
	Channel uint32
	Stream  Stream
	Offset  uint64
	Payload []byte
}

// Reader takes frames off a byte stream.
type Reader struct {
	in         *bufio.Reader
	data       []byte
	maxControl int
}

// NewReader reads frames; until Admit is called a control body may hold MaxHello bytes only.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, MaxPayload), maxControl: MaxHello}
}

// Admit lets control bodies have their full size.
func (r *Reader) Admit() { r.maxControl = MaxControl }

// Next gives the next frame: io.EOF at a clean end, io.ErrUnexpectedEOF inside a frame, *Violation when the bytes break the protocol.
func (r *Reader) Next() (Frame, error) {
	var head [lengthSize]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return Frame{}, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length == 0 {
		return Frame{}, violation("a frame of length 0")
	}
	first, err := r.in.ReadByte()
	if err != nil {
		return Frame{}, truncated(err)
	}
	kind := Kind(first)
	body, err := r.body(kind, int64(length)-kindSize)
	if err != nil {
		return Frame{}, err
	}
	if _, err := io.ReadFull(r.in, body); err != nil {
		return Frame{}, truncated(err)
	}
	if kind == Control {
		return control(body)
	}
	return data(body)
}

// body is a buffer of the size the frame names, or the reason why no frame of that size is read. Control bodies outlive the call (a request
// keeps its strings), data bodies share one buffer.
func (r *Reader) body(kind Kind, size int64) ([]byte, error) {
	switch kind {
	case Control:
		if size > int64(r.maxControl) {
			return nil, violation("a control frame of %d bytes, more than %d", size, r.maxControl)
		}
		return make([]byte, size), nil
	case Data:
		if size <= dataHeaderSize || size > dataHeaderSize+MaxPayload {
			return nil, violation("a data frame of %d bytes", size)
		}
		if r.data == nil {
			r.data = make([]byte, dataHeaderSize+MaxPayload)
		}
		return r.data[:size], nil
	default:
		return nil, violation("a frame of kind %d", kind)
	}
}

func control(body []byte) (Frame, error) {
	if !utf8.Valid(body) {
		return Frame{}, violation("a control frame that is not UTF-8")
	}
	return Frame{Kind: Control, Body: body}, nil
}

func data(body []byte) (Frame, error) {
	f := Frame{
		Kind:    Data,
		Channel: binary.BigEndian.Uint32(body),
		Stream:  Stream(body[4]),
		Offset:  binary.BigEndian.Uint64(body[5:]),
		Payload: body[dataHeaderSize:],
	}
	if f.Stream > Stderr {
		return Frame{}, violation("a data frame of stream %d", f.Stream)
	}
	if f.Channel == 0 {
		return Frame{}, violation("a data frame of channel 0")
	}
	return f, nil
}

func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// AppendControl appends a control frame with this body.
func AppendControl(to []byte, body []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(kindSize+len(body)))
	to = append(to, byte(Control))
	return append(to, body...)
}

// AppendData appends a data frame with this payload.
func AppendData(to []byte, channel uint32, stream Stream, offset int64, payload []byte) []byte {
	to = AppendDataHead(to, channel, stream, offset, len(payload))
	return append(to, payload...)
}

// AppendDataHead appends all of a data frame but its payload, whose size it promises.
func AppendDataHead(to []byte, channel uint32, stream Stream, offset int64, size int) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(kindSize+dataHeaderSize+size))
	to = append(to, byte(Data))
	to = binary.BigEndian.AppendUint32(to, channel)
	to = append(to, byte(stream))
	return binary.BigEndian.AppendUint64(to, uint64(offset))
}
