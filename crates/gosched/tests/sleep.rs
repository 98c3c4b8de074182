//! Sleeping goroutines (S46, S18, S33): never early, never forgotten, no thread each.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Random, child, cpu_time};
use gosched::thread;

/// S18, S46: a sleep is never early, whatever its length.
#[gosched::test]
fn never_early() {
    let mut random = Random::new(3);
    let sleepers: Vec<_> = (0..500)
        .map(|_| {
            let d = Duration::from_micros(random.below(20_000));
            gosched::go(move || {
                let began = Instant::now();
                gosched::sleep(d);
                assert!(began.elapsed() >= d);
            })
        })
        .collect();
    for sleeper in sleepers {
        sleeper.join().unwrap();
    }
}

/// S46: a sleep of no time returns; a wait of the longest `Duration` does not overflow.
#[gosched::test]
fn extremes() {
    gosched::sleep(Duration::ZERO);
    let for_ever = gosched::go(|| thread::park_timeout(Duration::MAX));
    gosched::yield_now();
    for_ever.thread().unpark();
    for_ever.join().unwrap();
}

/// S46: std's old names, in milliseconds.
#[gosched::test]
#[allow(deprecated)]
fn milliseconds() {
    let began = Instant::now();
    thread::sleep_ms(3);
    thread::park_timeout_ms(2);
    assert!(began.elapsed() >= Duration::from_millis(5));
    thread::current().unpark();
    thread::park_timeout_ms(u32::MAX);
}

/// S46, S18: a thousand sleepers at once need no thread each, and take nowhere near the 50 s that
/// they would one after the other. With 1, 2 and 8 Ps.
#[test]
fn sleepers_share_the_time() {
    let body = || {
        gosched::run(|| {
            let began = Instant::now();
            let sleepers: Vec<_> =
                (0..1000).map(|_| gosched::go(|| gosched::sleep(Duration::from_millis(50)))).collect();
            for sleeper in sleepers {
                sleeper.join().unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        });
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(threads < 40, "{threads} threads");
    };
    for procs in [1, 2, 8] {
        child("sleepers_share_the_time", body).procs(procs).run().ok();
    }
}

/// S46, S31: short sleeps, again and again, on many goroutines, while others spawn, yield and wake
/// each other: no timer is slept through. With 1, 2 and 8 Ps.
#[test]
fn no_timer_is_slept_through() {
    let body = || {
        gosched::run(|| {
            let handles: Vec<_> = (0..40)
                .map(|i| {
                    gosched::go(move || {
                        let mut random = Random::new(i);
                        for _ in 0..100 {
                            match random.below(4) {
                                0 => gosched::sleep(Duration::from_micros(random.below(300))),
                                1 => thread::park_timeout(Duration::from_micros(random.below(300))),
                                2 => gosched::yield_now(),
                                _ => {
                                    gosched::go(|| gosched::sleep(Duration::from_micros(50))).join().unwrap()
                                }
                            }
                        }
                    })
                })
                .collect();
            for handle in handles {
                handle.join().unwrap();
            }
        });
    };
    for procs in [1, 2, 8] {
        child("no_timer_is_slept_through", body).procs(procs).run().ok();
    }
}

/// S46: `park_timeout` ends at its time-out without a token, and at an `unpark` long before.
#[gosched::test]
fn park_timeout_both_ways() {
    let began = Instant::now();
    thread::park_timeout(Duration::from_millis(5));
    assert!(began.elapsed() >= Duration::from_millis(5));
    thread::current().unpark();
    thread::park_timeout(Duration::from_secs(1000));
    let me = thread::current();
    let waker = gosched::go(move || {
        gosched::sleep(Duration::from_millis(2));
        me.unpark();
    });
    thread::park_timeout(Duration::from_secs(1000));
    waker.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(50));
}

/// S46: a time-out that comes at the same moment as an `unpark` neither loses the token nor ends a
/// later `park`.
#[test]
fn time_out_against_unpark() {
    let body = || {
        gosched::run(|| {
            static ROUNDS: AtomicUsize = AtomicUsize::new(0);
            let parker = gosched::go(|| {
                for round in 0..2000 {
                    thread::park_timeout(Duration::from_micros(round % 60));
                    ROUNDS.fetch_add(1, Ordering::Relaxed);
                    // Only the waker ends this one, not the timer of the first.
                    thread::park();
                }
            });
            let waker = parker.thread().clone();
            let mut random = Random::new(9);
            while !parker.is_finished() {
                for _ in 0..random.below(300) {
                    std::hint::spin_loop();
                }
                waker.unpark();
                gosched::yield_now();
            }
            parker.join().unwrap();
            assert_eq!(ROUNDS.load(Ordering::Relaxed), 2000);
        });
    };
    for procs in [1, 2, 8] {
        child("time_out_against_unpark", body).procs(procs).run().ok();
    }
}

/// S18: on a foreign thread the same calls block the thread.
#[test]
fn foreign_threads_sleep_too() {
    let began = Instant::now();
    thread::sleep(Duration::from_millis(3));
    thread::park_timeout(Duration::from_millis(3));
    assert!(began.elapsed() >= Duration::from_millis(6));
    let me = thread::current();
    gosched::go(move || {
        gosched::sleep(Duration::from_millis(1));
        me.unpark();
    });
    thread::park_timeout(Duration::from_secs(1000));
    assert!(began.elapsed() < Duration::from_secs(50));
}

/// S33: while all goroutines sleep for long, the process uses less than 20 ms of CPU time in a
/// second.
#[test]
fn long_sleeps_cost_nothing() {
    let body = || {
        gosched::run(|| {
            for _ in 0..100 {
                drop(gosched::go(|| gosched::sleep(Duration::from_secs(1000))));
            }
            gosched::sleep(Duration::from_millis(20));
            let before = cpu_time();
            gosched::sleep(Duration::from_millis(1000));
            let used = cpu_time() - before;
            assert!(used < Duration::from_millis(20), "{used:?} of CPU in a second of sleep");
        });
    };
    child("long_sleeps_cost_nothing", body).run().ok();
}
