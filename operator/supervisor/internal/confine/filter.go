package confine

import "golang.org/x/sys/unix"

// argument is one argument of a system call. Only its low 32 bits are looked at: pid, who, which and family are ints to the kernel, which
// drops the high half itself; a filter that compared it would let a caller hide the value behind a bit that the kernel ignores.
type argument struct {
	index int
	test  test
	value uint32
}

// test is how an argument must stand to a value for its call to be refused.
type test int

const (
	differs test = iota
	equals
	has        // it has at least one of the bits
	equalsWith // it equals, and the next argument is as described, too
)

// rule refuses one system call with errno: always, or when one of the arguments is as described.
type rule struct {
	name         string
	amd64, arm64 uint32
	errno        unix.Errno
	when         []argument
}

// self: the argument must be 0, which means the caller.
func self(index int) argument { return argument{index: index} }

// rules is what a tool may not ask of the kernel. Landlock mediates none of the first group, and the kernel lets every process do these to
// any other of its uid: seen to work from inside a Landlock domain against siblings and against process 1.
var rules = []rule{
	// RLIMIT_CPU of 0 on a sibling or on process 1 killed it. Limits of oneself are set through pid 0 (setrlimit is that).
	{"prlimit64", 302, 261, unix.EPERM, []argument{self(0)}},
	// SCHED_IDLE on a sibling starves it; pid 0 stays, and with it chrt and batch of one's own.
	{"sched_setparam", 142, 118, unix.EPERM, []argument{self(0)}},
	{"sched_setscheduler", 144, 119, unix.EPERM, []argument{self(0)}},
	{"sched_setattr", 314, 274, unix.EPERM, []argument{self(0)}},
	// One processor for all of them: a sibling, or process 1 and with it every later call, shares it with a busy loop. taskset of one's own commands
	// stays; a program that names its own threads by number is refused, for a filter cannot tell whose they are.
	{"sched_setaffinity", 203, 122, unix.EPERM, []argument{self(0)}},
	// `which` must be the process (PRIO_PROCESS 0, IOPRIO_WHO_PROCESS 1) too: PRIO_USER with who 0 means every process of the caller's uid.
	{"setpriority", 141, 140, unix.EPERM, []argument{{0, differs, unix.PRIO_PROCESS}, self(1)}},
	{"ioprio_set", 251, 30, unix.EPERM, []argument{{0, differs, ioprioWhoProcess}, self(1)}},

	// Landlock refuses these across domains; a second lock on the ways into another process's memory and files, which no ordinary tool uses
	// (debuggers fall back to ptrace).
	{"process_vm_readv", 310, 270, unix.EPERM, nil},
	{"process_vm_writev", 311, 271, unix.EPERM, nil},
	{"pidfd_getfd", 438, 438, unix.EPERM, nil},

	// Rings act outside of this filter: the kernel thread does the socket(), openat() and so on. Programs take ENOSYS as "not built in".
	{"io_uring_setup", 425, 425, unix.ENOSYS, nil},
	{"io_uring_enter", 426, 426, unix.ENOSYS, nil},
	{"io_uring_register", 427, 427, unix.ENOSYS, nil},
	// Stops the kernel in the middle of a copy from user memory, which turns small kernel races into certain ones.
	{"userfaultfd", 323, 282, unix.ENOSYS, nil},

	// System V objects belong to the IPC namespace of the pod and not to a domain: they outlive the call and every sibling of the uid opens them.
	{"shmget", 29, 194, unix.ENOSYS, nil},
	{"shmctl", 31, 195, unix.ENOSYS, nil},
	{"shmat", 30, 196, unix.ENOSYS, nil},
	{"shmdt", 67, 197, unix.ENOSYS, nil},
	{"semget", 64, 190, unix.ENOSYS, nil},
	{"semctl", 66, 191, unix.ENOSYS, nil},
	{"semtimedop", 220, 192, unix.ENOSYS, nil},
	{"semop", 65, 193, unix.ENOSYS, nil},
	{"msgget", 68, 186, unix.ENOSYS, nil},
	{"msgctl", 71, 187, unix.ENOSYS, nil},
	{"msgrcv", 70, 188, unix.ENOSYS, nil},
	{"msgsnd", 69, 189, unix.ENOSYS, nil},
	// POSIX queues are names in the same namespace. Landlock refuses to open them (their file system is below no rule); below its ABI 1, and to
	// remove them, there is only this.
	{"mq_open", 240, 180, unix.ENOSYS, nil},
	{"mq_unlink", 241, 181, unix.ENOSYS, nil},
	{"mq_timedsend", 242, 182, unix.ENOSYS, nil},
	{"mq_timedreceive", 243, 183, unix.ENOSYS, nil},
	{"mq_notify", 244, 184, unix.ENOSYS, nil},
	{"mq_getsetattr", 245, 185, unix.ENOSYS, nil},
	// Keyrings of the user are shared by every process of the uid on the node, other pods included.
	{"add_key", 248, 217, unix.ENOSYS, nil},
	{"request_key", 249, 218, unix.ENOSYS, nil},
	{"keyctl", 250, 219, unix.ENOSYS, nil},
}

// plainTCP keeps a call to connections that a guard of networks knows by their connect: one of MPTCP is none of TCP to Landlock, and data in the SYN
// goes out before, or without, a connect. The errors are those of a kernel that was built without, after which programs take plain TCP: Go's
// listeners try MPTCP first, and whoever sends with Fast Open connects when it is refused.
var plainTCP = []rule{
	{"socket", 41, 198, unix.EPROTONOSUPPORT, []argument{{2, equals, unix.IPPROTO_MPTCP}}},
	{"sendto", 44, 206, unix.EOPNOTSUPP, []argument{{3, has, unix.MSG_FASTOPEN}}},
	{"sendmsg", 46, 211, unix.EOPNOTSUPP, []argument{{2, has, unix.MSG_FASTOPEN}}},
	{"sendmmsg", 307, 269, unix.EOPNOTSUPP, []argument{{3, has, unix.MSG_FASTOPEN}}},
	{"setsockopt", 54, 208, unix.EOPNOTSUPP, []argument{{1, equalsWith, unix.IPPROTO_TCP}, {2, equals, unix.TCP_FASTOPEN_CONNECT}}},
}

// noNetwork leaves a call Unix sockets and nothing else, not even a look at addresses and routes (AF_NETLINK), without which getaddrinfo does. The
// error says what is the matter, and ends the matter: told EACCES, wget retries for minutes.
var noNetwork = []rule{
	{"socket", 41, 198, unix.ENETUNREACH, []argument{{0, differs, unix.AF_UNIX}}},
	{"socketpair", 53, 199, unix.ENETUNREACH, []argument{{0, differs, unix.AF_UNIX}}},
}

// unixSockets is added where calls share the machine with its user: X11, D-Bus, agents and container engines listen on named sockets, which
// Landlock guards only from ABI 9 on. A socketpair reaches nobody else and stays.
var unixSockets = []rule{{"socket", 41, 198, unix.EPERM, []argument{{0, equals, unix.AF_UNIX}}}}

// ioprioWhoProcess is IOPRIO_WHO_PROCESS of <linux/ioprio.h>, which x/sys does not name.
const ioprioWhoProcess = 1
