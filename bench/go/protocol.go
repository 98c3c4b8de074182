// Arguments in, one line of figures out: the same as ../workload does for the Rust programs, which
// explains it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type params map[string]int

func (p params) get(name string) int {
	number, ok := p[name]
	if !ok {
		fail("this workload needs %s=<number>", name)
	}
	return number
}

type sample string

func perOp(elapsed time.Duration, operations int) sample {
	return sample(fmt.Sprintf("ns=%.3f", float64(elapsed.Nanoseconds())/float64(operations)))
}

func figure(name string, value float64) sample {
	return sample(fmt.Sprintf("%s=%.3f", name, value))
}

func (s sample) and(name string, value float64) sample {
	return sample(fmt.Sprintf("%s %s=%.3f", s, name, value))
}

func serve(workloads map[string]func(params) sample) {
	if len(os.Args) < 2 {
		fail("say which workload, or `list`")
	}
	if os.Args[1] == "list" {
		for name := range workloads {
			fmt.Println(name)
		}
		return
	}
	run, ok := workloads[os.Args[1]]
	if !ok {
		fail("no workload is called %q; `list` prints those there are", os.Args[1])
	}
	p := params{}
	for _, arg := range os.Args[2:] {
		name, text, _ := strings.Cut(arg, "=")
		number, err := strconv.Atoi(text)
		if err != nil {
			fail("cannot read %q: sizes are given as name=number, for example n=1000", arg)
		}
		p[name] = number
	}
	runtime.GOMAXPROCS(p.get("procs"))
	fmt.Println(run(p))
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
