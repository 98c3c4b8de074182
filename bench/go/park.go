// Goroutines that yield, wait, and wake each other.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func yields(p params) sample {
	goroutines, each := p.get("tasks"), p.get("each")
	var group sync.WaitGroup
	start := time.Now()
	group.Add(goroutines)
	for range goroutines {
		go func() {
			for range each {
				runtime.Gosched()
			}
			group.Done()
		}()
	}
	group.Wait()
	return perOp(time.Since(start), goroutines*each)
}

// The clock stops, and the main goroutine is woken, when the last one is about to wait.
// They wait so that they could be woken, as parked goroutines can in the other runtimes (an empty select, which nobody
// can end, needs 96 bytes less); on many channels, because one would measure its lock.
func parked(p params) sample {
	n := p.get("n")
	var missing atomic.Int64
	missing.Store(int64(n))
	all := make(chan struct{})
	var doors [256]chan struct{}
	for i := range doors {
		doors[i] = make(chan struct{})
	}
	before := resident()
	start := time.Now()
	for i := range n {
		door := doors[i%len(doors)]
		go func() {
			if missing.Add(-1) == 0 {
				close(all)
			}
			<-door
		}()
	}
	<-all
	elapsed := time.Since(start)
	time.Sleep(50 * time.Millisecond)
	return perOp(elapsed, n).and("bytes", float64(resident()-before)/float64(n))
}

// Go has no park and unpark for its users; an unbuffered channel is what they use.
func pingpong(p params) sample {
	n := p.get("n")
	ping, pong := make(chan struct{}), make(chan struct{})
	go func() {
		for range n {
			<-ping
			pong <- struct{}{}
		}
	}()
	start := time.Now()
	for range n {
		ping <- struct{}{}
		<-pong
	}
	return perOp(time.Since(start), n)
}
