package threads

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAGateLetsOnlySoManyIn(t *testing.T) {
	gate := NewGate(3)
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			gate.Enter()
			defer gate.Leave()
			now := inside.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			time.Sleep(5 * time.Millisecond)
			inside.Add(-1)
		})
	}
	all.Wait()
	if most.Load() != 3 {
		t.Errorf("%d at once", most.Load())
	}
}
