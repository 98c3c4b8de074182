// Goroutines that pass values through channels.
package main

import (
	"sync"
	"time"
)

func chanPingpong(p params) sample {
	n := p.get("n")
	ping, pong := make(chan int), make(chan int)
	go func() {
		for n := range ping {
			pong <- n
		}
	}()
	start := time.Now()
	for n := range n {
		ping <- n
		<-pong
	}
	elapsed := time.Since(start)
	close(ping)
	return perOp(elapsed, n)
}

// As many receivers as senders, over one channel.
func chanPass(p params) sample {
	n, pairs, capacity := p.get("n"), p.get("pairs"), p.get("cap")
	c := make(chan int, capacity)
	var senders, receivers sync.WaitGroup
	start := time.Now()
	senders.Add(pairs)
	receivers.Add(pairs)
	for range pairs {
		go func() {
			for range c {
			}
			receivers.Done()
		}()
	}
	for range pairs {
		go func() {
			for n := range n / pairs {
				c <- n
			}
			senders.Done()
		}()
	}
	senders.Wait()
	close(c)
	receivers.Wait()
	return perOp(time.Since(start), n/pairs*pairs)
}

// One that selects between two channels without a buffer, each with a sender.
func chanSelect(p params) sample {
	n := p.get("n")
	a, b := make(chan int), make(chan int)
	for _, c := range []chan int{a, b} {
		go func() {
			for n := range n {
				c <- n
			}
		}()
	}
	start := time.Now()
	for range n {
		select {
		case <-a:
		case <-b:
		}
	}
	return perOp(time.Since(start), n)
}

// A value goes round and round.
func chanRing(p params) sample {
	runners, laps := p.get("runners"), p.get("laps")
	first := make(chan int)
	previous := first
	for range runners - 1 {
		from, to := previous, make(chan int)
		go func() {
			for n := range from {
				to <- n
			}
		}()
		previous = to
	}
	start := time.Now()
	for n := range laps {
		first <- n
		<-previous
	}
	return perOp(time.Since(start), runners*laps)
}

// A tree of goroutines, ten children each; what the leaves send is summed up on the way to the root.
func skynet(p params) sample {
	leaves := p.get("leaves")
	root := make(chan int)
	start := time.Now()
	go skynetNode(root, 0, leaves)
	sum := <-root
	elapsed := time.Since(start)
	if sum != leaves*(leaves-1)/2 {
		fail("the leaves' numbers add up to %d, not %d", leaves*(leaves-1)/2, sum)
	}
	return perOp(elapsed, (leaves*10-1)/9)
}

func skynetNode(up chan int, number, leaves int) {
	if leaves == 1 {
		up <- number
		return
	}
	children := make(chan int)
	for child := range 10 {
		go skynetNode(children, number+child*(leaves/10), leaves/10)
	}
	sum := 0
	for range 10 {
		sum += <-children
	}
	up <- sum
}
