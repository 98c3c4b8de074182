// Goroutines that sleep.
package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const longest = time.Second

func sleepOf(i int) time.Duration {
	return time.Duration(i*7919) % (longest / time.Microsecond) * time.Microsecond
}

func sleeps(p params) sample {
	n := p.get("n")
	var late atomic.Int64
	var group sync.WaitGroup
	start := time.Now()
	group.Add(n)
	for i := range n {
		go func() {
			start, d := time.Now(), sleepOf(i)
			time.Sleep(d)
			late.Add(int64(time.Since(start) - d))
			group.Done()
		}()
	}
	group.Wait()
	overshoot := time.Since(start) - longest
	return figure("overshoot_ms", overshoot.Seconds()*1e3).and("late_ms", float64(late.Load())/float64(n)/1e6)
}

func sleep1ms(p params) sample {
	const d = time.Millisecond
	late := make([]time.Duration, p.get("n"))
	for i := range late {
		start := time.Now()
		time.Sleep(d)
		late[i] = time.Since(start) - d
	}
	slices.Sort(late)
	at := func(percent int) float64 { return late[(len(late)-1)*percent/100].Seconds() * 1e6 }
	return figure("p50_us", at(50)).and("p99_us", at(99))
}
