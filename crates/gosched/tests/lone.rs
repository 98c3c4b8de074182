//! A goroutine alone in `runnext` may wait for its P without waking another thread (D9), but not
//! for long.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::runtime;

/// Sends each value back, and notes it in `seen`.
fn echo(pings: Receiver<u32>, pongs: Sender<u32>, seen: &AtomicU32) {
    for n in pings.iter() {
        seen.store(n, Ordering::Release);
        if pongs.send(n).is_err() {
            return;
        }
    }
}

const ROUNDS: u32 = 20;

/// Ping-pong until the P is trusted; then wakes the other goroutine once more, and runs `after`,
/// which lasts until that one has run.
fn woken_and_left(after: impl Fn(&dyn Fn() -> bool)) {
    let (ping, pings) = bounded(1);
    let (pong, pongs) = bounded(1);
    let seen = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&seen);
    let other = gosched::go(move || echo(pings, pong, &counts));
    let mut n = 0;
    for _ in 0..ROUNDS {
        for _ in 0..5_000 {
            n += 1;
            ping.send(n).expect("the echo receives");
            assert_eq!(pongs.recv(), Ok(n));
        }
        n += 1;
        ping.send(n).expect("the echo receives");
        after(&|| seen.load(Ordering::Acquire) == n);
        assert_eq!(pongs.recv(), Ok(n));
    }
    drop(ping);
    other.join().expect("it ends with the channel");
}

/// S31, D9: it runs although the goroutine that woke it computes, or blocks, announced or not. With
/// 1, 2 and 8 Ps.
#[test]
fn does_not_wait_for_long() {
    let child = common::child("does_not_wait_for_long", || {
        gosched::run(|| {
            woken_and_left(|has_run| {
                while !has_run() {
                    std::hint::spin_loop();
                }
            });
            woken_and_left(|has_run| {
                runtime::blocking(|| {
                    while !has_run() {
                        common::block_thread(Duration::from_millis(1));
                    }
                });
            });
            woken_and_left(|has_run| {
                while !has_run() {
                    common::block_thread(Duration::from_millis(1));
                }
            });
        });
    });
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}

/// CPU time of the calling thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// D9: on two Ps the monitor wakes an M for it at its next tick, long before it would take the P,
/// after 10 ms of CPU time. (Without that 6 to 8 of 20 waited so long, with it none, also beside
/// five busy loops; 2026-11-16.)
#[test]
fn the_monitor_sends_somebody() {
    let outcome = common::child("the_monitor_sends_somebody", || {
        gosched::run(|| {
            let long = AtomicU32::new(0);
            woken_and_left(|has_run| {
                let before = cpu_time();
                while !has_run() {
                    std::hint::spin_loop();
                }
                let waited = cpu_time() - before;
                long.fetch_add(u32::from(waited > Duration::from_millis(9)), Ordering::Relaxed);
            });
            println!("long: {}", long.into_inner());
        });
    })
    .procs(2)
    .run()
    .ok();
    let long: u32 = outcome.value("long").parse().expect("a number");
    assert!(long < ROUNDS / 4, "{long} of {ROUNDS} goroutines were left until the P was handed off");
}

/// How often the threads that run goroutines have gone to sleep.
fn sleeps() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
    let count = |status: &str, key: &str| {
        status.lines().find_map(|line| line.strip_prefix(key)).and_then(|n| n.trim().parse::<u64>().ok())
    };
    statuses
        .filter(|status| status.starts_with("Name:\tgosched-m\n"))
        .filter_map(|status| count(&status, "voluntary_ctxt_switches:"))
        .sum()
}

/// D9: two goroutines that play ping-pong stay on one P and leave the other threads asleep. If the
/// kernel preempts the thread at a bad moment, trust is lost for a while; so the test compares with
/// a run without trust. (200,000 rounds: some 600 sleeps beside 20,000; beside four busy loops
/// 2,000 beside 8,000; 2026-11-18.)
#[test]
fn wakes_nobody_else() {
    let child = common::child("wakes_nobody_else", || {
        gosched::run(|| {
            let (ping, pings) = bounded(0);
            let (pong, pongs) = bounded(0);
            let other = gosched::go(move || echo(pings, pong, &AtomicU32::new(0)));
            let before = sleeps();
            for n in 0..50_000 {
                ping.send(n).expect("the echo receives");
                assert_eq!(pongs.recv(), Ok(n));
            }
            println!("sleeps: {}", sleeps() - before);
            drop(ping);
            other.join().expect("it ends with the channel");
        });
    })
    .procs(2);
    if !common::shows("trust") {
        return;
    }
    let count = |child: &common::Child| child.run().ok().value("sleeps").parse::<u64>().expect("a number");
    let without = child.clone().env("GOSCHED_DEBUG", "policy.trust=0");
    let (mut trusting, mut wary) = (0, 0);
    for _ in 0..4 {
        trusting += count(&child);
        wary += count(&without);
    }
    assert!(
        trusting < wary / 2,
        "{trusting} times a thread was woken and went to sleep again; without trust {wary} times"
    );
}
