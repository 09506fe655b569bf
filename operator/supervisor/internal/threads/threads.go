// Package threads makes OS threads before they are needed.
package threads

import (
	"runtime"
	"sync"
)

// Warm makes the process have at least so many threads that wait for work. The Go runtime makes one whenever a goroutine has none to run on, and ends
// the process when the kernel refuses it (EAGAIN): of all processes the one that would kill a fork bomb could not do so any more.
func Warm(n int) {
	var ready sync.WaitGroup
	release := make(chan struct{})
	ready.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread() // A thread of its own, for as long as all of them are held.
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		}()
	}
	ready.Wait()
	close(release)
}
