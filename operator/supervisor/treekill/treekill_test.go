package treekill

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestWhatIsNamedIsStoppedBeforeItIsKilledAndLookedForUntilNobodyIsLeft(t *testing.T) {
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	All(func() []int {
		looks++
		if err := syscall.Kill(victim.Process.Pid, 0); looks > 4 || err != nil {
			return nil
		}
		return []int{victim.Process.Pid}
	})
	err := victim.Wait()
	if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	if looks < 3 { // Twice to see that the set is stable, once more to see that nobody is left.
		t.Errorf("%d looks", looks)
	}
}

func TestASignalToTheDeadIsNothing(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	Signal([]int{gone.Process.Pid}, syscall.SIGKILL)
}

func TestNobodyIsKilledAtOnce(t *testing.T) {
	All(func() []int { return nil })
}
