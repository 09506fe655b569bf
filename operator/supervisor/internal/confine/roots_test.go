package confine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRootsAreTheOutermostAndLeadNowhereElse(t *testing.T) {
	dir := RealPath(t.TempDir())
	for _, folder := range []string{"data/deep", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "data", "data/planted": dir + "/other"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	for _, row := range []struct{ names, paths []string }{
		{nil, nil},
		{in("data", "other"), in("data", "other")},
		{in("data", "data"), in("data")},
		{in("data/deep", "data"), in("data")},
		{in("data", "data/planted"), in("data")}, // A call may have put it there.
		{in("link", "data"), in("data")},
		{in("link/deep", "data"), in("data")},
		{in("link/new/er"), in("data/new/er")},
		{in("datas", "data/"), in("datas", "data")},
	} {
		if got := Paths(Roots(row.names)); !slices.Equal(got, row.paths) {
			t.Errorf("%v: %v, want %v", row.names, got, row.paths)
		}
	}
}

func TestABoxIsBoundToWhatLiesBelowBothARootAndAPath(t *testing.T) {
	roots := []Root{{"/workspace", "/workspace"}, {"/tmp/run/tmp", "/private/tmp/run/tmp"}, {"/dev/shm", "/dev/shm"}}
	for _, row := range []struct{ paths, write []string }{
		{nil, nil},
		{[]string{"/workspace"}, []string{"/workspace"}},
		{[]string{"/workspace/a", "/workspace/b/c"}, []string{"/workspace/a", "/workspace/b/c"}},
		{[]string{"/workspaces", "/work", "/etc"}, nil},
		{[]string{"/"}, []string{"/workspace", "/private/tmp/run/tmp", "/dev/shm"}},
		{[]string{"/dev"}, []string{"/dev/shm"}},
		{[]string{"/tmp"}, []string{"/private/tmp/run/tmp"}},
		{[]string{"/tmp/run/tmp/a"}, []string{"/private/tmp/run/tmp/a"}},
		{[]string{"/private/tmp/run/tmp/a"}, []string{"/private/tmp/run/tmp/a"}},
		{[]string{"/private"}, []string{"/private/tmp/run/tmp"}},
	} {
		unbound := Box{Read: []string{"/usr"}, Write: Paths(roots), Devices: devices}
		got := unbound.Bind(roots, row.paths)
		if !slices.Equal(got.Write, row.write) || !got.BindsWrites {
			t.Errorf("%v: %v, want %v", row.paths, got.Write, row.write)
		}
		if want := []string{"/usr", "/workspace", "/private/tmp/run/tmp", "/dev/shm"}; !slices.Equal(got.Read, want) {
			t.Errorf("%v: it may read %v", row.paths, got.Read)
		}
		if len(unbound.Read) != 1 || unbound.BindsWrites {
			t.Errorf("%v: the unbound box has changed: %+v", row.paths, unbound)
		}
	}
}

func TestABoxLosesAFolderWithWhatHoldsItAndWhatLiesInIt(t *testing.T) {
	whole := Box{
		Read:    []string{"/usr", "/data", "/data/workspace/image", "/datas"},
		Write:   []string{"/data/workspace", "/data/workspace/in/side", "/data", "/tmp", "/data/workspaces"},
		Devices: devices,
	}
	reading := whole.ReadingOnly("/data/workspace")
	if want := []string{"/tmp", "/data/workspaces"}; !slices.Equal(reading.Write, want) || !reading.BindsWrites {
		t.Errorf("it may write %v", reading.Write)
	}
	if want := slices.Concat(whole.Read, whole.Write); !slices.Equal(reading.Read, want) {
		t.Errorf("it may read %v", reading.Read)
	}
	without := whole.Without("/data/workspace")
	if want := []string{"/tmp", "/data/workspaces"}; !slices.Equal(without.Write, want) || !without.BindsWrites {
		t.Errorf("without it may write %v", without.Write)
	}
	if want := []string{"/usr", "/datas"}; !slices.Equal(without.Read, want) {
		t.Errorf("without it may read %v", without.Read)
	}
	if len(whole.Read) != 4 || len(whole.Write) != 5 || whole.BindsWrites {
		t.Errorf("the whole box has changed: %+v", whole)
	}
}

func TestWritesAreBoundOnlyWhereTheKernelCanKeepThemSo(t *testing.T) {
	for abi, works := range map[int]bool{0: false, 1: false, 2: false, 3: true, 7: true} {
		if err := (Box{}).enforceable(abi); err != nil {
			t.Errorf("ABI %d: a box that binds nothing is refused: %v", abi, err)
		}
		for name, bound := range map[string]Box{"bound": Box{}.Bind(nil, nil), "reading only": Box{}.ReadingOnly("/w"), "without": Box{}.Without("/w")} {
			err := bound.enforceable(abi)
			if works != (err == nil) || !works && !errors.Is(err, unix.EOPNOTSUPP) {
				t.Errorf("ABI %d, %s: %v", abi, name, err)
			}
		}
	}
}
