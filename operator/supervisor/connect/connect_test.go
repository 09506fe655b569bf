package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// both is stdin and stdout of a connect under test, as its operator holds them, and the end that serve holds.
func both(t *testing.T, silence time.Duration) (in *io.PipeWriter, out *io.PipeReader, serve net.Conn, ended chan error) {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	here, there := net.Pipe()
	ended = make(chan error, 1)
	go func() { ended <- bridge(inRead, outWrite, here, silence) }()
	t.Cleanup(func() { _ = here.Close(); _ = inWrite.Close(); _ = outRead.Close() })
	return inWrite, outRead, there, ended
}

func TestBytesGoBothWays(t *testing.T) {
	in, out, serve, _ := both(t, time.Minute)
	go func() { _, _ = in.Write([]byte("to serve")) }()
	got := make([]byte, 8)
	if _, err := io.ReadFull(serve, got); err != nil || string(got) != "to serve" {
		t.Errorf("%q, %v", got, err)
	}
	go func() { _, _ = serve.Write([]byte("from serve")) }()
	got = make([]byte, 10)
	if _, err := io.ReadFull(out, got); err != nil || string(got) != "from serve" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestItEndsWhenTheOperatorDoes(t *testing.T) {
	in, _, _, ended := both(t, time.Minute)
	_ = in.Close()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestItEndsWhenServeDoes(t *testing.T) {
	_, _, serve, ended := both(t, time.Minute)
	_ = serve.Close()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}

// refusing is a serve that takes nothing, says why a moment later, and closes.
type refusing struct{ said io.Reader }

func (r refusing) Write([]byte) (int, error) { return 0, syscall.EPIPE }
func (r refusing) Read(p []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return r.said.Read(p)
}

func TestWhatServeSaysBeforeItClosesIsCarriedOutAlsoWhenItTakesNoMore(t *testing.T) {
	var out bytes.Buffer
	err := bridge(bytes.NewReader([]byte("a hello")), &out, refusing{bytes.NewReader([]byte("BadKey"))}, time.Minute)
	if out.String() != "BadKey" || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestAServeThatTakesNoMoreAndSaysNothingIsNotWaitedForLong(t *testing.T) {
	never, _ := io.Pipe()
	begun := time.Now()
	err := bridge(bytes.NewReader([]byte("a hello")), io.Discard, refusing{never}, time.Minute)
	if took := time.Since(begun); took > lastWords+time.Second || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v after %s", err, took)
	}
}

func TestItEndsAtOnceWhenTheOperatorsConnectionBreaks(t *testing.T) {
	in, _, _, ended := both(t, time.Minute)
	begun := time.Now()
	_ = in.CloseWithError(syscall.ECONNRESET)
	if err := <-ended; !errors.Is(err, syscall.ECONNRESET) || time.Since(begun) > lastWords/2 {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
}

func TestItEndsWhenTheOperatorFallsSilentAndNotBefore(t *testing.T) {
	in, _, serve, ended := both(t, 450*time.Millisecond)
	go func() { _, _ = io.Copy(io.Discard, serve) }()
	for range 10 {
		time.Sleep(100 * time.Millisecond)
		_, _ = in.Write([]byte("ping"))
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended while the operator spoke: %v", err)
	default:
	}
	if err := <-ended; !errors.Is(err, ErrSilence) {
		t.Errorf("got %v", err)
	}
}

func addressOf(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("@toolcall-supervisor-test-%d-%s", os.Getpid(), t.Name())
}

func TestAServeThatListensSoonIsReached(t *testing.T) {
	address := addressOf(t)
	time.AfterFunc(200*time.Millisecond, func() {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: address})
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = listener.Close() })
	})
	begun := time.Now()
	conn, err := dial(address, 5*time.Second)
	if err != nil || time.Since(begun) < 200*time.Millisecond || time.Since(begun) > 2*time.Second {
		t.Fatalf("%v after %s", err, time.Since(begun))
	}
	_ = conn.Close()
}

func TestAServeThatNeverListensIsWaitedForOnlySoLong(t *testing.T) {
	begun := time.Now()
	err := carry(addressOf(t), 100*time.Millisecond, bytes.NewReader(nil), io.Discard)
	if took := time.Since(begun); !errors.Is(err, syscall.ECONNREFUSED) || took < 100*time.Millisecond || took > 2*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

func TestNothingIsSentToAListenerThatIsNotProcess1(t *testing.T) {
	address := addressOf(t)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: address})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	heard := make(chan []byte, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			heard <- nil
			return
		}
		all, _ := io.ReadAll(conn)
		heard <- all
	}()
	var out bytes.Buffer
	if err := carry(address, time.Second, bytes.NewReader([]byte("the key")), &out); err == nil {
		t.Error("it connected")
	}
	if all := <-heard; len(all) != 0 {
		t.Errorf("process %d heard %q", os.Getpid(), all)
	}
}
