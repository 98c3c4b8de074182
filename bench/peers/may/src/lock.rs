//! Coroutines that compete for a lock.

use std::sync::Arc;
use std::time::Instant;

use bench_workload::{Params, Sample};
use may::sync::Mutex;

use crate::run;

pub fn mutex(params: &Params) -> Sample {
    let (coroutines, each) = (params.get("tasks"), params.get("each"));
    run(params, move || {
        let count = Arc::new(Mutex::new(0));
        let start = Instant::now();
        let handles: Vec<_> = (0..coroutines)
            .map(|_| {
                let count = Arc::clone(&count);
                may::go!(move || (0..each).for_each(|_| *count.lock().expect("nobody panics") += 1))
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no coroutine panics"));
        let elapsed = start.elapsed();
        assert_eq!(*count.lock().expect("nobody panics"), coroutines * each);
        Sample::per_op(elapsed, coroutines * each)
    })
}
