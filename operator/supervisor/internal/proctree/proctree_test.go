package proctree

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"toolcall-operator/supervisor/internal/threads"
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
	// Mapped for this test alone: what the Go runtime holds comes and goes.
	const size = 64 << 20
	held, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(held) }()
	for i := 0; i < size; i += os.Getpagesize() {
		held[i] = 1
	}
	after := RSS([]int{os.Getpid()})
	if before <= 0 || after < before+size*3/4 {
		t.Errorf("holding %d bytes more took the weight from %d to %d", size, before, after)
	}
	if both := RSS([]int{os.Getpid(), os.Getpid()}); both < size*2 {
		t.Errorf("two processes that hold %d bytes each weigh %d", size, both)
	}
}

func TestALongListOfChildrenIsReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "children")
	long := strings.Repeat("1234567 ", 20000)
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := read(path, func(got []byte) error {
			if string(got) != long {
				t.Errorf("%d bytes", len(got))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestAllEntriesOfAFolderAreNamed(t *testing.T) {
	folder := t.TempDir()
	var want []string
	for n := range 3000 {
		name := "entry-" + strconv.Itoa(n)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := names(folder)
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d of %d, %v", len(got), len(want), err)
	}
}

func TestTasksAreProcessesAndTheirThreads(t *testing.T) {
	before := Tasks([]int{os.Getpid()})
	threads.Warm(before + 5)
	pids := family(t)
	if own := Tasks([]int{os.Getpid()}); own < before+5 {
		t.Errorf("%d threads after %d", own, before)
	}
	if all := Tasks(pids); all != len(pids) {
		t.Errorf("%d tasks of %d processes with one thread each", all, len(pids))
	}
	if none := Tasks([]int{1 << 30}); none != 0 {
		t.Errorf("%d tasks of a process that does not exist", none)
	}
	all, err := AllTasks()
	if least := len(pids) + before; err != nil || all < least {
		t.Errorf("%d tasks in all, %v, and at least %d are ours", all, err, least)
	}
}
