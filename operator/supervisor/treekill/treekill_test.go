package treekill

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestWhatIsNamedIsStoppedBeforeItIsKilled(t *testing.T) {
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	if !Round(func() []int { looks++; return []int{victim.Process.Pid} }) {
		t.Error("it found nobody")
	}
	err := victim.Wait()
	if exit, ok := err.(*exec.ExitError); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	if looks != 2 { // Once to stop it, once to see that nobody was added meanwhile.
		t.Errorf("%d looks", looks)
	}
}

func TestASetThatGrowsAtEveryLookIsKilledAllTheSame(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	var all []int
	if !Round(func() []int { all = append(all, gone.Process.Pid); return all }) || len(all) != stopRounds {
		t.Errorf("%d looks", len(all))
	}
}

func TestASignalToTheDeadIsNothing(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	Signal([]int{gone.Process.Pid}, syscall.SIGKILL)
}

func TestOfNobodyThereIsNothingToDo(t *testing.T) {
	if Round(func() []int { return nil }) {
		t.Error("it found somebody")
	}
}
