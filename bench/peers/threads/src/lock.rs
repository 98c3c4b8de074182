//! Threads that compete for a lock.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use bench_workload::{Params, Sample};

pub fn mutex(params: &Params) -> Sample {
    let (threads, each) = (params.get("tasks"), params.get("each"));
    let count = Arc::new(Mutex::new(0));
    let start = Instant::now();
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || (0..each).for_each(|_| *count.lock().expect("nobody panics") += 1))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().expect("no thread panics"));
    let elapsed = start.elapsed();
    assert_eq!(*count.lock().expect("nobody panics"), threads * each);
    Sample::per_op(elapsed, threads * each)
}
