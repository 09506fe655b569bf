package proctree

import (
	"sync"
	"syscall"
)

// buffers are for what is read of /proc: shims look several times a second, and each look of the os package would cost a registration with the
// poller and a buffer for every file (seen: 64 calls that slept took 0.4 cores).
var buffers = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// read gives what a file of /proc holds to use, which must not keep it. Errors: those of the system call, or of use.
func read(path string, use func([]byte) error) error {
	fd, err := open(path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }()
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	size := 0
	for {
		n, err := retried(func() (int, error) { return syscall.Read(fd, (*buffer)[size:]) })
		if err != nil {
			return err
		}
		if n == 0 {
			return use((*buffer)[:size])
		}
		if size += n; size == len(*buffer) {
			*buffer = append(*buffer, make([]byte, size)...)
		}
	}
}

// names are the entries of a folder of /proc.
func names(folder string) ([]string, error) {
	fd, err := open(folder, syscall.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }()
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	var all []string
	for {
		n, err := retried(func() (int, error) { return syscall.ReadDirent(fd, *buffer) })
		if err != nil || n == 0 {
			return all, err
		}
		_, _, all = syscall.ParseDirent((*buffer)[:n], -1, all)
	}
}

func open(path string, flags int) (int, error) {
	return retried(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|flags, 0) })
}

func retried(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if err != syscall.EINTR {
			return n, err
		}
	}
}
