// Goroutines that compete for a lock.
package main

import (
	"sync"
	"time"
)

func mutex(p params) sample {
	goroutines, each := p.get("tasks"), p.get("each")
	var lock sync.Mutex
	var group sync.WaitGroup
	count := 0
	start := time.Now()
	group.Add(goroutines)
	for range goroutines {
		go func() {
			for range each {
				lock.Lock()
				count++
				lock.Unlock()
			}
			group.Done()
		}()
	}
	group.Wait()
	elapsed := time.Since(start)
	if count != goroutines*each {
		panic("two held the lock")
	}
	return perOp(elapsed, goroutines*each)
}
