// Does a little of everything that an execution trace can show.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"syscall"
	"time"
)

func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

func channels(wg *sync.WaitGroup) {
	c := make(chan int)
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				if i%2 == 0 {
					c <- j
				} else {
					<-c
				}
			}
		})
	}
}

func locks(wg *sync.WaitGroup) {
	var mutex sync.Mutex
	for range 4 {
		wg.Go(func() {
			for range 20 {
				mutex.Lock()
				spin(20 * time.Microsecond)
				mutex.Unlock()
				runtime.Gosched()
			}
		})
	}
}

func calls(wg *sync.WaitGroup) {
	for range 3 {
		wg.Go(func() {
			for range 5 {
				t := syscall.Timespec{Nsec: 2_000_000}
				syscall.Nanosleep(&t, nil)
			}
		})
	}
}

func tasks(wg *sync.WaitGroup) {
	ctx, task := trace.NewTask(context.Background(), "order")
	for range 3 {
		wg.Go(func() {
			trace.WithRegion(ctx, "step", func() {
				trace.Log(ctx, "what", "a \"step\"")
				time.Sleep(time.Millisecond)
			})
		})
	}
	wg.Go(func() {
		time.Sleep(3 * time.Millisecond)
		task.End()
	})
}

var kept [][]byte

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(nowhere{})
	if err := trace.Start(file); err != nil {
		panic(err)
	}
	debug.SetGCPercent(50)
	var wg sync.WaitGroup
	// More than a second: more than one generation.
	for end := time.Now().Add(1200 * time.Millisecond); time.Now().Before(end); {
		channels(&wg)
		locks(&wg)
		calls(&wg)
		tasks(&wg)
		for range 20 {
			kept = append(kept[len(kept)/2:], make([]byte, 100_000))
		}
		wg.Wait()
		time.Sleep(60 * time.Millisecond)
	}
	runtime.GC()
	trace.Stop()
	pprof.StopCPUProfile()
	file.Close()
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
