//! Tasks that sleep. Tokio's timers have a resolution of 1 ms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_workload::{Lateness, Params, Sample, percentiles, sleep_of};
use tokio::time::sleep;

use crate::run_with_time;

pub fn sleeps(params: &Params) -> Sample {
    let n = params.get("n");
    run_with_time(params, async move {
        let lateness = Arc::new(Lateness::default());
        let start = Instant::now();
        let handles: Vec<_> = (0..n)
            .map(|i| {
                let lateness = Arc::clone(&lateness);
                tokio::spawn(async move {
                    let (start, d) = (Instant::now(), sleep_of(i));
                    sleep(d).await;
                    lateness.note(start, d);
                })
            })
            .collect();
        for handle in handles {
            handle.await.expect("no task panics");
        }
        lateness.sample(start.elapsed(), n)
    })
}

pub fn sleep_1ms(params: &Params) -> Sample {
    const D: Duration = Duration::from_millis(1);
    let n = params.get("n");
    run_with_time(params, async move {
        let mut late = Vec::new();
        for _ in 0..n {
            let start = Instant::now();
            sleep(D).await;
            late.push(start.elapsed().saturating_sub(D));
        }
        percentiles(late)
    })
}
