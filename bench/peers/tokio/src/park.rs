//! Tasks that yield, wait, and wake each other. `Notify` is tokio's park and unpark.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench_workload::{Params, Sample, grown_by_each, resident};
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::run;

pub fn yields(params: &Params) -> Sample {
    let (tasks, each) = (params.get("tasks"), params.get("each"));
    run(params, async move {
        let start = Instant::now();
        let task = async |each| {
            for _ in 0..each {
                yield_now().await;
            }
        };
        let handles: Vec<_> = (0..tasks).map(|_| tokio::spawn(task(each))).collect();
        for handle in handles {
            handle.await.expect("no task panics");
        }
        Sample::per_op(start.elapsed(), tasks * each)
    })
}

/// The clock stops, and the main task is woken, when the last one is about to wait.
pub fn parked(params: &Params) -> Sample {
    struct All {
        missing: AtomicU64,
        waiter: Notify,
        never: Notify,
    }

    let n = params.get("n");
    run(params, async move {
        let all = Arc::new(All { missing: AtomicU64::new(n), waiter: Notify::new(), never: Notify::new() });
        let before = resident();
        let start = Instant::now();
        for _ in 0..n {
            let all = Arc::clone(&all);
            tokio::spawn(async move {
                if all.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
                    all.waiter.notify_one();
                }
                all.never.notified().await;
            });
        }
        all.waiter.notified().await;
        let elapsed = start.elapsed();
        std::thread::sleep(Duration::from_millis(50));
        Sample::per_op(elapsed, n).and("bytes", grown_by_each(before, n))
    })
}

pub fn pingpong(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, async move {
        let (ping, pong) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let other = tokio::spawn({
            let (ping, pong) = (Arc::clone(&ping), Arc::clone(&pong));
            async move {
                for _ in 0..n {
                    ping.notified().await;
                    pong.notify_one();
                }
            }
        });
        let start = Instant::now();
        for _ in 0..n {
            ping.notify_one();
            pong.notified().await;
        }
        let elapsed = start.elapsed();
        other.await.expect("no task panics");
        Sample::per_op(elapsed, n)
    })
}
