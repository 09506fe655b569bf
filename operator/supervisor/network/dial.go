package network

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// dialling is how long an address has to answer. A service of the cluster does so within a millisecond.
const dialling = 250 * time.Millisecond

// outOfReach are the ways in which the kernel says that nothing gets through: what a policy drops times out, what it rejects comes back as a reset or
// an ICMP message, what a filter on this machine holds back is not permitted, and an address of a family that the sandbox does not have cannot be
// reached either. Any other error, as a lack of descriptors, is one of ours and proves nothing.
var outOfReach = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EPERM, syscall.EACCES,
	syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT, syscall.ETIMEDOUT,
}

// isReachable is false only for an address that was tried in vain.
func isReachable(address netip.AddrPort) bool {
	dialer := net.Dialer{Timeout: dialling}
	conn, err := dialer.Dial("tcp", address.String())
	if err == nil {
		_ = conn.Close()
		return true
	}
	return !isOutOfReach(err)
}

func isOutOfReach(err error) bool {
	var failed net.Error
	if errors.As(err, &failed) && failed.Timeout() {
		return true
	}
	var errno syscall.Errno
	return errors.As(err, &errno) && slices.Contains(outOfReach, errno)
}
