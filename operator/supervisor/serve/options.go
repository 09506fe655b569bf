// Package serve is the process that keeps a sandbox: it puts the calls, the protocol and the memory watch together.
package serve

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"toolcall-operator/supervisor/internal/confine"
)

// UsageError is a command line that cannot be carried out. Its text names the flag.
type UsageError struct{ Message string }

func (u *UsageError) Error() string { return u.Message }

// options is the command line.
type options struct {
	stdio             bool
	keyHash           [sha256.Size]byte
	workspace         string
	work              string
	home              string
	tmp               string
	spool             string
	writable          []string
	hide              []string
	refuseUnixSockets bool
	memory            int64
	retention         time.Duration
}

// folders is a flag that may be given again and again.
type folders []string

func (f *folders) String() string { return fmt.Sprint(*f) }
func (f *folders) Set(folder string) error {
	*f = append(*f, folder)
	return nil
}

func parse(args []string) (options, error) {
	var o options
	var key string
	flags := flag.NewFlagSet("supervisor serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // A mistake is told in one line, by the caller.
	flags.BoolVar(&o.stdio, "stdio", false, "speak on stdin and stdout; the end of stdin kills every call and ends serve")
	flags.StringVar(&key, "key-sha256", "", "SHA-256 of the channel key, in `HEX` (required)")
	flags.StringVar(&o.workspace, "workspace", "/workspace", "`DIR` that calls work in, writable")
	flags.StringVar(&o.work, "work", "/work", "`DIR` with in/ (in/UID is readable by that call only) and out/ (writable)")
	flags.StringVar(&o.home, "home", "", "HOME of calls when it is not set (default: --tmp)")
	flags.StringVar(&o.tmp, "tmp", "/tmp", "`DIR` for TMPDIR when it is not set, writable")
	flags.StringVar(&o.spool, "spool", "/run/toolcall", "`DIR` that output is kept in, out of reach of calls")
	flags.Var((*folders)(&o.writable), "writable", "another writable `DIR`; may be given again")
	flags.Var((*folders)(&o.hide), "hide", "a `DIR` that calls may not read, with its whole top-level folder; may be given again")
	flags.BoolVar(&o.refuseUnixSockets, "refuse-unix-sockets", false, "calls may not make Unix sockets")
	flags.Int64Var(&o.memory, "memory", 0, "`BYTES` that calls may use together (0: what the control group allows)")
	flags.DurationVar(&o.retention, "retention", 10*time.Minute, "how long an ended call waits for its acknowledgement")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stdout)
			flags.Usage()
			return o, err
		}
		return o, &UsageError{err.Error()}
	}
	if flags.NArg() > 0 {
		return o, &UsageError{fmt.Sprintf("unexpected argument %q", flags.Arg(0))}
	}
	return o.checked(key)
}

func (o options) checked(key string) (options, error) {
	hash, err := hex.DecodeString(key)
	switch {
	case err != nil || len(hash) != sha256.Size:
		return o, &UsageError{fmt.Sprintf("--key-sha256 must be %d hex digits", 2*sha256.Size)}
	case o.memory < 0:
		return o, &UsageError{"--memory must not be negative"}
	case o.retention <= 0:
		return o, &UsageError{"--retention must be more than nothing"}
	}
	o.keyHash = [sha256.Size]byte(hash)
	if o.home == "" {
		o.home = o.tmp
	}
	return o.absolute()
}

// flagged is a folder of the command line, with the flag that named it.
type flagged struct {
	flag   string
	folder *string
}

// all is every folder, in the order of the help.
func (o *options) all() []flagged {
	all := []flagged{{"--workspace", &o.workspace}, {"--work", &o.work}, {"--home", &o.home}, {"--tmp", &o.tmp}, {"--spool", &o.spool}}
	for i := range o.writable {
		all = append(all, flagged{"--writable " + o.writable[i], &o.writable[i]})
	}
	for i := range o.hide {
		all = append(all, flagged{"--hide " + o.hide[i], &o.hide[i]})
	}
	return all
}

// absolute makes the folders independent of the working directory, which becomes the workspace.
func (o options) absolute() (options, error) {
	for _, f := range o.all() {
		path, err := filepath.Abs(*f.folder)
		if err != nil || *f.folder == "" {
			return o, &UsageError{f.flag + " must be a folder"}
		}
		*f.folder = path
	}
	return o, o.apart()
}

// apart refuses a writable folder that would open the inputs or the output of other calls.
func (o options) apart() error {
	out := o.out()
	writable := []flagged{{"--workspace", &o.workspace}, {"--work", &out}, {"--tmp", &o.tmp}, {"--home", &o.home}}
	for i := range o.writable {
		writable = append(writable, flagged{"--writable " + o.writable[i], &o.writable[i]})
	}
	closed := []flagged{{"the inputs of --work", new(o.inputs())}, {"--spool", &o.spool}}
	for _, w := range writable {
		for _, c := range closed {
			if confine.Touch(realPath(*w.folder), realPath(*c.folder)) {
				return &UsageError{fmt.Sprintf("%s: %s is writable, and must neither hold nor lie in %s (%s)", w.flag, *w.folder, c.flag, *c.folder)}
			}
		}
	}
	return nil
}

// realPath is where a path leads, also when its last parts do not exist yet.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

func (o options) inputs() string { return filepath.Join(o.work, "in") }
func (o options) out() string    { return filepath.Join(o.work, "out") }
