package calls

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
)

// meter is a gauge that a test sets.
type meter struct {
	limit int64
	kills atomic.Int64
}

func (m *meter) Limit() int64                   { return m.limit }
func (m *meter) Usage(trees func() int64) int64 { return trees() }
func (m *meter) OOMKills() int64                { return m.kills.Load() }

func TestTheBiggestCallDiesBeforeMemoryRunsOutAndTheOthersLive(t *testing.T) {
	s := newSandbox(t, func(c *Config) { c.Gauge = &meter{limit: 100 << 20} })
	small := s.start(sh("echo $$; sleep 60"))
	pid := s.output(small, 1)[0]
	// A shell variable of 120 MB, filled in steps that the watch can see.
	big := s.start(sh(`x=$(head -c 30000000 /dev/zero | tr '\0' x); echo one; y=$x$x$x; echo two; sleep 60`))
	s.expect(s.end(big), "OutOfMemory")
	if !isAlive(pid) || small.Exit() != nil {
		t.Error("the small one died")
	}
}

func TestAToolThatTheKernelKilledForMemoryIsOutOfMemory(t *testing.T) {
	gauge := &meter{}
	s := newSandbox(t, func(c *Config) { c.Gauge = gauge })
	c := s.start(sh("echo ready; sleep 0.2; kill -KILL $$"))
	s.output(c, 1)
	gauge.kills.Add(1)
	s.expect(s.end(c), "OutOfMemory")
}

func TestMemoryIsLookedAtMoreOftenTheLessIsFree(t *testing.T) {
	for _, row := range []struct {
		free  int64
		pause time.Duration
	}{
		{math.MaxInt64, lookEvery},
		{4 << 30, lookEvery},
		{205 << 20, 205 * time.Second / 4096},
		{41 << 20, 41 * time.Second / 4096},
		{1 << 20, lookOften},
		{0, lookOften},
		{-1 << 30, lookOften},
	} {
		if got := pause(row.free); got != row.pause {
			t.Errorf("%d bytes free: %s, want %s", row.free, got, row.pause)
		}
	}
}
