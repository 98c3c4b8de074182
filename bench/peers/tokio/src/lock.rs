//! Tasks that compete for a lock.

use std::sync::Arc;
use std::time::Instant;

use bench_workload::{Params, Sample};
use tokio::sync::Mutex;

use crate::run;

pub fn mutex(params: &Params) -> Sample {
    let (tasks, each) = (params.get("tasks"), params.get("each"));
    run(params, async move {
        let count = Arc::new(Mutex::new(0));
        let start = Instant::now();
        let handles: Vec<_> = (0..tasks)
            .map(|_| {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    for _ in 0..each {
                        *count.lock().await += 1;
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.await.expect("no task panics");
        }
        let elapsed = start.elapsed();
        assert_eq!(*count.lock().await, tasks * each);
        Sample::per_op(elapsed, tasks * each)
    })
}
