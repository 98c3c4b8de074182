// Goroutines that would stop the others: by computing, by blocking their thread.
package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Endless loops, and beside them sleepers: how late they wake.
func loops(p params) sample {
	const d = time.Millisecond
	var stop atomic.Bool
	for range p.get("loops") {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	sleepers, each := p.get("sleepers"), p.get("each")
	late := make([]time.Duration, sleepers*each)
	var group sync.WaitGroup
	group.Add(sleepers)
	for s := range sleepers {
		go func() {
			for i := range each {
				start := time.Now()
				time.Sleep(d)
				late[s*each+i] = time.Since(start) - d
			}
			group.Done()
		}()
	}
	group.Wait()
	stop.Store(true)
	slices.Sort(late)
	at := func(percent int) float64 { return late[(len(late)-1)*percent/100].Seconds() * 1e6 }
	return figure("p50_us", at(50)).and("p99_us", at(99))
}

// System calls that block their thread, which Go's runtime knows of: how long all of them take together.
func handoff(p params) sample {
	var group sync.WaitGroup
	start := time.Now()
	for range p.get("goroutines") {
		group.Add(1)
		go func() {
			for range p.get("each") {
				call := syscall.Timespec{Nsec: 50_000_000}
				syscall.Nanosleep(&call, nil)
			}
			group.Done()
		}()
	}
	group.Wait()
	return figure("wall_ms", time.Since(start).Seconds()*1e3)
}
