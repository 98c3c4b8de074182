//! Goroutines that pass values through channels.

use std::time::Instant;

use bench_workload::{Params, Sample};
use gosched::chan::{Receiver, Sender, bounded};
use gosched::{go, select};

use crate::run;

pub fn pingpong(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, || {
        let (ping, pinged) = bounded(0);
        let (pong, ponged) = bounded(0);
        let other = go(move || pinged.iter().for_each(|n: u64| pong.send(n).expect("main receives")));
        let start = Instant::now();
        for n in 0..n {
            ping.send(n).expect("the other one receives");
            ponged.recv().expect("the other one sends");
        }
        let elapsed = start.elapsed();
        drop(ping);
        other.join().expect("no goroutine panics");
        Sample::per_op(elapsed, n)
    })
}

/// As many receivers as senders, over one channel.
pub fn pass(params: &Params) -> Sample {
    let (n, pairs, cap) = (params.get("n"), params.get("pairs"), params.get("cap"));
    run(params, || {
        let (s, r) = bounded(cap as usize);
        let start = Instant::now();
        let receivers: Vec<_> = (0..pairs)
            .map(|_| {
                let r: Receiver<u64> = r.clone();
                go(move || r.iter().count() as u64)
            })
            .collect();
        for _ in 0..pairs {
            let s: Sender<u64> = s.clone();
            go(move || (0..n / pairs).for_each(|n| s.send(n).expect("somebody receives")));
        }
        drop((s, r));
        let received = receivers.into_iter().map(|receiver| receiver.join().expect("no goroutine panics"));
        assert_eq!(received.sum::<u64>(), n / pairs * pairs);
        Sample::per_op(start.elapsed(), n / pairs * pairs)
    })
}

/// A goroutine selects between two channels without a buffer, each with a sender.
pub fn selects(params: &Params) -> Sample {
    let n = params.get("n");
    run(params, || {
        let (s1, r1) = bounded(0);
        let (s2, r2) = bounded(0);
        for s in [s1.clone(), s2.clone()] {
            go(move || (0..n).try_for_each(|n: u64| s.send(n)));
        }
        let start = Instant::now();
        for _ in 0..n {
            select! {
                recv(r1) -> value => { value.expect("a sender is there"); }
                recv(r2) -> value => { value.expect("a sender is there"); }
            }
        }
        Sample::per_op(start.elapsed(), n)
    })
}

/// A value goes round and round.
pub fn ring(params: &Params) -> Sample {
    let (runners, laps) = (params.get("runners"), params.get("laps"));
    run(params, || {
        let (first, mut previous) = bounded(0);
        for _ in 1..runners {
            let (s, next) = bounded(0);
            let r: Receiver<u64> = std::mem::replace(&mut previous, next);
            go(move || r.iter().try_for_each(|n| s.send(n)));
        }
        let start = Instant::now();
        for n in 0..laps {
            first.send(n).expect("the ring is whole");
            previous.recv().expect("the ring is whole");
        }
        Sample::per_op(start.elapsed(), runners * laps)
    })
}

/// A tree of goroutines, ten children each; what the leaves send is summed up on the way to the
/// root.
pub fn skynet(params: &Params) -> Sample {
    fn node(up: Sender<u64>, number: u64, leaves: u64) {
        if leaves == 1 {
            up.send(number).expect("the parent receives");
            return;
        }
        let (s, children) = bounded(0);
        for child in 0..10 {
            let s = s.clone();
            go(move || node(s, number + child * (leaves / 10), leaves / 10));
        }
        let sum = (0..10).map(|_| children.recv().expect("a child sends")).sum();
        up.send(sum).expect("the parent receives");
    }

    let leaves = params.get("leaves");
    run(params, || {
        let (s, root) = bounded(0);
        let start = Instant::now();
        go(move || node(s, 0, leaves));
        let sum = root.recv().expect("the root sends");
        let elapsed = start.elapsed();
        assert_eq!(sum, leaves * (leaves - 1) / 2);
        Sample::per_op(elapsed, (leaves * 10 - 1) / 9)
    })
}
