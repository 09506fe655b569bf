package shim

import (
	"errors"
	"strings"
	"syscall"
)

// start confines the calling thread and forks the tool from it. It gives the main process, or where and why that failed.
func start(spec Spec) (int, Report) {
	if err := spec.Box.Enter(); err != nil {
		return 0, Report{Step: ConfineStep, Errno: errnoOf(err)}
	}
	return execute(spec)
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.EPERM
}

// execute tries the candidates in turn, as execvp does: one that may not be executed does not end the search, but is what is told in the end.
func execute(spec Spec) (int, Report) {
	last := Report{Step: ExecStep, Errno: syscall.ENOENT}
	for _, file := range candidates(spec) {
		pid, failure := run(file, spec)
		if failure.Step == Started {
			return pid, failure
		}
		if !isSearchable(failure.Errno) {
			return 0, failure
		}
		if last.Errno != syscall.EACCES {
			last = failure
		}
	}
	return 0, last
}

// candidates are the files the command may mean. Those that are not there are left out: each attempt costs a fork.
func candidates(spec Spec) []string {
	command := spec.Argv[0]
	if strings.Contains(command, "/") {
		return []string{command}
	}
	var files []string
	for _, folder := range spec.Path {
		file := folder + "/" + command
		var info syscall.Stat_t
		if err := syscall.Stat(file, &info); err == nil || err == syscall.EACCES {
			files = append(files, file)
		}
	}
	return files
}

func isSearchable(err syscall.Errno) bool {
	switch err {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ELOOP, syscall.ENAMETOOLONG:
		return true
	}
	return false
}

// run starts one candidate.
func run(file string, spec Spec) (int, Report) {
	if !spec.mayRun(file) {
		return 0, untrusted
	}
	pid, err := fork(file, spec)
	if err != 0 {
		return 0, Report{Step: stepOf(err), Errno: err}
	}
	return pid, Report{}
}

func fork(file string, spec Spec) (int, syscall.Errno) {
	pid, err := syscall.ForkExec(file, spec.Argv, &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		return pid, 0
	}
	return 0, errnoOf(err)
}

// stepOf tells a process that could not be made from a file that could not be run: these errors come from clone and pipe.
func stepOf(err syscall.Errno) Step {
	switch err {
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		return ForkStep
	}
	return ExecStep
}
