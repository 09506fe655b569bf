package server

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/internal/redact"
	"toolcall-operator/supervisor/reaper"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

var (
	theReaper   *reaper.Reaper
	theLauncher *calls.Launcher
	theKey      = []byte("key of the test")
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		os.Exit(shim.Main())
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	theReaper = reaper.Start()
	var err error
	if theLauncher, err = calls.NewLauncher(theReaper, os.Environ(), 0); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// plenty is a gauge of a machine that has all the memory there is.
type plenty struct{}

func (plenty) Limit() int64             { return 0 }
func (plenty) Usage(func() int64) int64 { return 0 }
func (plenty) OOMKills() int64          { return 0 }

func newServer(t *testing.T) *Server {
	t.Helper()
	spool, err := kept.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	homes, err := private.Open(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	registry := calls.NewRegistry(calls.Config{
		Launcher: theLauncher,
		Base: calls.Base{
			Env:         map[string]string{"PATH": "/usr/bin:/bin"},
			Path:        []string{"/usr/bin", "/bin"},
			Box:         confine.DefaultBox(nil),
			Inputs:      spool,
			Homes:       homes,
			LandlockABI: confine.ABI(),
		},
		Spool:     spool,
		Retention: time.Minute,
		Gauge:     plenty{},
		Secrets:   redact.NewSet(),
	})
	t.Cleanup(func() { registry.KillAll(); _ = registry.AwaitEnd(10 * time.Second) })
	return New(Config{
		Calls:    registry,
		Identity: Identity{BootID: "boot", Version: "0", LandlockABI: 7, Isolation: "Landlock"},
		KeyHash:  sha256.Sum256(theKey),
		Spool:    spool,
	})
}

// message is an answer as JSON has it, or {"type": "data"} with the parts of a data frame.
type message map[string]any

func (m message) String() string {
	text, _ := json.Marshal(map[string]any(m))
	return string(text)
}

// operator is the other end of a connection.
type operator struct {
	t      *testing.T
	conn   net.Conn
	frames *wire.Reader
	served chan error
}

// dial opens a connection whose hello is not said yet.
func dial(t *testing.T, s *Server) *operator {
	t.Helper()
	here, there := net.Pipe()
	o := &operator{t: t, conn: here, frames: wire.NewReader(here), served: make(chan error, 1)}
	o.frames.Admit()
	go func() {
		o.served <- s.Serve(there)
		_ = there.Close()
	}()
	t.Cleanup(func() { _ = here.Close() })
	_ = here.SetDeadline(time.Now().Add(20 * time.Second))
	return o
}

// greeted opens a connection at an epoch.
func greeted(t *testing.T, s *Server, epoch int) *operator {
	t.Helper()
	o := dial(t, s)
	o.send(`{"type":"hello","versions":[1],"key":"%x","epoch":%d,"client":"test"}`, theKey, epoch)
	o.expect(`"hello"`)
	return o
}

func (o *operator) send(format string, args ...any) {
	o.t.Helper()
	if _, err := o.conn.Write(wire.AppendControl(nil, fmt.Appendf(nil, format, args...))); err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) stdin(channel uint32, offset int64, payload string) {
	o.t.Helper()
	if _, err := o.conn.Write(wire.AppendData(nil, channel, wire.Stdin, offset, []byte(payload))); err != nil {
		o.t.Fatal(err)
	}
}

// receive gives the next message, nil at the end.
func (o *operator) receive() message {
	o.t.Helper()
	frame, err := o.frames.Next()
	if err == io.EOF || err == io.ErrClosedPipe {
		return nil
	}
	if err != nil {
		o.t.Fatal(err)
	}
	if frame.Kind == wire.Data {
		return message{"type": "data", "channel": int(frame.Channel), "stream": int(frame.Stream), "offset": int(frame.Offset), "text": string(frame.Payload)}
	}
	var m message
	if err := json.Unmarshal(frame.Body, &m); err != nil {
		o.t.Fatal(err)
	}
	return m
}

// expect gives the next message, which must hold each of the texts.
func (o *operator) expect(texts ...string) message {
	o.t.Helper()
	m := o.receive()
	for _, text := range texts {
		if !strings.Contains(m.String(), text) {
			o.t.Fatalf("got %s, expected %s", m, text)
		}
	}
	return m
}

// options are the parts of a start that tests change.
type options struct {
	timeoutMs, graceMs, outputBytes, stdin, stdout, stderr, window int
}

func usual() options {
	return options{timeoutMs: 60000, graceMs: 0, outputBytes: 1 << 20, window: 256 << 10}
}

func (o *operator) start(channel int, uid, script string, with options) {
	o.t.Helper()
	argv, _ := json.Marshal([]string{"sh", "-c", script})
	o.send(`{"type":"start","channel":%d,"uid":%q,"argv":%s,"env":{},"stdinSize":%d,"timeoutMs":%d,"graceMs":%d,"outputBytes":%d,"pids":50,`+
		`"stdoutOffset":%d,"stderrOffset":%d,"window":%d}`,
		channel, uid, argv, with.stdin, with.timeoutMs, with.graceMs, with.outputBytes, with.stdout, with.stderr, with.window)
}

func (o *operator) attach(channel int, uid string, stdout, stderr, window int) {
	o.t.Helper()
	o.send(`{"type":"attach","channel":%d,"uid":%q,"stdoutOffset":%d,"stderrOffset":%d,"window":%d}`, channel, uid, stdout, stderr, window)
}

// until gathers the output of a channel up to its exit.
func (o *operator) until(channel int) (stdout, stderr string, exit message) {
	o.t.Helper()
	texts := [3]string{}
	starts := [3]int{-1, -1, -1}
	for {
		m := o.receive()
		switch {
		case m == nil:
			o.t.Fatal("the connection ended before the call")
		case m["type"] == "data" && m["channel"] == channel:
			stream, offset := m["stream"].(int), m["offset"].(int)
			if starts[stream] < 0 {
				starts[stream] = offset
			}
			if offset != starts[stream]+len(texts[stream]) {
				o.t.Fatalf("stream %d goes on at %d after %d bytes from %d", stream, offset, len(texts[stream]), starts[stream])
			}
			texts[stream] += m["text"].(string)
		case m["type"] == "exit" && m["channel"] == float64(channel):
			return texts[1], texts[2], m
		}
	}
}

// raw writes bytes that may break the protocol.
func (o *operator) raw(b []byte) {
	o.t.Helper()
	if _, err := o.conn.Write(b); err != nil {
		o.t.Fatal(err)
	}
}

func length(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
