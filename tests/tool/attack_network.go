package main

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

func networkAttacks() []subcommand {
	return []subcommand{
		{"tcp-connect ADDRESS", "connects to IP:PORT", attack(func(args []string) (string, error) { return dial("tcp", args[0]) })},
		{"udp-send ADDRESS", "sends a datagram to IP:PORT", attack(func(args []string) (string, error) { return dial("udp", args[0]) })},
		{"mptcp-connect ADDRESS", "connects to IP:PORT by MPTCP", attack(multipath)},
		{"fastopen ADDRESS WAY", "sends to IP:PORT without connect; WAY is sendto, sendmsg or setsockopt", attack(fastOpen)},
		{"netlink", "asks the kernel for its network interfaces", attack(netlink)},
	}
}

func dial(network, address string) (string, error) {
	connection, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	_, err = connection.Write([]byte("out"))
	return "sent to " + address, err
}

func multipath(args []string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return args[0], unix.Connect(fd, target(args[0]))
}

// fastOpen sends in the SYN, or asks for it. The kernel connects by itself then, whatever guards connect.
func fastOpen(args []string) (string, error) {
	to, text := target(args[0]), []byte("out")
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	switch args[1] {
	case "sendto":
		err = unix.Sendto(fd, text, unix.MSG_FASTOPEN, to)
	case "sendmsg":
		err = unix.Sendmsg(fd, text, nil, to, unix.MSG_FASTOPEN)
	case "setsockopt":
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
	default:
		usage(args[1] + " is no way")
	}
	return "sent by " + args[1], err
}

func target(address string) *unix.SockaddrInet4 {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil || !parsed.Addr().Is4() {
		usage(address + " is not an IPv4 address with a port")
	}
	return &unix.SockaddrInet4{Addr: parsed.Addr().As4(), Port: int(parsed.Port())}
}

func netlink([]string) (string, error) {
	interfaces, err := net.Interfaces()
	return fmt.Sprint(len(interfaces), " interfaces"), err
}
