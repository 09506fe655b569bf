package proctree

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// family starts a shell with a child that has a child; it gives their pids, parent first, and ends them with the test.
func family(t *testing.T) []int {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", `/bin/sh -c 'echo $$; sleep 60 & echo $!; wait' & echo $$; wait`)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	t.Cleanup(func() {
		for _, pid := range pids {
			process, _ := os.FindProcess(pid)
			_ = process.Kill()
		}
		_ = command.Wait()
	})
	for lines := bufio.NewScanner(out); len(pids) < 3 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	slices.SortFunc(pids, func(a, b int) int {
		if a == command.Process.Pid {
			return -1
		}
		return a - b
	})
	return pids
}

func TestDescendantsAreChildrenAndTheirChildren(t *testing.T) {
	pids := family(t)
	for name, look := range map[string]func(int) ([]int, error){
		"children files": func(pid int) ([]int, error) { return descendants(pid, childrenOf) },
		"whole scan": func(pid int) ([]int, error) {
			parents, err := allParents()
			return descendants(pid, func(p int) ([]int, error) { return childrenIn(parents, p), err })
		},
		"whichever the kernel offers": Descendants,
	} {
		if name == "children files" && !hasChildrenFiles() {
			t.Log("not looked at: this kernel has no /proc/PID/task/TID/children")
			continue
		}
		found, err := look(pids[0])
		slices.Sort(found)
		want := slices.Sorted(slices.Values(pids[1:]))
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%s: descendants of %d are %v (%v), want %v", name, pids[0], found, err, want)
		}
	}
}

func TestAProcessThatIsGoneHasNoDescendantsAndNoParent(t *testing.T) {
	command := exec.Command("/bin/true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	pid := command.Process.Pid
	if _, err := Descendants(pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Descendants: %v", err)
	}
	if _, err := ParentOf(pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ParentOf: %v", err)
	}
}

func TestParentOfIsTheParent(t *testing.T) {
	pids := family(t)
	for _, row := range []struct{ child, parent int }{{pids[0], os.Getpid()}, {pids[1], pids[0]}, {pids[2], pids[1]}, {1, 0}} {
		if got, err := ParentOf(row.child); err != nil || got != row.parent {
			t.Errorf("parent of %d is %d (%v), want %d", row.child, got, err, row.parent)
		}
	}
}

func TestAParentIsReadBehindAnyCommandName(t *testing.T) {
	for _, row := range []struct {
		stat   string
		parent int
		fails  bool
	}{
		{"7 (sleep) S 3 7 7 0", 3, false},
		{"7 (a) R 9 (b) S 3 7 7 0", 3, false},
		{"7 (\n) ) S 0 7", 0, false},
		{"", 0, true},
		{"7 (sleep", 0, true},
	} {
		got, err := parentIn([]byte(row.stat))
		if got != row.parent || (err != nil) != row.fails {
			t.Errorf("%q: %d, %v", row.stat, got, err)
		}
	}
}

func TestACircleOfReusedPidsEnds(t *testing.T) {
	circle := map[int][]int{1: {2}, 2: {3}, 3: {1, 2}}
	found, err := descendants(1, func(pid int) ([]int, error) { return circle[pid], nil })
	if err != nil || !slices.Equal(found, []int{2, 3}) {
		t.Errorf("descendants are %v (%v)", found, err)
	}
}

func TestRSSGrowsWithWhatAProcessHoldsAndIsZeroForTheDead(t *testing.T) {
	command := exec.Command("/bin/true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if weight := RSS([]int{command.Process.Pid}); weight != 0 {
		t.Errorf("a process that is gone weighs %d", weight)
	}
	before := RSS([]int{os.Getpid()})
	held := []byte(strings.Repeat("x", 64<<20))
	after := RSS([]int{os.Getpid()})
	if before <= 0 || after < before+(48<<20) {
		t.Errorf("holding %d bytes more took the weight from %d to %d", len(held), before, after)
	}
	if both := RSS([]int{os.Getpid(), os.Getpid()}); both < 2*before {
		t.Errorf("two processes weigh %d, one %d", both, before)
	}
}
