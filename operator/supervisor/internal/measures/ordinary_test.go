//go:build !weaken

package measures

import "testing"

func TestAnOrdinaryBuildLeavesNoMeasureOutWhateverTheEnvironmentSays(t *testing.T) {
	t.Setenv("TOOLCALL_WITHOUT", "seccomp,landlock-files")
	for _, name := range []string{"seccomp", "landlock-files", ""} {
		if Off(name) {
			t.Errorf("measure %q is off in an ordinary build", name)
		}
	}
}
