//! A thread that sleeps.

use std::thread;
use std::time::{Duration, Instant};

use bench_workload::{Params, Sample, percentiles};

pub fn sleep_1ms(params: &Params) -> Sample {
    const D: Duration = Duration::from_millis(1);
    let once = |_| {
        let start = Instant::now();
        thread::sleep(D);
        start.elapsed() - D
    };
    percentiles((0..params.get("n")).map(once).collect())
}
