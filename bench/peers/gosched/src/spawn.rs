//! Goroutines that are made and end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bench_workload::{Params, Sample, fibonacci};
use gosched::JoinHandle;
use gosched::sync::WaitGroup;
use gosched::thread::{self, Thread};

use crate::run;

pub fn spawn_join(params: &Params) -> Sample {
    let (n, batch) = (params.get("n"), params.get("batch"));
    run(params, || {
        let start = Instant::now();
        let mut handles = Vec::new();
        for _ in 0..n / batch {
            handles.extend((0..batch).map(|_| gosched::go(|| {})));
            handles.drain(..).for_each(wait);
        }
        Sample::per_op(start.elapsed(), n / batch * batch)
    })
}

pub fn spawn_all(params: &Params) -> Sample {
    static GROUP: WaitGroup = WaitGroup::new();
    let n = params.get("n");
    run(params, || {
        let start = Instant::now();
        // As in Go's program. Handles that are kept for later would keep a million headers alive.
        GROUP.add(n as isize);
        (0..n).for_each(|_| drop(gosched::go(|| GROUP.done())));
        GROUP.wait();
        Sample::per_op(start.elapsed(), n)
    })
}

pub fn chain(params: &Params) -> Sample {
    fn next(left: u64, end: Arc<End>) {
        if left == 0 {
            end.reached.store(true, Ordering::Release);
            end.waiter.unpark();
        } else {
            gosched::go(move || next(left - 1, end));
        }
    }
    struct End {
        reached: AtomicBool,
        waiter: Thread,
    }

    let n = params.get("n");
    run(params, || {
        let end = Arc::new(End { reached: AtomicBool::new(false), waiter: thread::current() });
        let start = Instant::now();
        next(n, Arc::clone(&end));
        while !end.reached.load(Ordering::Acquire) {
            thread::park();
        }
        Sample::per_op(start.elapsed(), n)
    })
}

/// Every call that is not a leaf makes one goroutine: fib(depth + 1) - 1 in all.
pub fn fib(params: &Params) -> Sample {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let left = gosched::go(move || fib(n - 1));
        let right = fib(n - 2);
        left.join().expect("no goroutine panics") + right
    }

    let depth = params.get("depth");
    run(params, || {
        let start = Instant::now();
        let result = fib(depth);
        let elapsed = start.elapsed();
        assert_eq!(result, fibonacci(depth));
        Sample::per_op(elapsed, fibonacci(depth + 1) - 1)
    })
}

fn wait(handle: JoinHandle<()>) {
    handle.join().expect("no goroutine panics");
}
