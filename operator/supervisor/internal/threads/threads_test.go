package threads

import (
	"os"
	"testing"
)

func TestWarmThreadsStayForThoseWhoNeedThem(t *testing.T) {
	const many = 20
	Warm(many)
	for range 2 {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil || len(tasks) < many {
			t.Errorf("%d threads, %v", len(tasks), err)
		}
	}
}
