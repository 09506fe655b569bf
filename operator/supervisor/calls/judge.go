package calls

import (
	"syscall"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/wire"
)

// judge says how a call ended: from what its shim reported, the reason it was asked to end for ("" for none), and whether the kernel's OOM killer
// was at work meanwhile.
func judge(report shim.Report, asked string, oomKilled func() bool) wire.Exit {
	status := report.Status
	switch {
	case report.Step != shim.Started:
		return notStarted(report)
	case report.TooMany:
		return wire.Exit{Cause: wire.CauseTooManyProcesses}
	case report.Asked && (asked == wire.CauseOutOfMemory || asked == wire.CauseTooManyProcesses):
		return wire.Exit{Cause: asked}
	case report.Asked && asked != "":
		return wire.Exit{Cause: asked, Code: code(status)}
	case status.Signaled() && status.Signal() == syscall.SIGKILL && oomKilled():
		return wire.Exit{Cause: wire.CauseOutOfMemory}
	case status.Signaled():
		signal := int(status.Signal())
		return wire.Exit{Cause: wire.CauseSignaled, Signal: &signal}
	}
	return wire.Exit{Cause: wire.CauseExited, Code: code(status)}
}

// code is what the main process returned, nil when it returned nothing.
func code(status syscall.WaitStatus) *int {
	if !status.Exited() {
		return nil
	}
	code := status.ExitStatus()
	return &code
}

func notStarted(report shim.Report) wire.Exit {
	step := map[shim.Step]string{
		shim.ConfineStep: wire.StepConfine,
		shim.ForkStep:    wire.StepFork,
		shim.ExecStep:    wire.StepExec,
		shim.ResolveStep: wire.StepResolve,
	}[report.Step]
	name := unix.ErrnoName(report.Errno)
	return wire.Exit{Cause: wire.CauseNotStarted, Step: &step, Error: &name}
}
