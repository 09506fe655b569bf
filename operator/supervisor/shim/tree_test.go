package shim

import (
	"testing"
	"time"
)

func TestAYoungCallAndOneWithManyProcessesAreWatchedClosely(t *testing.T) {
	for _, row := range []struct {
		age         time.Duration
		count, pids int
		pause       time.Duration
	}{
		{0, 1, 64, watchEvery},
		{young - 1, 1, 64, watchEvery},
		{young, 1, 64, seldom},
		{young, 16, 64, seldom},
		{young, 17, 64, watchEvery},
		{time.Hour, 64, 64, watchEvery},
		{time.Hour, 1, 1, watchEvery},
		{time.Hour, 0, 1, seldom},
	} {
		if got := nextLook(row.age, row.count, row.pids); got != row.pause {
			t.Errorf("%s, %d of %d: %s", row.age, row.count, row.pids, got)
		}
	}
}
