package serve

import (
	"os"

	"toolcall-operator/supervisor/internal/confine"
	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/private"
	"toolcall-operator/supervisor/internal/usage"
)

// places are the folders that calls share, or have a part of.
type places struct {
	all           []*kept.Folder
	inputs, spool *kept.Folder
	homes         *private.Homes
}

// prepare makes the folders that are missing, and goes to the workspace: shims and tools inherit it.
func (o options) prepare() (places, error) {
	p := places{}
	for _, f := range []struct {
		flag, folder string
		opened       **kept.Folder
	}{
		{"--workspace", o.workspace, nil},
		{"--work", o.work, nil},
		{"--work", o.out(), nil},
		{"--work", o.inputs(), &p.inputs},
		{"--work", o.homes(), nil},
		{"--tmp", o.tmp, nil},
		{"--spool", o.spool, &p.spool},
	} {
		folder, err := makeFolder(f.folder)
		if err != nil {
			return p, usage.Errorf("%s: %v", f.flag, err)
		}
		p.all = append(p.all, folder)
		if f.opened != nil {
			*f.opened = folder
		}
	}
	var err error
	if p.homes, err = private.Open(confine.RealPath(o.homes()), o.spareHomes()); err != nil {
		return p, usage.Errorf("--work: %v", err)
	}
	if o.spoolBytes > 0 {
		p.spool.Limit(o.spoolBytes)
	}
	if err := os.Chdir(o.workspace); err != nil {
		return p, usage.Errorf("--workspace: %v", err)
	}
	return p, nil
}

// homesAhead is how many homes are made in advance: one for each of as many calls as may start while the first of them is made.
const homesAhead = 8

// spareHomes is none where calls may reach what lies in the folder of homes: whatever they put into one would wait for a call with credentials.
func (o options) spareHomes() int {
	if o.kept() == exclusive {
		return 0
	}
	return homesAhead
}

func makeFolder(path string) (*kept.Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return kept.Open(path)
}
