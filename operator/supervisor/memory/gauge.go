package memory

import "os"

// Gauge knows the limit, the usage and the kernel's kills.
type Gauge interface {
	Limit() int64
	Usage(trees func() int64) int64
	OOMKills() int64
}

// Own is the gauge of this process: a budget of so many bytes for the calls' processes, or with 0 what its control group allows.
func Own(budget int64) Gauge {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		text = nil
	}
	group, found := Find("/sys/fs/cgroup", string(text))
	switch {
	case budget > 0:
		return Budget{bytes: budget, group: group}
	case found:
		return group
	}
	return Budget{}
}

// Budget is a limit on what the processes of the calls weigh, whatever the machine has.
type Budget struct {
	bytes int64
	group Cgroup
}

// Limit is in bytes, 0 for none.
func (b Budget) Limit() int64 { return b.bytes }

// Usage is what the processes weigh.
func (b Budget) Usage(trees func() int64) int64 { return trees() }

// OOMKills are those of the control group, if there is one.
func (b Budget) OOMKills() int64 {
	if b.group.folder == "" {
		return 0
	}
	return b.group.OOMKills()
}
