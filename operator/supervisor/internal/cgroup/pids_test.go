package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsLeftIsThatOfTheGroupWithTheFewest(t *testing.T) {
	for name, row := range map[string]struct {
		files      map[string]string
		proc       string
		left, most int
	}{
		"v2":                      {map[string]string{"a/pids.max": "100\n", "a/pids.current": "30\n"}, "0::/a\n", 70, 100},
		"v2, the pod above":       {map[string]string{"p/c/pids.max": "max\n", "p/c/pids.current": "5\n", "p/pids.max": "50\n", "p/pids.current": "44\n"}, "0::/p/c\n", 6, 50},
		"v2 in its own namespace": {map[string]string{"pids.max": "9\n", "pids.current": "3\n"}, "0::/\n", 6, 9},
		"v1":                      {map[string]string{"pids/a/pids.max": "9\n", "pids/a/pids.current": "3\n"}, "0::/\n8:pids:/a\n", 6, 9},
		"v1 mounted at its root":  {map[string]string{"pids/pids.max": "9\n", "pids/pids.current": "3\n"}, "8:pids:/a\n", 6, 9},
		"no limit":                {map[string]string{"a/pids.max": "max\n", "a/pids.current": "3\n"}, "0::/a\n", math.MaxInt, math.MaxInt},
		"the top of the machine":  {map[string]string{"pids/pids.current": "3\n"}, "8:pids:/\n", math.MaxInt, math.MaxInt},
		"no controller":           {nil, "3:cpu:/\n", math.MaxInt, math.MaxInt},
	} {
		root := t.TempDir()
		for file, text := range row.files {
			write(t, filepath.Join(root, file), text)
		}
		if left, most := findPids(root, row.proc).Left(); left != row.left || most != row.most {
			t.Errorf("%s: %d of %d, expected %d of %d", name, left, most, row.left, row.most)
		}
	}
}

func TestTheNumbersAreReadAnewEveryTime(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "pids.max"), "9\n")
	write(t, filepath.Join(root, "pids.current"), "3\n")
	pids := findPids(root, "0::/\n")
	write(t, filepath.Join(root, "pids.current"), "8\n")
	if left, _ := pids.Left(); left != 1 {
		t.Errorf("%d left", left)
	}
	if used, ok := pids.Used(); used != 8 || !ok {
		t.Errorf("%d used, %v", used, ok)
	}
}

func TestWhatIsUsedIsThatOfTheOwnGroupAndNotOfThoseAboveIt(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{"p/c/pids.max": "max\n", "p/c/pids.current": "5\n", "p/pids.max": "50\n", "p/pids.current": "44\n"} {
		write(t, filepath.Join(root, file), text)
	}
	if used, ok := findPids(root, "0::/p/c\n").Used(); used != 5 || !ok {
		t.Errorf("%d used, %v", used, ok)
	}
	if used, ok := findPids(root, "3:cpu:/\n").Used(); ok {
		t.Errorf("%d used, and there is no controller", used)
	}
}
