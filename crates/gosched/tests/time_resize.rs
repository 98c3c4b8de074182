//! Timers while Ps come and go (S43, S46): each fires, whichever P its goroutine held or remembers,
//! and when none is left the process sleeps (S33).
//!
//! Seen to fail (2026-11-18): a dead P's heap that takes timers (24 of 32, 11 of 16 and 1,158 of
//! 1,343 fired).

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use common::{Child, Random, child, compute_for, cpu_time, join_all};
use gosched::context::background;
use gosched::runtime::{blocking, maxprocs};
use gosched::time::{Duration, Timer};
use gosched::{go, thread};

const SHORT: Duration = Duration::from_millis(1);

/// Arms two timers that count themselves in `fired`: one that runs a function, and the deadline of
/// a context.
fn arm_two(fired: &Arc<AtomicUsize>) {
    let by_function = Arc::clone(fired);
    drop(Timer::after_func(SHORT, move || {
        by_function.fetch_add(1, Ordering::Relaxed);
    }));
    let (context, by_deadline) = (background().with_timeout(SHORT), Arc::clone(fired));
    go(move || {
        assert!(context.done().recv().is_err());
        by_deadline.fetch_add(1, Ordering::Relaxed);
    });
}

/// Waits until `n` have fired. If they don't, panics with the number that have.
fn await_all(fired: &AtomicUsize, n: usize) {
    let mut waited = Duration::ZERO;
    while fired.load(Ordering::Relaxed) < n {
        blocking(|| std::thread::sleep(SHORT));
        waited += SHORT;
        assert!(
            waited < Duration::from_secs(20),
            "{} of {n} timers have fired",
            fired.load(Ordering::Relaxed)
        );
    }
    assert_eq!(fired.load(Ordering::Relaxed), n);
}

/// Prints the CPU time that the idle process uses in half a second. (The sleep is what is
/// measured.)
fn print_idle_cpu() {
    thread::sleep(Duration::from_millis(100));
    let before = cpu_time();
    thread::sleep(Duration::from_millis(500));
    println!("idle: {}", (cpu_time() - before).as_micros());
}

#[track_caller]
fn ends_well_and_idles(child: &Child, procs: usize) {
    let outcome = child.clone().procs(procs).run().ok();
    let micros: u64 = outcome.value("idle").parse().unwrap();
    assert!(micros < 100_000, "{procs} Ps: {micros} µs of CPU in half a second of idling");
}

/// Goroutines whose P is removed while they are in a blocking call arm timers inside that call, and
/// after it.
#[test]
fn timers_armed_in_a_call_whose_p_is_gone() {
    let child = child("timers_armed_in_a_call_whose_p_is_gone", || {
        gosched::run(|| {
            const N: usize = 8;
            let fired = Arc::new(AtomicUsize::new(0));
            let [inside, shrunk] = [(); 2].map(|()| Arc::new(Barrier::new(N + 1)));
            let goroutines = (0..N)
                .map(|_| {
                    let (fired, inside, shrunk) =
                        (Arc::clone(&fired), Arc::clone(&inside), Arc::clone(&shrunk));
                    go(move || {
                        blocking(|| {
                            inside.wait();
                            shrunk.wait();
                            arm_two(&fired);
                        });
                        arm_two(&fired);
                    })
                })
                .collect();
            blocking(|| inside.wait());
            maxprocs(Some(1));
            blocking(|| shrunk.wait());
            join_all(goroutines);
            await_all(&fired, 4 * N);
            print_idle_cpu();
        });
    });
    (1..=8).for_each(|procs| ends_well_and_idles(&child, procs));
}

/// The same with goroutines that lose their P because they compute, or block unannounced.
#[test]
fn timers_armed_without_a_p() {
    let child = child("timers_armed_without_a_p", || {
        gosched::run(|| {
            const N: usize = 8;
            let fired = Arc::new(AtomicUsize::new(0));
            let shrunk = Arc::new(AtomicBool::new(false));
            let goroutines = (0..N)
                .map(|i| {
                    let (fired, shrunk) = (Arc::clone(&fired), Arc::clone(&shrunk));
                    go(move || {
                        while !shrunk.load(Ordering::Relaxed) {
                            match i % 2 {
                                0 => compute_for(SHORT),
                                _ => std::thread::sleep(SHORT),
                            }
                        }
                        arm_two(&fired);
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(50));
            maxprocs(Some(1));
            shrunk.store(true, Ordering::Relaxed);
            // The only P is busy for a while.
            compute_for(5 * SHORT);
            join_all(goroutines);
            await_all(&fired, 2 * N);
            print_idle_cpu();
        });
    });
    (1..=8).for_each(|procs| ends_well_and_idles(&child, procs));
}

/// Arms `n` timers, disarms some, and does other things in between; returns how many will fire.
fn arm_many(random: &mut Random, n: usize, fired: &Arc<AtomicUsize>) -> usize {
    let mut armed = n;
    for _ in 0..n {
        let fired = Arc::clone(fired);
        let timer = Timer::after_func(Duration::from_micros(random.below(3_000)), move || {
            fired.fetch_add(1, Ordering::Relaxed);
        });
        match random.below(400) {
            0 => blocking(|| std::thread::sleep(SHORT / 10)),
            1 => thread::sleep(SHORT / 10),
            2..10 => compute_for(SHORT / 10),
            10..50 if timer.stop() => armed -= 1,
            _ => {}
        }
    }
    armed
}

/// 45,000 timers are armed, and some disarmed, while Ps come and go. In each round the last Ps that
/// are removed don't come back before all have fired.
#[test]
fn timers_armed_while_ps_come_and_go() {
    let child = child("timers_armed_while_ps_come_and_go", || {
        gosched::run(|| {
            const ROUNDS: u64 = 30;
            const ARMERS: u64 = 10;
            const EACH: usize = 150;
            for round in 0..ROUNDS {
                let fired = Arc::new(AtomicUsize::new(0));
                maxprocs(Some(8));
                let armers = (0..ARMERS)
                    .map(|i| {
                        let fired = Arc::clone(&fired);
                        go(move || arm_many(&mut Random::new(round * ARMERS + i), EACH, &fired))
                    })
                    .collect();
                for procs in [3, 6, 1] {
                    thread::sleep(SHORT / 2);
                    maxprocs(Some(procs));
                }
                await_all(&fired, join_all(armers).iter().sum());
            }
            print_idle_cpu();
        });
    });
    ends_well_and_idles(&child, 8);
}
