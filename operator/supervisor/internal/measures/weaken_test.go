//go:build weaken

package measures

import "testing"

func TestAWeakenedBuildLeavesOutWhatTheListNames(t *testing.T) {
	for _, row := range []struct {
		list, name string
		off        bool
	}{
		{"", "seccomp", false},
		{"seccomp", "seccomp", true},
		{"landlock-files,seccomp", "seccomp", true},
		{"landlock-files", "seccomp", false},
		{"seccomp-else", "seccomp", false},
	} {
		t.Setenv(Variable, row.list)
		if Off(row.name) != row.off {
			t.Errorf("with %q, Off(%q) is %v", row.list, row.name, !row.off)
		}
	}
}
