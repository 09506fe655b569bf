package network

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

func listening(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return netip.MustParseAddrPort(listener.Addr().String())
}

// silent is an address that answers nothing: its listener accepts nobody, and its line is full.
func silent(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*syscall.SockaddrInet4).Port))
	for { // Until one does not get in.
		conn, err := net.DialTimeout("tcp", address.String(), 100*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestAnAddressThatTakesAConnectionIsReachable(t *testing.T) {
	if address := listening(t); !isReachable(address) {
		t.Errorf("%s is not reachable", address)
	}
}

func TestAnAddressThatRefusesOrSaysNothingIsOutOfReach(t *testing.T) {
	for name, address := range map[string]netip.AddrPort{"refuses": netip.MustParseAddrPort("127.0.0.1:1"), "says nothing": silent(t)} {
		begun := time.Now()
		if isReachable(address) {
			t.Errorf("one that %s is reachable", name)
		}
		if took := time.Since(begun); took > dialling+time.Second {
			t.Errorf("one that %s took %s", name, took)
		}
	}
}

func TestOnlyWhatTheNetworkSaysIsProofAndNoErrorOfOurs(t *testing.T) {
	for errno, proof := range map[syscall.Errno]bool{
		syscall.ECONNREFUSED: true,
		syscall.EHOSTUNREACH: true,
		syscall.ENETUNREACH:  true,
		syscall.EPERM:        true,
		syscall.ETIMEDOUT:    true,
		syscall.EMFILE:       false,
		syscall.ENFILE:       false,
		syscall.ENOBUFS:      false,
		syscall.ENOMEM:       false,
	} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		if isOutOfReach(err) != proof {
			t.Errorf("%s counts as proof: %v", errno, !proof)
		}
	}
	if isOutOfReach(errors.New("something else")) {
		t.Error("an error that is not the kernel's counts as proof")
	}
}
