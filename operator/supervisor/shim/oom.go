package shim

import (
	"strconv"
	"syscall"

	"toolcall-operator/supervisor/internal/measures"
)

// firstToGo is the highest score there is: when memory runs out the kernel takes a tool, and neither the supervisor nor a shim.
const firstToGo = "1000"

// score is the shim's own OOM score, which is raised while it forks the tool: the tool inherits it.
type score struct {
	fd     int    // of /proc/self/oom_score_adj, -1 when it may not be written
	before string // what to put back, "" when it was not raised
}

// openScore finds out whether the shim may set its score. In a pod it may not: the supervisor's file cannot be read there, so the process is
// non-dumpable from the start, and its /proc files belong to root.
func openScore() *score {
	fd, err := syscall.Open("/proc/self/oom_score_adj", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil || measures.Off("oom-score") {
		return &score{fd: -1}
	}
	return &score{fd: fd}
}

func (s *score) raise() {
	if s.fd < 0 {
		return
	}
	var before [16]byte
	n, err := syscall.Pread(s.fd, before[:], 0)
	if _, refused := syscall.Pwrite(s.fd, []byte(firstToGo), 0); err == nil && refused == nil {
		s.before = string(before[:n])
	}
}

// settle puts the shim's score back, or raises the tool's now where the shim could not raise its own. A refusal costs the order in which the
// kernel kills, and nothing else.
func (s *score) settle(tool int) {
	switch {
	case measures.Off("oom-score"):
	case s.before != "":
		_, _ = syscall.Pwrite(s.fd, []byte(s.before), 0)
	case tool != 0:
		raiseOther(tool)
	}
}

func raiseOther(tool int) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(tool)+"/oom_score_adj", syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = syscall.Write(fd, []byte(firstToGo))
	_ = syscall.Close(fd)
}
