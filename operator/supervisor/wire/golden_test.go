package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"testing"
	"time"
)

// golden is one frame of testdata/golden.json, which the operator's tests read too.
type golden struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	From       string          `json:"from"`
	Hex        string          `json:"hex"`
	Message    json.RawMessage `json:"message"`
	Channel    uint32          `json:"channel"`
	Stream     Stream          `json:"stream"`
	Offset     uint64          `json:"offset"`
	PayloadHex string          `json:"payloadHex"`
	Error      bool            `json:"error"`
}

func (g golden) bytes(t *testing.T) []byte {
	t.Helper()
	b, err := hex.DecodeString(g.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goldens(t *testing.T, wanted func(golden) bool) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, some []golden
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if wanted(g) {
			some = append(some, g)
		}
	}
	if len(some) == 0 {
		t.Fatal("no golden frame of this sort")
	}
	return some
}

// decoded reads one frame, and the request when it is a control frame.
func decoded(b []byte) (any, error) {
	reader := NewReader(bytes.NewReader(b))
	reader.Admit()
	frame, err := reader.Next()
	if err != nil || frame.Kind == Data {
		return frame, err
	}
	return Request(frame.Body)
}

func TestEveryGoldenRequestIsUnderstoodAndMeansWhatItSays(t *testing.T) {
	for _, g := range goldens(t, func(g golden) bool { return g.From == "operator" && g.Message != nil }) {
		got, err := decoded(g.bytes(t))
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		if want := requestOf(t, g.Message); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", g.Name, got, want)
		}
	}
}

// requestOf reads a message with the struct tags of a plain JSON decoder, so that the strict one is compared with another.
func requestOf(t *testing.T, message []byte) any {
	t.Helper()
	var m struct {
		Type                       string
		Versions                   []int
		Key, Client, UID           string
		Epoch, ID, Bytes           int64
		Channel                    uint32
		Argv                       []string
		Env                        map[string]string
		StdinSize, OutputBytes     int64
		TimeoutMs, GraceMs         int64
		Pids                       int
		StdoutOffset, StderrOffset int64
		Window                     int64
		Confine                    struct {
			Network, Program string
			Writable         *[]string
		}
		Credentials *struct {
			Env       map[string]string
			Redaction string
			Workspace Workspace
			Exclusive bool
		}
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatal(err)
	}
	view := View{m.StdoutOffset, m.StderrOffset, m.Window}
	millis := time.Millisecond
	confinement := Confinement{NoNetwork: m.Confine.Network != "", TrustedProgram: m.Confine.Program != "", BindsWrites: m.Confine.Writable != nil}
	if confinement.BindsWrites {
		confinement.Writable = append(confinement.Writable, *m.Confine.Writable...)
	}
	var credentials *Credentials
	if c := m.Credentials; c != nil {
		credentials = &Credentials{c.Env, c.Redaction == "", c.Workspace, c.Exclusive}
	}
	switch m.Type {
	case "hello":
		key, _ := hex.DecodeString(m.Key)
		return Hello{m.Versions, key, m.Epoch, m.Client}
	case "start":
		return Start{m.Channel, m.UID, m.Argv, m.Env, m.StdinSize, time.Duration(m.TimeoutMs) * millis, time.Duration(m.GraceMs) * millis,
			m.OutputBytes, m.Pids, confinement, credentials, view}
	case "attach":
		return Attach{m.Channel, m.UID, view}
	case "detach":
		return Detach{m.Channel}
	case "credit":
		return Credit{m.Channel, m.Bytes}
	case "kill":
		return Kill{m.ID, m.UID}
	case "acknowledge":
		return Acknowledge{m.ID, m.UID}
	case "list":
		return List{m.ID}
	case "ping":
		return Ping{m.ID}
	}
	t.Fatalf("a golden request of type %q", m.Type)
	return nil
}

func TestEveryGoldenAnswerIsWhatTheSupervisorSays(t *testing.T) {
	for _, g := range goldens(t, func(g golden) bool { return g.From == "supervisor" && g.Message != nil }) {
		said := AppendAnswer(nil, answerOf(t, g.Message))
		if !reflect.DeepEqual(loose(t, said[5:]), loose(t, g.bytes(t)[5:])) {
			t.Errorf("%s:\n said %s\nwant %s", g.Name, said[5:], g.Message)
		}
	}
}

func answerOf(t *testing.T, message []byte) any {
	t.Helper()
	kind := loose(t, message)["type"]
	for _, answer := range []any{
		&Welcome{}, &Started{}, &Detached{}, &Killing{}, &Acknowledgement{}, &Calls{}, &Pong{}, &Refused{}, &Exit{},
	} {
		value := reflect.ValueOf(answer)
		if kindOf(value.Elem().Interface()) == kind {
			if err := json.Unmarshal(message, answer); err != nil {
				t.Fatal(err)
			}
			return value.Elem().Interface()
		}
	}
	t.Fatalf("a golden answer of type %v", kind)
	return nil
}

func loose(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryGoldenDataFrameIsReadAndWrittenByteForByte(t *testing.T) {
	for _, g := range goldens(t, func(g golden) bool { return g.Kind == "data" && !g.Error }) {
		payload, _ := hex.DecodeString(g.PayloadHex)
		frame, err := NewReader(bytes.NewReader(g.bytes(t))).Next()
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		want := Frame{Kind: Data, Channel: g.Channel, Stream: g.Stream, Offset: g.Offset, Payload: payload}
		if !reflect.DeepEqual(frame, want) {
			t.Errorf("%s: got %+v", g.Name, frame)
		}
		if written := AppendData(nil, g.Channel, g.Stream, int64(g.Offset), payload); !bytes.Equal(written, g.bytes(t)) {
			t.Errorf("%s: written as %x", g.Name, written)
		}
	}
}

func TestEveryMalformedGoldenFrameIsRefused(t *testing.T) {
	for _, g := range goldens(t, func(g golden) bool { return g.Error }) {
		if got, err := decoded(g.bytes(t)); err == nil || err == io.EOF {
			t.Errorf("%s: read as %+v", g.Name, got)
		}
	}
}

func TestAnySplitOfTheByteStreamReadsTheSame(t *testing.T) {
	var stream []byte
	frames := goldens(t, func(g golden) bool { return !g.Error })
	for _, g := range frames {
		stream = append(stream, g.bytes(t)...)
	}
	for _, size := range []int{1, 2, 3, 7, 64, 1000, len(stream)} {
		reader := NewReader(&chopped{stream, size})
		for _, g := range frames {
			frame, err := reader.Next()
			if err != nil {
				t.Fatalf("in pieces of %d: %s: %v", size, g.Name, err)
			}
			if whole := g.bytes(t)[5:]; frame.Kind == Control && !bytes.Equal(frame.Body, whole) {
				t.Errorf("in pieces of %d: %s: got %s", size, g.Name, frame.Body)
			}
			if payload := hex.EncodeToString(frame.Payload); payload != g.PayloadHex {
				t.Errorf("in pieces of %d: %s: got %s", size, g.Name, payload)
			}
		}
		if _, err := reader.Next(); err != io.EOF {
			t.Errorf("in pieces of %d: after the last frame: %v", size, err)
		}
	}
}

// chopped gives a byte stream in pieces.
type chopped struct {
	left []byte
	size int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.left[:min(c.size, len(c.left))])
	c.left = c.left[n:]
	return n, nil
}
