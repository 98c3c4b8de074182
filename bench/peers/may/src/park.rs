//! Coroutines that yield, wait, and wake each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench_workload::{Params, Sample, grown_by_each, resident};
use may::coroutine::{self, Coroutine};

use crate::run;

pub fn yields(params: &Params) -> Sample {
    let (coroutines, each) = (params.get("tasks"), params.get("each"));
    run(params, move || {
        let start = Instant::now();
        let handles: Vec<_> = (0..coroutines)
            .map(|_| may::go!(move || (0..each).for_each(|_| coroutine::yield_now())))
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no coroutine panics"));
        Sample::per_op(start.elapsed(), coroutines * each)
    })
}

/// The clock stops, and the main coroutine is woken, when the last one is about to park.
pub fn parked(params: &Params) -> Sample {
    struct All {
        missing: AtomicU64,
        waiter: Coroutine,
    }

    let n = params.get("n");
    run(params, move || {
        let all = Arc::new(All { missing: AtomicU64::new(n), waiter: coroutine::current() });
        let before = resident();
        let start = Instant::now();
        for _ in 0..n {
            let all = Arc::clone(&all);
            may::go!(move || {
                if all.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
                    all.waiter.unpark();
                }
                loop {
                    coroutine::park();
                }
            });
        }
        while all.missing.load(Ordering::Acquire) > 0 {
            coroutine::park();
        }
        let elapsed = start.elapsed();
        std::thread::sleep(Duration::from_millis(50));
        Sample::per_op(elapsed, n).and("bytes", grown_by_each(before, n))
    })
}

pub fn pingpong(params: &Params) -> Sample {
    fn wait_for(turn: &AtomicBool, mine: bool) {
        while turn.load(Ordering::Acquire) != mine {
            coroutine::park();
        }
    }

    let n = params.get("n");
    run(params, move || {
        let (turn, main) = (Arc::new(AtomicBool::new(false)), coroutine::current());
        let other = may::go!({
            let turn = Arc::clone(&turn);
            move || {
                for _ in 0..n {
                    wait_for(&turn, true);
                    turn.store(false, Ordering::Release);
                    main.unpark();
                }
            }
        });
        let peer = other.coroutine().clone();
        let start = Instant::now();
        for _ in 0..n {
            turn.store(true, Ordering::Release);
            peer.unpark();
            wait_for(&turn, false);
        }
        let elapsed = start.elapsed();
        other.join().expect("no coroutine panics");
        Sample::per_op(elapsed, n)
    })
}
