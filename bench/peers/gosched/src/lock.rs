//! Goroutines that compete for a lock.

use std::time::Instant;

use bench_workload::{Params, Sample};
use gosched::sync::{Arc, Mutex};

use crate::run;

pub fn mutex(params: &Params) -> Sample {
    let (goroutines, each) = (params.get("tasks"), params.get("each"));
    run(params, || {
        let count = Arc::new(Mutex::new(0));
        let start = Instant::now();
        let handles: Vec<_> = (0..goroutines)
            .map(|_| {
                let count = Arc::clone(&count);
                gosched::go(move || (0..each).for_each(|_| *count.lock().expect("nobody panics") += 1))
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        let elapsed = start.elapsed();
        assert_eq!(*count.lock().expect("nobody panics"), goroutines * each);
        Sample::per_op(elapsed, goroutines * each)
    })
}
