package serve

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"time"
)

// folders is a flag that may be given again and again.
type folders []string

func (f *folders) String() string { return fmt.Sprint(*f) }
func (f *folders) Set(folder string) error {
	*f = append(*f, folder)
	return nil
}

// addresses is a flag that may be given again and again. Names are refused: in a sandbox that is shut off nobody could look them up.
type addresses []netip.AddrPort

func (a *addresses) String() string { return fmt.Sprint(*a) }
func (a *addresses) Set(text string) error {
	address, err := netip.ParseAddrPort(text)
	if err != nil || address.Port() == 0 {
		return errors.New("must be IP:PORT")
	}
	*a = append(*a, address)
	return nil
}

// given is the command line before it was looked at.
type given struct {
	options
	key   string
	flags *flag.FlagSet
}

func newGiven() *given {
	g := &given{flags: flag.NewFlagSet("supervisor serve", flag.ContinueOnError)}
	g.flags.BoolVar(&g.stdio, "stdio", false, "speak on stdin and stdout; the end of stdin kills every call and ends serve")
	g.flags.StringVar(&g.key, "key-sha256", "", "SHA-256 of the channel key, in `HEX` (required)")
	g.flags.DurationVar(&g.retention, "retention", 10*time.Minute, "how long an ended call waits for its acknowledgement")
	g.places()
	g.bounds()
	g.network()
	g.flags.StringVar(&g.isolation, "isolation", "", "`HOW` calls are kept apart: Exclusive has those that carry credentials run alone, as they do where the kernel\n"+
		"cannot keep them apart; it takes away nothing that the kernel can do")
	return g
}

func (g *given) places() {
	g.flags.StringVar(&g.workspace, "workspace", "/workspace", "`DIR` that calls work in, writable")
	g.flags.StringVar(&g.work, "work", "/work", "`DIR` with in/ (in/UID is readable by that call only), out/ (writable) and private/ (of calls that carry\ncredentials, a folder each)")
	g.flags.StringVar(&g.home, "home", "", "HOME of calls when it is not set (default: --tmp)")
	g.flags.StringVar(&g.tmp, "tmp", "/tmp", "`DIR` for TMPDIR when it is not set, writable")
	g.flags.StringVar(&g.spool, "spool", "/run/toolcall", "`DIR` that output is kept in, out of reach of calls")
	g.flags.Var((*folders)(&g.writable), "writable", "another writable `DIR`; may be given again")
	g.flags.Var((*folders)(&g.hide), "hide", "a `DIR` that calls may not read, with its whole top-level folder; may be given again")
}

func (g *given) bounds() {
	g.flags.Int64Var(&g.memory, "memory", 0, "`BYTES` that calls may use together (0: what the control group allows)")
	g.flags.IntVar(&g.tasks, "tasks", 0, "`N` processes and threads that the sandbox may have, serve's own among them (0: what the control group allows);\n"+
		"near it no call starts, and the one with the most is killed")
	g.flags.Int64Var(&g.spoolBytes, "spool-bytes", 0, "`BYTES` that --spool may hold, in blocks of 4096 (0: what its disk takes);\n"+
		"what calls write beyond is counted and not kept")
}

func (g *given) network() {
	g.flags.BoolVar(&g.refuseUnixSockets, "refuse-unix-sockets", false, "calls may not make Unix sockets")
	g.flags.Var((*addresses)(&g.blocked), "blocked", "an `IP:PORT` that must not be reachable: until none is, hello is not answered, and while one is, no call\nstarts; may be given again")
	g.flags.DurationVar(&g.patience, "blocked-patience", 20*time.Second, "how long hello waits for that, counted from the start of serve")
}
