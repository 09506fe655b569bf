package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// call is what the kernel shows a filter: struct seccomp_data without the instruction pointer.
type call struct {
	arch, number uint32
	args         [6]uint64
}

func (c call) word(offset uint32) uint32 {
	switch {
	case offset == offsetNumber:
		return c.number
	case offset == offsetArch:
		return c.arch
	}
	arg := c.args[(offset-offsetArgs)/8]
	if (offset-offsetArgs)%8 == 4 {
		return uint32(arg >> 32)
	}
	return uint32(arg)
}

// interpret runs the few instructions that the assembler writes, as the kernel does: the verdict, or a failed test.
func interpret(t *testing.T, program []unix.SockFilter, c call) uint32 {
	t.Helper()
	var accumulator uint32
	for at := 0; at < len(program); at++ {
		in := program[at]
		taken := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			accumulator = c.word(in.K)
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			taken = accumulator == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			taken = accumulator >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			taken = accumulator&in.K != 0
		default:
			t.Fatalf("instruction %d has code %#x", at, in.Code)
		}
		if taken {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the program ran off its end")
	return 0
}

const (
	allowed = uint32(unix.SECCOMP_RET_ALLOW)
	eperm   = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	enosys  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)

	noProtocol   = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPROTONOSUPPORT)
	unreachable  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENETUNREACH)
	notSupported = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EOPNOTSUPP)
)

func TestTheFilterDecidesByNumberAndArgumentsOnBothArchitectures(t *testing.T) {
	const sibling, negative, hidden = 4711, uint64(0xffff_ffff_ffff_ffff), uint64(1) << 32
	rows := []struct {
		name         string
		amd64, arm64 uint32
		args         [6]uint64
		verdict      uint32
	}{
		{"prlimit64 on oneself", 302, 261, [6]uint64{0, 7}, allowed},
		{"prlimit64 on a sibling", 302, 261, [6]uint64{sibling, 0}, eperm},
		{"prlimit64 on process 1", 302, 261, [6]uint64{1, 0}, eperm},
		{"prlimit64 on a sibling, with a bit in the half that the kernel drops", 302, 261, [6]uint64{hidden | sibling}, eperm},
		{"prlimit64 on oneself, with a bit in the half that the kernel drops", 302, 261, [6]uint64{hidden}, allowed},
		{"setrlimit", 160, 164, [6]uint64{7}, allowed},
		{"sched_setparam on oneself", 142, 118, [6]uint64{0, 1}, allowed},
		{"sched_setparam on a sibling", 142, 118, [6]uint64{sibling}, eperm},
		{"sched_setscheduler on oneself", 144, 119, [6]uint64{0, 5}, allowed},
		{"sched_setscheduler on a sibling", 144, 119, [6]uint64{sibling, 5}, eperm},
		{"sched_setattr on oneself", 314, 274, [6]uint64{0, 1}, allowed},
		{"sched_setattr on a sibling", 314, 274, [6]uint64{sibling, 1}, eperm},
		{"sched_setaffinity on oneself", 203, 122, [6]uint64{0, 8}, allowed},
		{"sched_setaffinity on a sibling", 203, 122, [6]uint64{sibling, 8}, eperm},
		{"setpriority of oneself", 141, 140, [6]uint64{0, 0, 5}, allowed},
		{"setpriority of a sibling", 141, 140, [6]uint64{0, sibling, 5}, eperm},
		{"setpriority of a negative who", 141, 140, [6]uint64{0, negative, 5}, eperm},
		{"setpriority of a process group", 141, 140, [6]uint64{1, 0, 5}, eperm},
		{"setpriority of every process of the user", 141, 140, [6]uint64{2, 0, 5}, eperm},
		{"ioprio_set of oneself", 251, 30, [6]uint64{1, 0, 5}, allowed},
		{"ioprio_set of a sibling", 251, 30, [6]uint64{1, sibling, 5}, eperm},
		{"ioprio_set of every process of the user", 251, 30, [6]uint64{3, 0, 5}, eperm},
		{"process_vm_readv", 310, 270, [6]uint64{sibling}, eperm},
		{"process_vm_writev", 311, 271, [6]uint64{sibling}, eperm},
		{"pidfd_getfd", 438, 438, [6]uint64{3, 1}, eperm},
		{"pidfd_open", 434, 434, [6]uint64{sibling}, allowed},
		{"ptrace", 101, 117, [6]uint64{0}, allowed},
		{"io_uring_setup", 425, 425, [6]uint64{}, enosys},
		{"io_uring_enter", 426, 426, [6]uint64{}, enosys},
		{"io_uring_register", 427, 427, [6]uint64{}, enosys},
		{"userfaultfd", 323, 282, [6]uint64{}, enosys},
		{"shmget", 29, 194, [6]uint64{}, enosys},
		{"shmat", 30, 196, [6]uint64{}, enosys},
		{"shmctl", 31, 195, [6]uint64{}, enosys},
		{"shmdt", 67, 197, [6]uint64{}, enosys},
		{"semget", 64, 190, [6]uint64{}, enosys},
		{"semop", 65, 193, [6]uint64{}, enosys},
		{"semctl", 66, 191, [6]uint64{}, enosys},
		{"semtimedop", 220, 192, [6]uint64{}, enosys},
		{"msgget", 68, 186, [6]uint64{}, enosys},
		{"msgsnd", 69, 189, [6]uint64{}, enosys},
		{"msgrcv", 70, 188, [6]uint64{}, enosys},
		{"msgctl", 71, 187, [6]uint64{}, enosys},
		{"mq_open", 240, 180, [6]uint64{}, enosys},
		{"mq_unlink", 241, 181, [6]uint64{}, enosys},
		{"mq_timedsend", 242, 182, [6]uint64{}, enosys},
		{"mq_timedreceive", 243, 183, [6]uint64{}, enosys},
		{"mq_notify", 244, 184, [6]uint64{}, enosys},
		{"mq_getsetattr", 245, 185, [6]uint64{}, enosys},
		{"add_key", 248, 217, [6]uint64{}, enosys},
		{"request_key", 249, 218, [6]uint64{}, enosys},
		{"keyctl", 250, 219, [6]uint64{}, enosys},
		{"socket AF_UNIX", 41, 198, [6]uint64{unix.AF_UNIX, 1}, allowed},
		{"socket AF_INET", 41, 198, [6]uint64{unix.AF_INET, 1}, allowed},
		{"socket of MPTCP", 41, 198, [6]uint64{unix.AF_INET6, 1, unix.IPPROTO_MPTCP}, noProtocol},
		{"socket of MPTCP, with a bit in the half that the kernel drops", 41, 198, [6]uint64{unix.AF_INET, 1, hidden | unix.IPPROTO_MPTCP}, noProtocol},
		{"sendto", 44, 206, [6]uint64{3, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT}, allowed},
		{"sendto with Fast Open", 44, 206, [6]uint64{3, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_FASTOPEN}, notSupported},
		{"sendmsg", 46, 211, [6]uint64{3, 0, unix.MSG_NOSIGNAL}, allowed},
		{"sendmsg with Fast Open", 46, 211, [6]uint64{3, 0, unix.MSG_FASTOPEN}, notSupported},
		{"sendmmsg with Fast Open", 307, 269, [6]uint64{3, 0, 1, unix.MSG_FASTOPEN}, notSupported},
		{"setsockopt of Fast Open by connect", 54, 208, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}, notSupported},
		{"setsockopt of another option of TCP", 54, 208, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, allowed},
		{"setsockopt of the same number elsewhere", 54, 208, [6]uint64{3, unix.SOL_SOCKET, unix.TCP_FASTOPEN_CONNECT}, allowed},
		{"read", 0, 63, [6]uint64{}, allowed},
		{"openat", 257, 56, [6]uint64{}, allowed},
		{"execve", 59, 221, [6]uint64{}, allowed},
	}
	for _, row := range rows {
		for arch, number := range map[string]uint32{"amd64": row.amd64, "arm64": row.arm64} {
			m := machines[arch]
			got := interpret(t, assemble(m, Box{}.table()), call{m.audit, number, row.args})
			if got != row.verdict {
				t.Errorf("%s on %s: verdict %#x, want %#x", row.name, arch, got, row.verdict)
			}
		}
	}
}

// everything is the table of a box that refuses all that can be refused.
var everything = Box{NoNetwork: true, RefuseUnixSockets: true}.table()

func TestEveryRuleRefusesSomething(t *testing.T) {
	for arch, m := range machines {
		for _, r := range everything {
			var args [6]uint64
			for _, a := range r.when {
				args[a.index] = uint64(a.value)
				if a.test == differs {
					args[a.index] = 99
				}
			}
			got := interpret(t, assemble(m, []rule{r}), call{m.audit, m.number(r), args})
			if got != uint32(unix.SECCOMP_RET_ERRNO)|uint32(r.errno) {
				t.Errorf("%s on %s: verdict %#x", r.name, arch, got)
			}
		}
	}
}

func TestSocketsAreThoseThatTheBoxLeaves(t *testing.T) {
	const hidden = uint64(1) << 32
	for _, row := range []struct {
		family          uint64
		box             Box
		socket, another uint32 // another is of a pair
	}{
		{unix.AF_UNIX, Box{}, allowed, allowed},
		{unix.AF_INET, Box{}, allowed, allowed},
		{unix.AF_UNIX, Box{RefuseUnixSockets: true}, eperm, allowed},
		{hidden | unix.AF_UNIX, Box{RefuseUnixSockets: true}, eperm, allowed},
		{unix.AF_INET6, Box{RefuseUnixSockets: true}, allowed, allowed},
		{unix.AF_UNIX, Box{NoNetwork: true}, allowed, allowed},
		{hidden | unix.AF_UNIX, Box{NoNetwork: true}, allowed, allowed},
		{unix.AF_INET, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_INET6, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_NETLINK, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_PACKET, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_VSOCK, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_TIPC, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_UNSPEC, Box{NoNetwork: true}, unreachable, unreachable},
		{unix.AF_UNIX, Box{NoNetwork: true, RefuseUnixSockets: true}, eperm, allowed},
		{unix.AF_INET, Box{NoNetwork: true, RefuseUnixSockets: true}, unreachable, unreachable},
	} {
		for arch, numbers := range map[string]struct{ socket, pair uint32 }{"amd64": {41, 53}, "arm64": {198, 199}} {
			m := machines[arch]
			program := assemble(m, row.box.table())
			for number, want := range map[uint32]uint32{numbers.socket: row.socket, numbers.pair: row.another} {
				if got := interpret(t, program, call{m.audit, number, [6]uint64{row.family, 1}}); got != want {
					t.Errorf("%s: call %d of family %#x in %+v: verdict %#x, want %#x", arch, number, row.family, row.box, got, want)
				}
			}
		}
	}
}

func TestTheFilterIsNoLongerThanTheKernelTakes(t *testing.T) {
	const most = 4096 // BPF_MAXINSNS
	for arch, m := range machines {
		if length := len(assemble(m, everything)); length > most {
			t.Errorf("%d instructions on %s", length, arch)
		}
	}
}

func TestCallsInAForeignNumberingAreRefused(t *testing.T) {
	const i386, arm = unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM
	for _, row := range []struct {
		name    string
		machine string
		call    call
		verdict uint32
	}{
		{"a 32-bit call on amd64", "amd64", call{arch: i386, number: 1}, enosys},
		{"a 32-bit call on arm64", "arm64", call{arch: arm, number: 1}, enosys},
		{"the other architecture", "amd64", call{arch: unix.AUDIT_ARCH_AARCH64, number: 0}, enosys},
		{"x32 read", "amd64", call{arch: unix.AUDIT_ARCH_X86_64, number: x32Bit}, enosys},
		{"x32 prlimit64", "amd64", call{arch: unix.AUDIT_ARCH_X86_64, number: x32Bit | 302}, enosys},
		{"a tracer's skip (number -1)", "amd64", call{arch: unix.AUDIT_ARCH_X86_64, number: 0xffff_ffff}, enosys},
		{"a number of the future", "amd64", call{arch: unix.AUDIT_ARCH_X86_64, number: 999}, allowed},
		{"a number of the future", "arm64", call{arch: unix.AUDIT_ARCH_AARCH64, number: 999}, allowed},
	} {
		if got := interpret(t, assemble(machines[row.machine], rules), row.call); got != row.verdict {
			t.Errorf("%s: verdict %#x, want %#x", row.name, got, row.verdict)
		}
	}
}

func TestTheNumbersAreThoseOfTheKernelOnBothArchitectures(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	for arch, m := range machines {
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+arch+".go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range everything {
			line := regexp.MustCompile(`SYS_` + strings.ToUpper(r.name) + `\s+= (\d+)`).FindSubmatch(source)
			if line == nil || string(line[1]) != strconv.Itoa(int(m.number(r))) {
				t.Errorf("%s is %d on %s, but x/sys says %q", r.name, m.number(r), arch, line)
			}
		}
	}
}
