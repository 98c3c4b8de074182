//! Goroutines that sleep.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_workload::{Lateness, Params, Sample, percentiles, sleep_of};

use crate::run;

pub fn sleeps(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, || {
        let lateness = Arc::new(Lateness::default());
        let start = Instant::now();
        let handles: Vec<_> = (0..n)
            .map(|i| {
                let lateness = Arc::clone(&lateness);
                gosched::go(move || {
                    let (start, d) = (Instant::now(), sleep_of(i));
                    gosched::sleep(d);
                    lateness.note(start, d);
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        lateness.sample(start.elapsed(), n)
    })
}

pub fn sleep_1ms(params: &Params) -> Sample {
    const D: Duration = Duration::from_millis(1);
    let n = params.get("n");
    run(params, || {
        let once = |_| {
            let start = Instant::now();
            gosched::sleep(D);
            start.elapsed() - D
        };
        percentiles((0..n).map(once).collect())
    })
}
