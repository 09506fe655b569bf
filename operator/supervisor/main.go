// The supervisor of a sandbox: it starts calls, keeps them apart, and tells an operator how they end.
package main

import (
	"errors"
	"fmt"
	"os"

	"toolcall-operator/supervisor/connect"
	"toolcall-operator/supervisor/install"
	"toolcall-operator/supervisor/serve"
	"toolcall-operator/supervisor/shim"
)

// version is the supervisor's, as its hello tells it.
const version = "0.1.0"

const usage = `usage: supervisor COMMAND
  install DIR   copy this program to DIR/supervisor
  serve FLAGS   keep the calls of a sandbox; see serve --help
  connect       carry stdin and stdout to the serve of this sandbox
  version       print the version
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
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		return misuse(errors.New("no command"))
	}
	switch command, rest := args[0], args[1:]; command {
	case "install":
		if len(rest) != 1 {
			return misuse(errors.New("install takes one folder"))
		}
		return ended(install.Into(rest[0]))
	case "serve":
		return ended(serve.Main(rest, version))
	case "connect":
		if len(rest) != 0 {
			return misuse(errors.New("connect takes no argument"))
		}
		return ended(connect.Main(os.Stdin, os.Stdout))
	case "version":
		fmt.Println(version)
		return 0
	default:
		return misuse(fmt.Errorf("unknown command %q", command))
	}
}

// ended is the exit code for an error, which is told.
func ended(err error) int {
	var wrong *serve.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(os.Stderr, "supervisor serve: %v\n", err)
		return misused
	}
	fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
	return failed
}

func misuse(err error) int {
	fmt.Fprintf(os.Stderr, "supervisor: %v\n%s", err, usage)
	return misused
}
