//! Coroutines that sleep.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_workload::{Lateness, Params, Sample, percentiles, sleep_of};
use may::coroutine;

use crate::run;

pub fn sleeps(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, move || {
        let lateness = Arc::new(Lateness::default());
        let start = Instant::now();
        let handles: Vec<_> = (0..n)
            .map(|i| {
                let lateness = Arc::clone(&lateness);
                may::go!(move || {
                    let (start, d) = (Instant::now(), sleep_of(i));
                    coroutine::sleep(d);
                    lateness.note(start, d);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no coroutine panics"));
        lateness.sample(start.elapsed(), n)
    })
}

pub fn sleep_1ms(params: &Params) -> Sample {
    const D: Duration = Duration::from_millis(1);
    let n = params.get("n");
    run(params, move || {
        let once = |_| {
            let start = Instant::now();
            coroutine::sleep(D);
            start.elapsed() - D
        };
        percentiles((0..n).map(once).collect())
    })
}
