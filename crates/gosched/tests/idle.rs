//! With nothing to do the process uses next to no CPU time (S33), and it keeps its threads (S32).

mod common;

use common::{cpu_time, threads};

use std::time::Duration;

use gosched::thread;

/// Some of everything, on all Ps.
fn work() {
    gosched::run(|| {
        let handles: Vec<_> = (0..2000)
            .map(|i| {
                gosched::go(move || {
                    (0..i % 10).for_each(|_| gosched::yield_now());
                    i
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| assert!(handle.join().is_ok()));
    });
}

/// Prints the CPU time of a second in which no thread is created or ends. (The sleep is what is
/// measured.)
fn watch_a_second(what: &str) {
    // The last searches end within this time.
    std::thread::sleep(Duration::from_millis(100));
    loop {
        let (cpu, before) = (cpu_time(), threads());
        std::thread::sleep(Duration::from_secs(1));
        // On a loaded machine a thread may have been asked for before, and come only now.
        if threads() == before {
            println!("{what}: {}", (cpu_time() - cpu).as_micros());
            return;
        }
    }
}

/// S32, S33: after work, between two runs, with parked goroutines alive, with the main goroutine
/// parked, and while somebody listens for signals: less than 20 ms of CPU time in a second.
#[test]
fn idle_costs_nothing() {
    let child = common::child("idle_costs_nothing", || {
        let procs = thread::available_parallelism().unwrap().get();
        work();
        watch_a_second("between runs");
        let parked: Vec<_> = (0..1000).map(|_| gosched::go(thread::park)).collect();
        work();
        let peak = threads();
        watch_a_second("others parked");
        std::thread::scope(|s| {
            let (say, main) = std::sync::mpsc::channel();
            s.spawn(move || {
                gosched::run(|| {
                    say.send(thread::current()).unwrap();
                    thread::park();
                });
            });
            let main = main.recv().unwrap();
            watch_a_second("main parked");
            main.unpark();
        });
        let signals = gosched::signal::notify(&[gosched::signal::Signal::User1]).unwrap();
        watch_a_second("listening");
        drop(signals);
        work();
        parked.iter().for_each(|handle| handle.thread().unpark());
        parked.into_iter().for_each(|handle| handle.join().unwrap());
        // The library's template, monitor and reporter, two of the harness, the watchdog. Each P
        // may have had one M too many.
        assert!(threads() <= peak.max(2 * procs + 6), "{} threads for {procs} Ps", threads());
    });
    for procs in [1, 2, 8] {
        let outcome = child.clone().procs(procs).run().ok();
        for what in ["between runs", "others parked", "main parked", "listening"] {
            let micros: u64 = outcome.value(what).parse().unwrap();
            assert!(micros < 20_000, "{procs} Ps, {what}: {micros} µs of CPU in a second of idling");
        }
    }
}

/// S32: however often work comes and goes, no more threads are made than Ps need: one each, and at
/// most another one each that was made because the first was just on its way to sleep.
#[test]
fn threads_are_kept_and_reused() {
    let child = common::child("threads_are_kept_and_reused", || {
        work();
        let before = threads();
        (0..50).for_each(|_| work());
        println!("threads: {before} {}", threads());
    });
    let outcome = child.procs(4).run().ok();
    let counts: Vec<usize> = outcome.value("threads").split(' ').map(|n| n.parse().unwrap()).collect();
    assert!(
        counts[1] <= 2 * 4 + 6,
        "{counts:?} threads for 4 Ps, a template, a monitor, a reporter, a watchdog and the test's own two"
    );
}
