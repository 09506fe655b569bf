// The supervisor of a sandbox: it starts calls, keeps them apart, and tells an operator how they end.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"toolcall-operator/supervisor/connect"
	"toolcall-operator/supervisor/install"
	"toolcall-operator/supervisor/internal/termination"
	"toolcall-operator/supervisor/internal/usage"
	"toolcall-operator/supervisor/serve"
	"toolcall-operator/supervisor/shim"
	"toolcall-operator/supervisor/unpack"
)

// version is the supervisor's, as its hello tells it.
const version = "0.1.0"

const help = `usage: supervisor COMMAND
  install DIR                    copy this program to DIR/supervisor
  unpack FILE DIGEST|- DIR …     unpack archives (tar, gzipped) into folders; see unpack --help
  serve FLAGS                    keep the calls of a sandbox; see serve --help
  connect                        carry stdin and stdout to the serve of this sandbox, which is waited for up to 10 s
  version                        print the version
install, unpack, and serve as process 1 leave the reason for a failure in /dev/termination-log, where there is one.
`

// failures are exit codes: the caller's mistake, and ours.
const (
	misused = 2
	failed  = 1
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "shim" { // First: every call waits for it.
		os.Exit(shim.Main())
	}
	os.Exit(run(os.Args[1:], termination.File))
}

// run carries out a command, and gives the exit code. The reason for a failure is left in the log when the command is what its container was started for.
func run(args []string, log string) int {
	if len(args) == 0 {
		return misuse(errors.New("no command"))
	}
	switch command, rest := args[0], args[1:]; command {
	case "install":
		return ended("install", log, installed(rest))
	case "unpack":
		return ended("unpack", log, unpack.Main(rest))
	case "serve":
		if os.Getpid() != 1 { // Somebody else's child: what ends is not the container.
			log = ""
		}
		return ended("serve", log, serve.Main(rest, version))
	case "connect":
		if len(rest) != 0 {
			return misuse(errors.New("connect takes no argument"))
		}
		return ended("connect", "", connect.Main(os.Stdin, os.Stdout))
	case "version":
		fmt.Println(version)
		return 0
	default:
		return misuse(fmt.Errorf("unknown command %q", command))
	}
}

func installed(args []string) error {
	if len(args) != 1 {
		return usage.Errorf("it takes one folder")
	}
	return install.Into(args[0])
}

// ended is the exit code for an error, which is told.
func ended(command, log string, err error) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	reason := termination.Line(fmt.Sprintf("supervisor %s: %v", command, err))
	fmt.Fprintln(os.Stderr, reason)
	if log != "" {
		termination.Log(log, reason)
	}
	var mistake *usage.Error
	if errors.As(err, &mistake) {
		return misused
	}
	return failed
}

func misuse(err error) int {
	fmt.Fprintf(os.Stderr, "supervisor: %v\n%s", err, help)
	return misused
}
