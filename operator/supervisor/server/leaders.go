package server

import (
	"fmt"
	"sync"
)

// leaders remembers the newest operator that said hello.
type leaders struct {
	mu    sync.RWMutex
	epoch int64
}

// olderLeader says that a newer operator was here.
type olderLeader struct{ own, newest int64 }

func (o *olderLeader) Error() string {
	return fmt.Sprintf("epoch %d is older than %d, which was here", o.own, o.newest)
}

// welcome notes an operator. It waits until nothing is under way that an older one asked for: what the new one lists is all there will be.
func (l *leaders) welcome(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = max(l.epoch, epoch)
}

// as does, which must not wait, what an operator of this epoch asked for. Errors: *olderLeader, and nothing was done; or what do gives.
func (l *leaders) as(epoch int64, do func() error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if epoch < l.epoch {
		return &olderLeader{epoch, l.epoch}
	}
	return do()
}
