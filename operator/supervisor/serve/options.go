// Package serve is the process that keeps a sandbox: it puts the calls, the protocol and the memory watch together.
package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"time"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/usage"
)

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
	isolation         string
	memory            int64
	tasks             int
	spoolBytes        int64
	retention         time.Duration
	blocked           []netip.AddrPort
	patience          time.Duration
}

const (
	// fewestTasks leaves room for a call or two.
	fewestTasks = 128
	// leastPatience is enough for the two looks that it takes.
	leastPatience = time.Second
	// mostPatience ends before connect takes an operator that waits for its hello for a silent one.
	mostPatience = 30 * time.Second
)

func parse(args []string) (options, error) {
	g := newGiven()
	if err := usage.Parse(g.flags, args); err != nil {
		return g.options, err
	}
	if g.flags.NArg() > 0 {
		return g.options, usage.Errorf("unexpected argument %q", g.flags.Arg(0))
	}
	return g.checked(g.key)
}

func (o options) checked(key string) (options, error) {
	hash, err := hex.DecodeString(key)
	switch {
	case err != nil || len(hash) != sha256.Size:
		return o, usage.Errorf("--key-sha256 must be %d hex digits", 2*sha256.Size)
	case o.isolation != "" && o.isolation != exclusive:
		return o, usage.Errorf("--isolation must be %s, or absent", exclusive)
	case o.memory < 0:
		return o, usage.Errorf("--memory must not be negative")
	case o.tasks < 0 || o.tasks > 0 && o.tasks < fewestTasks:
		return o, usage.Errorf("--tasks must be 0, or at least %d: this program takes half of that", fewestTasks)
	case o.spoolBytes < 0:
		return o, usage.Errorf("--spool-bytes must not be negative")
	case o.patience < leastPatience || o.patience > mostPatience:
		return o, usage.Errorf("--blocked-patience must be %s to %s", leastPatience, mostPatience)
	case o.retention <= 0:
		return o, usage.Errorf("--retention must be more than nothing")
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
			return o, usage.Errorf("%s must be a folder", f.flag)
		}
		*f.folder = path
	}
	return o, o.apart()
}

// apart refuses a writable folder that would open the inputs, the output or the credentials of other calls.
func (o options) apart() error {
	out := o.out()
	writable := []flagged{{"--workspace", &o.workspace}, {"--work", &out}, {"--tmp", &o.tmp}, {"--home", &o.home}}
	for i := range o.writable {
		writable = append(writable, flagged{"--writable " + o.writable[i], &o.writable[i]})
	}
	closed := []flagged{{"the inputs of --work", new(o.inputs())}, {"the private folders of --work", new(o.homes())}, {"--spool", &o.spool}}
	for _, w := range writable {
		for _, c := range closed {
			if confine.Touch(confine.RealPath(*w.folder), confine.RealPath(*c.folder)) {
				return usage.Errorf("%s: %s is writable, and must neither hold nor lie in %s (%s)", w.flag, *w.folder, c.flag, *c.folder)
			}
		}
	}
	return nil
}

func (o options) inputs() string { return filepath.Join(o.work, "in") }
func (o options) out() string    { return filepath.Join(o.work, "out") }
func (o options) homes() string  { return filepath.Join(o.work, "private") }
