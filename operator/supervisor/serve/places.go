package serve

import (
	"os"

	"toolcall-operator/supervisor/internal/kept"
	"toolcall-operator/supervisor/internal/usage"
)

// places are the folders that calls share.
type places struct {
	all           []*kept.Folder
	inputs, spool *kept.Folder
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
	if o.spoolBytes > 0 {
		p.spool.Limit(o.spoolBytes)
	}
	if err := os.Chdir(o.workspace); err != nil {
		return p, usage.Errorf("--workspace: %v", err)
	}
	return p, nil
}

func makeFolder(path string) (*kept.Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return kept.Open(path)
}
