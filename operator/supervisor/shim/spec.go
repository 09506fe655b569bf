// Package shim is the process between the supervisor and one call: it confines and starts the tool, owns the process tree, and outlives it.
package shim

import (
	"encoding/binary"
	"io"
	"syscall"

	"toolcall-operator/supervisor/internal/confine"
)

// Descriptors a shim is started with, besides the three of the tool.
const (
	controlFD = 3 // the socket to the supervisor
	logFD     = 4 // where the shim itself complains: the supervisor's stderr
)

// Spec is what a shim is told to start.
type Spec struct {
	Argv        []string
	Env         []string // NAME=value
	Dir         string   // where the tool begins; "" for where the shim is
	Path        []string // folders that a command without a slash is looked up in
	Box         confine.Box
	Trusted     bool     // the program must lie in none of Distrusted
	Distrusted  []string // folders whose content calls can change
	Pids        int
	LandlockABI int // 0 for none
}

// Orders of the supervisor, one byte each.
const (
	Terminate byte = 'T' // TERM and CONT to every process of the call
	Kill      byte = 'K' // KILL to every process of the call
)

// Step is where a start failed; 0 when it did not.
type Step byte

// The steps of a start.
const (
	Started Step = iota
	ConfineStep
	ForkStep
	ExecStep
	ResolveStep
)

// control is the socket to the supervisor, read and written with blocking system calls: the shim has nothing else to wait for.
type control int

func (c control) Read(p []byte) (int, error) {
	n, err := ignoringEINTR(func() (int, error) { return syscall.Read(int(c), p) })
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

func (c control) Write(p []byte) (int, error) {
	return ignoringEINTR(func() (int, error) { return syscall.Write(int(c), p) })
}

func ignoringEINTR(do func() (int, error)) (int, error) {
	for {
		n, err := do()
		if err == syscall.EINTR {
			continue
		}
		return max(n, 0), err
	}
}

// Report is the one thing a shim says, when nothing of the call is left.
type Report struct {
	Step    Step
	Errno   syscall.Errno      // why the step failed
	Status  syscall.WaitStatus // of the main process
	Asked   bool               // an order was carried out before the main process ended
	TooMany bool               // there were more processes than Spec.Pids
}

const reportSize = 12

// Append appends the report as its bytes.
func (r Report) Append(to []byte) []byte {
	to = append(to, byte(r.Step), flag(r.Asked), flag(r.TooMany), 0)
	to = binary.BigEndian.AppendUint32(to, uint32(r.Errno))
	return binary.BigEndian.AppendUint32(to, uint32(r.Status))
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// ReadReport waits for the report; a shim that died without one gives an error.
func ReadReport(from io.Reader) (Report, error) {
	var b [reportSize]byte
	if _, err := io.ReadFull(from, b[:]); err != nil {
		return Report{}, err
	}
	return Report{
		Step:    Step(b[0]),
		Asked:   b[1] == 1,
		TooMany: b[2] == 1,
		Errno:   syscall.Errno(binary.BigEndian.Uint32(b[4:])),
		Status:  syscall.WaitStatus(binary.BigEndian.Uint32(b[8:])),
	}, nil
}
