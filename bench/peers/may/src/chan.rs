//! Coroutines that pass values through channels. may's have no bound: where others have no buffer
//! or one of 128 places, these take every value. So there is no row for several without a buffer,
//! which would be another workload.

use std::time::Instant;

use bench_workload::{Params, Sample};
use may::go;
use may::sync::{mpmc, mpsc};

use crate::run;

pub fn pingpong(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, move || {
        let (ping, pinged) = mpsc::channel::<u64>();
        let (pong, ponged) = mpsc::channel::<u64>();
        let other = go!(move || pinged.iter().for_each(|n| pong.send(n).expect("main receives")));
        let start = Instant::now();
        for n in 0..n {
            ping.send(n).expect("the other one receives");
            ponged.recv().expect("the other one sends");
        }
        let elapsed = start.elapsed();
        drop(ping);
        other.join().expect("no coroutine panics");
        Sample::per_op(elapsed, n)
    })
}

/// As many receivers as senders, over one channel.
pub fn pass(params: &Params) -> Sample {
    let (n, pairs) = (params.get("n"), params.get("pairs"));
    run(params, move || {
        let (s, r) = mpmc::channel::<u64>();
        let start = Instant::now();
        let receivers: Vec<_> = (0..pairs)
            .map(|_| {
                let r = r.clone();
                go!(move || (0..n / pairs).for_each(|_| {
                    r.recv().expect("somebody sends");
                }))
            })
            .collect();
        for _ in 0..pairs {
            let s = s.clone();
            go!(move || (0..n / pairs).for_each(|n| s.send(n).expect("somebody receives")));
        }
        receivers.into_iter().for_each(|receiver| receiver.join().expect("no coroutine panics"));
        Sample::per_op(start.elapsed(), n / pairs * pairs)
    })
}

/// A value goes round and round.
pub fn ring(params: &Params) -> Sample {
    let (runners, laps) = (params.get("runners"), params.get("laps"));
    run(params, move || {
        let (first, mut previous) = mpsc::channel::<u64>();
        for _ in 1..runners {
            let (s, next) = mpsc::channel();
            let r = std::mem::replace(&mut previous, next);
            go!(move || r.iter().try_for_each(|n| s.send(n)));
        }
        let start = Instant::now();
        for n in 0..laps {
            first.send(n).expect("the ring is whole");
            previous.recv().expect("the ring is whole");
        }
        Sample::per_op(start.elapsed(), runners * laps)
    })
}

/// A tree of coroutines, ten children each; what the leaves send is summed up on the way to the
/// root.
pub fn skynet(params: &Params) -> Sample {
    fn node(up: mpsc::Sender<u64>, number: u64, leaves: u64) {
        if leaves == 1 {
            up.send(number).expect("the parent receives");
            return;
        }
        let (s, children) = mpsc::channel();
        for child in 0..10 {
            let s = s.clone();
            go!(move || node(s, number + child * (leaves / 10), leaves / 10));
        }
        let sum = (0..10).map(|_| children.recv().expect("a child sends")).sum();
        up.send(sum).expect("the parent receives");
    }

    let leaves = params.get("leaves");
    run(params, move || {
        let (s, root) = mpsc::channel();
        let start = Instant::now();
        go!(move || node(s, 0, leaves));
        let sum = root.recv().expect("the root sends");
        let elapsed = start.elapsed();
        assert_eq!(sum, leaves * (leaves - 1) / 2);
        Sample::per_op(elapsed, (leaves * 10 - 1) / 9)
    })
}
