// Command baseline measures what one process costs, from its start to its exit, in turns: started and waited for by nothing but the kernel,
// and started through a supervisor over its frames.
//
//	baseline ROUNDS TOOL -- SUPERVISOR [ARGUMENT]…
//
// prints one JSON object: the medians of both, in microseconds. With no supervisor it measures the first alone.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

type medians struct {
	Bare       float64 `json:"bare"`
	Supervised float64 `json:"supervised,omitempty"`
}

func main() {
	rounds, tool, supervisor := arguments(os.Args[1:])
	result, err := measure(rounds, tool, supervisor)
	if err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

func arguments(args []string) (rounds int, tool string, supervisor []string) {
	if len(args) >= 2 {
		rounds, _ = strconv.Atoi(args[0])
	}
	if rounds < 1 || len(args) > 2 && (args[2] != "--" || len(args) < 4) {
		fmt.Fprintln(os.Stderr, "usage: baseline ROUNDS TOOL [-- SUPERVISOR [ARGUMENT]…]")
		os.Exit(2)
	}
	if len(args) > 2 {
		supervisor = args[3:]
	}
	return rounds, args[1], supervisor
}

// measure takes turns, so that what else the machine does falls on both alike.
func measure(rounds int, tool string, supervisor []string) (medians, error) {
	var bare, supervised []time.Duration
	var through *client
	if supervisor != nil {
		var err error
		if through, err = connect(supervisor); err != nil {
			return medians{}, err
		}
		defer through.close()
	}
	for range rounds {
		took, err := timed(func() error { return run(tool) })
		if err != nil {
			return medians{}, err
		}
		bare = append(bare, took)
		if through == nil {
			continue
		}
		if took, err = timed(func() error { return through.run(tool) }); err != nil {
			return medians{}, err
		}
		supervised = append(supervised, took)
		if err := through.acknowledge(); err != nil {
			return medians{}, err
		}
	}
	return medians{Bare: median(bare), Supervised: median(supervised)}, nil
}

func timed(do func() error) (time.Duration, error) {
	begun := time.Now()
	err := do()
	return time.Since(begun), err
}

// run is the cheapest way there is: fork, exec, wait.
func run(tool string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fd := null.Fd()
	pid, err := syscall.ForkExec(tool, []string{tool}, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return fmt.Errorf("%s exited with %d", tool, status.ExitStatus())
	}
	return nil
}

func median(all []time.Duration) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds()) / 1000
}
