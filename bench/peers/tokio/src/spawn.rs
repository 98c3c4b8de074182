//! Tasks that are made and end at once.

use std::time::Instant;

use bench_workload::{Params, Sample, fibonacci};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::run;

pub fn spawn_join(params: &Params) -> Sample {
    let (n, batch) = (params.get("n"), params.get("batch"));
    run(params, async move {
        let start = Instant::now();
        let mut handles = Vec::new();
        for _ in 0..n / batch {
            handles.extend((0..batch).map(|_| tokio::spawn(async {})));
            for handle in handles.drain(..) {
                handle.await.expect("no task panics");
            }
        }
        Sample::per_op(start.elapsed(), n / batch * batch)
    })
}

pub fn spawn_all(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, async move {
        let start = Instant::now();
        let handles: Vec<_> = (0..n).map(|_| tokio::spawn(async {})).collect();
        for handle in handles {
            handle.await.expect("no task panics");
        }
        Sample::per_op(start.elapsed(), n)
    })
}

pub fn chain(params: &Params) -> Sample {
    fn next(left: u64, end: oneshot::Sender<()>) {
        if left == 0 {
            end.send(()).expect("the main task waits");
        } else {
            tokio::spawn(async move { next(left - 1, end) });
        }
    }

    let n = params.get("n");
    run(params, async move {
        let (end, reached) = oneshot::channel();
        let start = Instant::now();
        next(n, end);
        reached.await.expect("the chain does not break");
        Sample::per_op(start.elapsed(), n)
    })
}

/// Every call that is not a leaf makes one task: fib(depth + 1) - 1 in all.
pub fn fib(params: &Params) -> Sample {
    async fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let left = spawn(n - 1);
        let right = Box::pin(fib(n - 2)).await;
        left.await.expect("no task panics") + right
    }
    // A function of its own, so that the compiler sees its result's type before it needs to know
    // whether `fib` is `Send`.
    fn spawn(n: u64) -> JoinHandle<u64> {
        tokio::spawn(fib(n))
    }

    let depth = params.get("depth");
    run(params, async move {
        let start = Instant::now();
        let result = fib(depth).await;
        let elapsed = start.elapsed();
        assert_eq!(result, fibonacci(depth));
        Sample::per_op(elapsed, fibonacci(depth + 1) - 1)
    })
}
