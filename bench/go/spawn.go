// Goroutines that are made and end at once.
package main

import (
	"sync"
	"time"
)

func spawnJoin(p params) sample {
	n, batch := p.get("n"), p.get("batch")
	var group sync.WaitGroup
	start := time.Now()
	for range n / batch {
		group.Add(batch)
		for range batch {
			go group.Done()
		}
		group.Wait()
	}
	return perOp(time.Since(start), n/batch*batch)
}

func spawnAll(p params) sample {
	n := p.get("n")
	var group sync.WaitGroup
	start := time.Now()
	group.Add(n)
	for range n {
		go group.Done()
	}
	group.Wait()
	return perOp(time.Since(start), n)
}

func chain(p params) sample {
	n := p.get("n")
	end := make(chan struct{})
	start := time.Now()
	chainNext(n, end)
	<-end
	return perOp(time.Since(start), n)
}

func chainNext(left int, end chan struct{}) {
	if left == 0 {
		close(end)
	} else {
		go chainNext(left-1, end)
	}
}

// Every call that is not a leaf makes one goroutine: fib(depth + 1) - 1 in all.
func fib(p params) sample {
	depth := p.get("depth")
	start := time.Now()
	result := parallelFib(depth)
	elapsed := time.Since(start)
	this, next := 0, 1
	for range depth {
		this, next = next, this+next
	}
	if result != this {
		fail("fib(%d) is %d, not %d", depth, this, result)
	}
	return perOp(elapsed, next-1)
}

func parallelFib(n int) int {
	if n < 2 {
		return n
	}
	var group sync.WaitGroup
	var left int
	group.Add(1)
	go func() {
		left = parallelFib(n - 1)
		group.Done()
	}()
	right := parallelFib(n - 2)
	group.Wait()
	return left + right
}
