//! Threads that are made and end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::Instant;

use bench_workload::{Params, Sample};

pub fn spawn_join(params: &Params) -> Sample {
    let (n, batch) = (params.get("n"), params.get("batch"));
    let start = Instant::now();
    let mut handles = Vec::new();
    for _ in 0..n / batch {
        handles.extend((0..batch).map(|_| thread::spawn(|| {})));
        handles.drain(..).for_each(wait);
    }
    Sample::per_op(start.elapsed(), n / batch * batch)
}

pub fn spawn_all(params: &Params) -> Sample {
    let n = params.get("n");
    let start = Instant::now();
    let handles: Vec<_> = (0..n).map(|_| thread::spawn(|| {})).collect();
    handles.into_iter().for_each(wait);
    Sample::per_op(start.elapsed(), n)
}

pub fn chain(params: &Params) -> Sample {
    fn next(left: u64, end: Arc<End>) {
        if left == 0 {
            end.reached.store(true, Ordering::Release);
            end.waiter.unpark();
        } else {
            thread::spawn(move || next(left - 1, end));
        }
    }
    struct End {
        reached: AtomicBool,
        waiter: Thread,
    }

    let n = params.get("n");
    let end = Arc::new(End { reached: AtomicBool::new(false), waiter: thread::current() });
    let start = Instant::now();
    next(n, Arc::clone(&end));
    while !end.reached.load(Ordering::Acquire) {
        thread::park();
    }
    Sample::per_op(start.elapsed(), n)
}

fn wait(handle: JoinHandle<()>) {
    handle.join().expect("no thread panics");
}
