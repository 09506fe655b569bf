package main

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func objectAttacks() []subcommand {
	return []subcommand{
		{"sysv-shm-put KEY TEXT", "leaves TEXT in a System V shared memory segment", attack(shmPut)},
		{"sysv-shm-get KEY", "reads it", attack(shmGet)},
		{"mqueue-put NAME TEXT", "leaves TEXT in a POSIX message queue", attack(queuePut)},
		{"mqueue-get NAME", "reads it", attack(queueGet)},
		{"mqueue-remove NAME", "removes the queue", attack(queueRemove)},
		{"keyring-put NAME TEXT", "leaves TEXT in the user's keyring", attack(keyringPut)},
		{"keyring-get NAME", "reads it", attack(keyringGet)},
		{"io-uring", "makes an io_uring", attack(ioUring)},
		{"userfaultfd", "makes a userfaultfd", attack(userfaultfd)},
	}
}

const segment = 4096

func shmPut(args []string) (string, error) {
	return withSegment(args[0], unix.IPC_CREAT|0o600, func(memory []byte) string {
		copy(memory, args[1]+"\x00")
		return "wrote"
	})
}

func shmGet(args []string) (string, error) {
	return withSegment(args[0], 0, func(memory []byte) string {
		text, _, _ := strings.Cut(string(memory), "\x00")
		return text
	})
}

func withSegment(key string, flags int, use func([]byte) string) (string, error) {
	id, err := unix.SysvShmGet(number(key), segment, flags)
	if err != nil {
		return "", err
	}
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return "", err
	}
	said := use(memory)
	return said, unix.SysvShmDetach(memory)
}

const messageSize = 256

func queuePut(args []string) (string, error) {
	queue, err := openQueue(args[0], unix.O_CREAT|unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return "", err
	}
	text := []byte(args[1])
	_, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, queue, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	return "sent", errnoOr(errno)
}

func queueGet(args []string) (string, error) {
	queue, err := openQueue(args[0], unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil {
		return "", err
	}
	text := make([]byte, messageSize)
	n, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, queue, uintptr(unsafe.Pointer(&text[0])), messageSize, 0, 0, 0)
	if errno != 0 {
		return "", errno
	}
	return string(text[:n]), nil
}

func queueRemove(args []string) (string, error) {
	path, err := unix.BytePtrFromString(args[0])
	if err != nil {
		return "", err
	}
	_, _, errno := unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(path)), 0, 0)
	return "removed", errnoOr(errno)
}

func openQueue(name string, flags uintptr) (uintptr, error) {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	attributes := [8]int64{0, 1, messageSize} // struct mq_attr: flags, messages at most, their size
	queue, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(path)), flags, 0o600, uintptr(unsafe.Pointer(&attributes)), 0, 0)
	return queue, errnoOr(errno)
}

func keyringPut(args []string) (string, error) {
	id, err := unix.AddKey("user", args[0], []byte(args[1]), unix.KEY_SPEC_USER_KEYRING)
	return fmt.Sprint("key ", id), err
}

func keyringGet(args []string) (string, error) {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", args[0], 0)
	if err != nil {
		return "", err
	}
	text := make([]byte, messageSize)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, text, 0)
	if err != nil {
		return "", err
	}
	return string(text[:min(n, len(text))]), nil
}

func ioUring([]string) (string, error) {
	var parameters [120]byte // struct io_uring_params
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0)
	return fmt.Sprint("ring ", ring), errnoOr(errno)
}

func userfaultfd([]string) (string, error) {
	const userModeOnly = 1 // UFFD_USER_MODE_ONLY, the kind that needs no capability
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0)
	return fmt.Sprint("file descriptor ", fd), errnoOr(errno)
}
