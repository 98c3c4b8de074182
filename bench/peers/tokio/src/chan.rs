//! Tasks that pass values through channels. tokio's hold at least one value and have one receiver:
//! where others have no buffer, these have one place; where several receive, they share the
//! receiver behind a mutex, as tokio's users do.

use std::sync::Arc;
use std::time::Instant;

use bench_workload::{Params, Sample};
use tokio::sync::{Mutex, mpsc};

use crate::run;

pub fn pingpong(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, async move {
        let (ping, mut pinged) = mpsc::channel::<u64>(1);
        let (pong, mut ponged) = mpsc::channel::<u64>(1);
        let other = tokio::spawn(async move {
            while let Some(n) = pinged.recv().await {
                pong.send(n).await.expect("main receives");
            }
        });
        let start = Instant::now();
        for n in 0..n {
            ping.send(n).await.expect("the other one receives");
            ponged.recv().await.expect("the other one sends");
        }
        let elapsed = start.elapsed();
        drop(ping);
        other.await.expect("no task panics");
        Sample::per_op(elapsed, n)
    })
}

/// As many receivers as senders, over one channel.
pub fn pass(params: &Params) -> Sample {
    let (n, pairs, cap) = (params.get("n"), params.get("pairs"), params.get("cap"));
    run(params, async move {
        let (s, r) = mpsc::channel::<u64>(cap.max(1) as usize);
        let r = Arc::new(Mutex::new(r));
        let start = Instant::now();
        let receivers: Vec<_> = (0..pairs)
            .map(|_| {
                let r = Arc::clone(&r);
                tokio::spawn(async move {
                    let mut count = 0;
                    while r.lock().await.recv().await.is_some() {
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        for _ in 0..pairs {
            let s = s.clone();
            tokio::spawn(async move {
                for n in 0..n / pairs {
                    s.send(n).await.expect("somebody receives");
                }
            });
        }
        drop(s);
        let mut received = 0;
        for receiver in receivers {
            received += receiver.await.expect("no task panics");
        }
        assert_eq!(received, n / pairs * pairs);
        Sample::per_op(start.elapsed(), n / pairs * pairs)
    })
}

/// One that selects between two channels, each with a sender.
pub fn selects(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, async move {
        let (s1, mut r1) = mpsc::channel::<u64>(1);
        let (s2, mut r2) = mpsc::channel::<u64>(1);
        for s in [s1.clone(), s2.clone()] {
            tokio::spawn(async move {
                for n in 0..n {
                    if s.send(n).await.is_err() {
                        return;
                    }
                }
            });
        }
        let start = Instant::now();
        for _ in 0..n {
            tokio::select! {
                value = r1.recv() => value.expect("a sender is there"),
                value = r2.recv() => value.expect("a sender is there"),
            };
        }
        let elapsed = start.elapsed();
        drop((s1, s2));
        Sample::per_op(elapsed, n)
    })
}

/// A value goes round and round.
pub fn ring(params: &Params) -> Sample {
    let (runners, laps) = (params.get("runners"), params.get("laps"));
    run(params, async move {
        let (first, mut previous) = mpsc::channel::<u64>(1);
        for _ in 1..runners {
            let (s, next) = mpsc::channel(1);
            let mut r = std::mem::replace(&mut previous, next);
            tokio::spawn(async move {
                while let Some(n) = r.recv().await {
                    if s.send(n).await.is_err() {
                        return;
                    }
                }
            });
        }
        let start = Instant::now();
        for n in 0..laps {
            first.send(n).await.expect("the ring is whole");
            previous.recv().await.expect("the ring is whole");
        }
        Sample::per_op(start.elapsed(), runners * laps)
    })
}

/// A tree of tasks, ten children each; what the leaves send is summed up on the way to the root.
pub fn skynet(params: &Params) -> Sample {
    async fn node(up: mpsc::Sender<u64>, number: u64, leaves: u64) {
        if leaves == 1 {
            up.send(number).await.expect("the parent receives");
            return;
        }
        let (s, mut children) = mpsc::channel(10);
        for child in 0..10 {
            spawn(s.clone(), number + child * (leaves / 10), leaves / 10);
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += children.recv().await.expect("a child sends");
        }
        up.send(sum).await.expect("the parent receives");
    }
    // A function of its own, so that the compiler need not know `node` to be `Send` while it
    // compiles it.
    fn spawn(up: mpsc::Sender<u64>, number: u64, leaves: u64) {
        tokio::spawn(node(up, number, leaves));
    }

    let leaves = params.get("leaves");
    run(params, async move {
        let (s, mut root) = mpsc::channel(1);
        let start = Instant::now();
        spawn(s, 0, leaves);
        let sum = root.recv().await.expect("the root sends");
        let elapsed = start.elapsed();
        assert_eq!(sum, leaves * (leaves - 1) / 2);
        Sample::per_op(elapsed, (leaves * 10 - 1) / 9)
    })
}
