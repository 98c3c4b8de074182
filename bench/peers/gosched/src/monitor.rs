//! Goroutines that could keep the others from running: by computing, by blocking their thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bench_workload::{Params, Sample, percentiles};

use crate::run;

/// Endless loops, and beside them sleepers: how late they wake.
pub fn loops(params: &Params) -> Sample {
    const D: Duration = Duration::from_millis(1);
    static STOP: AtomicBool = AtomicBool::new(false);
    let (loops, sleepers, each) = (params.get("loops"), params.get("sleepers"), params.get("each"));
    run(params, || {
        for _ in 0..loops {
            gosched::go(|| {
                while !STOP.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let sleeper = move || -> Vec<Duration> {
            let once = |_| {
                let start = Instant::now();
                gosched::sleep(D);
                start.elapsed() - D
            };
            (0..each).map(once).collect()
        };
        let handles: Vec<_> = (0..sleepers).map(|_| gosched::go(sleeper)).collect();
        let late = handles.into_iter().flat_map(|handle| handle.join().expect("no goroutine panics"));
        let late = late.collect();
        STOP.store(true, Ordering::Relaxed);
        percentiles(late)
    })
}

/// Calls that block their thread, unannounced: how long all of them take together.
pub fn handoff(params: &Params) -> Sample {
    let (goroutines, each) = (params.get("goroutines"), params.get("each"));
    run(params, || {
        let start = Instant::now();
        let block = move || (0..each).for_each(|_| std::thread::sleep(Duration::from_millis(50)));
        let handles: Vec<_> = (0..goroutines).map(|_| gosched::go(block)).collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        Sample::of("wall_ms", start.elapsed().as_secs_f64() * 1e3)
    })
}
