package confine

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/internal/measures"
)

// Offsets into struct seccomp_data. Both architectures are little endian: the low half of an argument comes first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// x32Bit marks a call of the x32 ABI on amd64: another numbering under the same architecture tag.
const x32Bit = 0x40000000

// machine is an architecture the filter is written for: what the kernel calls it, and its column in the table.
type machine struct {
	audit  uint32
	number func(rule) uint32
	x32    bool
}

var machines = map[string]machine{
	"amd64": {unix.AUDIT_ARCH_X86_64, func(r rule) uint32 { return r.amd64 }, true},
	"arm64": {unix.AUDIT_ARCH_AARCH64, func(r rule) uint32 { return r.arm64 }, false},
}

// table is what the filter of a box refuses.
func (b Box) table() []rule {
	table := slices.Concat(rules, plainTCP)
	if b.NoNetwork {
		table = append(table, noNetwork...)
	}
	if b.RefuseUnixSockets {
		table = append(table, unixSockets...)
	}
	return table
}

// installFilter puts the filter on the calling thread, which must have no_new_privs; what it starts inherits it.
func installFilter(table []rule) error {
	if measures.Off("seccomp") {
		return nil
	}
	m, known := machines[runtime.GOARCH]
	if !known {
		return fmt.Errorf("no system call filter for %s: %w", runtime.GOARCH, unix.ENOSYS)
	}
	program := assemble(m, table)
	header := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&header)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("install the system call filter: %w", errno)
	}
	return nil
}

// assemble writes the filter: calls in a foreign numbering fail, then each rule in turn, then everything else passes.
func assemble(m machine, table []rule) []unix.SockFilter {
	program := []unix.SockFilter{load(offsetArch), skipIf(unix.BPF_JEQ, m.audit, 1), refuse(unix.ENOSYS), load(offsetNumber)}
	if m.x32 {
		program = append(program, skipUnless(unix.BPF_JGE, x32Bit, 1), refuse(unix.ENOSYS))
	}
	for _, r := range table {
		body := r.assemble()
		program = append(program, skipUnless(unix.BPF_JEQ, m.number(r), uint8(len(body))))
		program = append(program, body...)
	}
	return append(program, pass())
}

// assemble writes what happens once the number matched: a verdict, or the number again for the rules that follow.
func (r rule) assemble() []unix.SockFilter {
	if len(r.when) == 0 {
		return []unix.SockFilter{refuse(r.errno)}
	}
	var body []unix.SockFilter
	for _, a := range r.when {
		body = append(body, r.refusal(a)...)
	}
	return append(body, load(offsetNumber))
}

// refusal writes a test, and the refusal when it holds; one that takes the next test as well leads past that one's refusal when it does not hold.
func (r rule) refusal(a argument) []unix.SockFilter {
	if a.test == equalsWith {
		return []unix.SockFilter{load(a.offset()), a.skipUnless(3)}
	}
	return []unix.SockFilter{load(a.offset()), a.skipUnless(1), refuse(r.errno)}
}

func (a argument) offset() uint32 { return offsetArgs + 8*uint32(a.index) }

// skipUnless goes on when the argument is as described.
func (a argument) skipUnless(count uint8) unix.SockFilter {
	switch a.test {
	case equals, equalsWith:
		return skipUnless(unix.BPF_JEQ, a.value, count)
	case has:
		return skipUnless(unix.BPF_JSET, a.value, count)
	default:
		return skipIf(unix.BPF_JEQ, a.value, count)
	}
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func skipIf(test uint16, value uint32, count uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jt: count}
}

func skipUnless(test uint16, value uint32, count uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: count}
}

func refuse(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func pass() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}
