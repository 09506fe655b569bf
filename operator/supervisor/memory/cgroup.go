// Package memory reads how much memory the sandbox may use, and how much of it is in use.
package memory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"toolcall-operator/supervisor/internal/cgroup"
)

// unlimitedV1 is what cgroup v1 shows for "no limit", give or take a page: no machine has as much.
const unlimitedV1 = 1 << 62

// Cgroup is the memory controller of one control group.
type Cgroup struct {
	folder string
	names  names
}

// names is what the files of a controller are called.
type names struct {
	limit, usage, events string
	cache                [2]string // lines of memory.stat
}

var (
	v1 = names{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control", [2]string{"total_inactive_file", "total_active_file"}}
	v2 = names{"memory.max", "memory.current", "memory.events", [2]string{"inactive_file", "active_file"}}
)

// Find is the memory controller of a process, whose /proc/PID/cgroup is given, below root (/sys/fs/cgroup). ok is false when there is none.
func Find(root, procCgroup string) (c Cgroup, ok bool) {
	for _, folder := range cgroup.Folders(root, procCgroup, "memory") {
		c := Cgroup{folder.Path, v1}
		if folder.Unified {
			c.names = v2
		}
		if _, err := os.Stat(filepath.Join(c.folder, c.names.usage)); err == nil {
			return c, true
		}
	}
	return Cgroup{}, false
}

// Limit is in bytes; 0 when there is none, or it cannot be read.
func (c Cgroup) Limit() int64 {
	limit, err := c.number(c.names.limit)
	if err != nil || limit >= unlimitedV1 {
		return 0
	}
	return limit
}

// Usage is in bytes, without the cache of files: the kernel gives it up before it kills. What is often read is cache like any other: counted as
// used, a file of nearly the limit that a tool read twice (active, to the kernel) ended every call of its sandbox, the smallest too. A file in
// memory (/dev/shm) is no cache, and stands in neither line.
func (c Cgroup) Usage(func() int64) int64 {
	usage, err := c.number(c.names.usage)
	if err != nil {
		return 0
	}
	counters := c.counters("memory.stat")
	for _, line := range c.names.cache {
		usage -= counters[line]
	}
	return usage
}

// OOMKills counts the processes of the group that the kernel killed for want of memory.
func (c Cgroup) OOMKills() int64 { return c.counters(c.names.events)["oom_kill"] }

func (c Cgroup) number(file string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(c.folder, file))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s of %s: %w", file, c.folder, err)
	}
	return n, nil
}

// counters are the lines "name number" of a file; none when it cannot be read.
func (c Cgroup) counters(file string) map[string]int64 {
	text, err := os.ReadFile(filepath.Join(c.folder, file))
	if err != nil {
		return nil
	}
	counters := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		counters[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return counters
}
