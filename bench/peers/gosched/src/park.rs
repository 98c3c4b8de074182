//! Goroutines that yield, wait, and wake each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench_workload::{Params, Sample, grown_by_each, resident};
use gosched::thread::{self, Thread};

use crate::run;

pub fn yields(params: &Params) -> Sample {
    let (goroutines, each) = (params.get("tasks"), params.get("each"));
    run(params, || {
        let start = Instant::now();
        let handles: Vec<_> = (0..goroutines)
            .map(|_| gosched::go(move || (0..each).for_each(|_| thread::yield_now())))
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no goroutine panics"));
        Sample::per_op(start.elapsed(), goroutines * each)
    })
}

/// The clock stops, and the main goroutine is woken, when the last one is about to park.
pub fn parked(params: &Params) -> Sample {
    struct All {
        missing: AtomicU64,
        waiter: Thread,
    }

    let n = params.get("n");
    run(params, || {
        let all = Arc::new(All { missing: AtomicU64::new(n), waiter: thread::current() });
        let before = resident();
        let start = Instant::now();
        for _ in 0..n {
            let all = Arc::clone(&all);
            gosched::go(move || {
                if all.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
                    all.waiter.unpark();
                }
                loop {
                    thread::park();
                }
            });
        }
        while all.missing.load(Ordering::Acquire) > 0 {
            thread::park();
        }
        let elapsed = start.elapsed();
        std::thread::sleep(Duration::from_millis(50));
        Sample::per_op(elapsed, n).and("bytes", grown_by_each(before, n))
    })
}

pub fn pingpong(params: &Params) -> Sample {
    fn wait_for(turn: &AtomicBool, mine: bool) {
        while turn.load(Ordering::Acquire) != mine {
            thread::park();
        }
    }

    let n = params.get("n");
    run(params, || {
        let (turn, main) = (Arc::new(AtomicBool::new(false)), thread::current());
        let other = gosched::go({
            let turn = Arc::clone(&turn);
            move || {
                for _ in 0..n {
                    wait_for(&turn, true);
                    turn.store(false, Ordering::Release);
                    main.unpark();
                }
            }
        });
        let peer = other.thread().clone();
        let start = Instant::now();
        for _ in 0..n {
            turn.store(true, Ordering::Release);
            peer.unpark();
            wait_for(&turn, false);
        }
        let elapsed = start.elapsed();
        other.join().expect("no goroutine panics");
        Sample::per_op(elapsed, n)
    })
}
