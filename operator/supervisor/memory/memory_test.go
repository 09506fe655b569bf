package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// machine makes a folder that looks like /sys/fs/cgroup.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var (
	unified = map[string]string{
		"memory.max":     "268435456\n",
		"memory.current": "104857600\n",
		"memory.stat":    "anon 90000000\nfile 4857600\nshmem 7\ninactive_file 1857600\nactive_file 3000000\n",
		"memory.events":  "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\noom_group_kill 0\n",
	}
	legacy = map[string]string{
		"memory.limit_in_bytes": "268435456\n",
		"memory.usage_in_bytes": "104857600\n",
		"memory.stat":           "inactive_file 1\nactive_file 1\ntotal_inactive_file 1857600\ntotal_active_file 3000000\n",
		"memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
	}
)

// below puts files into a folder.
func below(folder string, files map[string]string) map[string]string {
	moved := map[string]string{}
	for name, text := range files {
		moved[filepath.Join(folder, name)] = text
	}
	return moved
}

func TestTheNumbersAreReadWhereverTheGroupLies(t *testing.T) {
	for name, row := range map[string]struct {
		files map[string]string
		proc  string
	}{
		"v2 in a namespace of its own":   {unified, "0::/\n"},
		"v2 below the root":              {below("kubepods/pod1", unified), "0::/kubepods/pod1\n"},
		"v2 whose path is not mounted":   {unified, "0::/kubepods/pod1\n"},
		"v1 below the root":              {below("memory/kubepods/pod1", legacy), "5:cpu:/x\n4:memory:/kubepods/pod1\n0::/\n"},
		"v1 mounted at its root":         {below("memory", legacy), "4:memory:/kubepods/pod1\n"},
		"v1 with another controller":     {below("memory", legacy), "4:hugetlb,memory:/\n"},
		"hybrid, where v1 has memory":    {below("memory/a", legacy), "0::/a\n4:memory:/a\n"},
		"v2 behind a line that is weird": {unified, "what\n\n0::/\n"},
	} {
		group, found := Find(machine(t, row.files), row.proc)
		if !found {
			t.Errorf("%s: not found", name)
			continue
		}
		if group.Limit() != 268435456 || group.Usage(nil) != 100000000 || group.OOMKills() != 1 {
			t.Errorf("%s: limit %d, usage %d, kills %d", name, group.Limit(), group.Usage(nil), group.OOMKills())
		}
	}
}

func TestNoLimitIsZero(t *testing.T) {
	for name, row := range map[string]struct {
		files map[string]string
		proc  string
	}{
		"v2 max":     {map[string]string{"memory.current": "5\n", "memory.max": "max\n"}, "0::/\n"},
		"v2 no file": {map[string]string{"memory.current": "5\n"}, "0::/\n"},
		"v1 huge":    {below("memory", map[string]string{"memory.usage_in_bytes": "5\n", "memory.limit_in_bytes": "9223372036854771712\n"}), "4:memory:/\n"},
		"garbage":    {map[string]string{"memory.current": "x\n", "memory.max": "x\n"}, "0::/\n"},
	} {
		group, found := Find(machine(t, row.files), row.proc)
		if !found || group.Limit() != 0 || group.OOMKills() != 0 {
			t.Errorf("%s: found %v, limit %d, kills %d", name, found, group.Limit(), group.OOMKills())
		}
	}
}

func TestAMachineWithoutMemoryControllerHasNone(t *testing.T) {
	for _, proc := range []string{"", "0::/\n", "3:cpu:/\n"} {
		if group, found := Find(machine(t, nil), proc); found {
			t.Errorf("%q: found %v", proc, group)
		}
	}
}

func TestABudgetWeighsTheProcesses(t *testing.T) {
	gauge := Own(1000)
	if gauge.Limit() != 1000 || gauge.Usage(func() int64 { return 7 }) != 7 || gauge.OOMKills() < 0 {
		t.Errorf("%+v", gauge)
	}
}

func TestWithoutBudgetOrGroupThereIsNoLimit(t *testing.T) {
	if (Budget{}).Limit() != 0 || (Budget{}).OOMKills() != 0 {
		t.Error("there is")
	}
}
