//! Deadlock detection (S48): said when no goroutine can ever run again, and never otherwise.
//!
//! Without a test harness, whose threads would stand in the way.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use common::child_alone as child;
use gosched::{go, runtime, thread};

const DEAD: &str = "fatal error: all goroutines are asleep - deadlock!";

/// S48: nobody can run: the message, every goroutine with its reason and creator, status 2. With every number of Ps.
fn all_asleep() {
    for procs in [1, 2, 8] {
        let outcome = child("all_asleep", || {
            gosched::run(|| {
                let waits = thread::Builder::new().name("waits".into()).spawn(thread::park).unwrap();
                waits.join().unwrap();
            })
        })
        .procs(procs)
        .run();
        outcome.died(
            2,
            &[DEAD, "goroutine 1 [join]:", "\"waits\" [park]:", "created by goroutine 1", "deadlock.rs"],
        );
    }
}

/// S48: found late, too: after work, sleeps, blocking calls and losses of the P.
fn asleep_after_a_life() {
    let outcome = child("asleep_after_a_life", || {
        gosched::run(|| {
            let handles: Vec<_> = (0..100)
                .map(|i| {
                    go(move || {
                        gosched::sleep(Duration::from_millis(i % 5));
                        runtime::blocking(|| std::thread::sleep(Duration::from_millis(1)));
                        std::thread::sleep(Duration::from_millis(1));
                        gosched::yield_now();
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            println!("through");
            thread::park();
        })
    })
    .procs(2)
    .run();
    assert!(outcome.stdout.contains("through"));
    outcome.died(2, &[DEAD, "goroutine 1 [park]:"]);
}

/// S48: a thread that is not ours and waits in our calls can't help; one that ends is noticed.
fn foreign_threads_that_wait_or_end() {
    let outcome = child("foreign_threads_that_wait_or_end", || {
        std::thread::spawn(|| std::thread::sleep(Duration::from_millis(300)));
        std::thread::spawn(|| gosched::run(thread::park));
        thread::park();
    })
    .run();
    outcome.died(2, &[DEAD, "[park]:"]);
}

/// S48: `deadlock=0` switches it off.
fn can_be_switched_off() {
    child("can_be_switched_off", || {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            std::process::exit(0);
        });
        gosched::run(thread::park);
    })
    .env("GOSCHED_DEBUG", "deadlock=0")
    .run()
    .ok();
}

/// S48: no alarm while a timer, a blocking call, announced or not, a goroutine without a P or a thread can still wake someone.
fn no_false_alarm() {
    for procs in [1, 2] {
        for source in ["timer", "announced", "unannounced", "computing", "thread", "timeout"] {
            child("no_false_alarm", || {
                let source = common::arg();
                let pause = Duration::from_millis(300);
                if source == "timeout" {
                    // The main thread waits with a limit.
                    go(thread::park);
                    return thread::park_timeout(pause);
                }
                gosched::run(|| {
                    let me = thread::current();
                    match source.as_str() {
                        "timer" => return gosched::sleep(pause),
                        "announced" => return runtime::blocking(|| std::thread::sleep(pause)),
                        "unannounced" => return std::thread::sleep(pause),
                        "computing" => drop(go(move || {
                            common::compute_for(pause);
                            me.unpark();
                        })),
                        _ => drop(std::thread::spawn(move || {
                            std::thread::sleep(pause);
                            me.unpark();
                        })),
                    }
                    thread::park();
                });
            })
            .procs(procs)
            .arg(source)
            .run()
            .ok();
        }
    }
}

/// S48: wake-ups that hop between goroutines, foreign threads and blocking calls, with everybody asleep in between as often
/// as can be: never an alarm.
fn no_false_alarm_while_it_hops() {
    for procs in [1, 2, 8] {
        child("no_false_alarm_while_it_hops", || {
            let rounds = if cfg!(debug_assertions) { 2_000 } else { 10_000 };
            let (to_thread, at_thread) = mpsc::channel::<thread::Thread>();
            let helper = std::thread::spawn(move || at_thread.iter().for_each(|who| who.unpark()));
            let turns = Arc::new(Mutex::new(0));
            gosched::run(|| {
                for round in 0..rounds {
                    let me = thread::current();
                    match round % 4 {
                        0 => to_thread.send(me).unwrap(),
                        1 => drop(go(move || me.unpark())),
                        2 => drop(go(move || runtime::blocking(|| me.unpark()))),
                        _ => {
                            let turns = Arc::clone(&turns);
                            go(move || {
                                *turns.lock().unwrap() += 1;
                                std::thread::scope(|s| drop(s.spawn(|| me.unpark())));
                            });
                        }
                    }
                    thread::park();
                    if round % 16 == 0 {
                        // Long enough for the monitor to look.
                        let me = thread::current();
                        let done = Arc::new(AtomicBool::new(false));
                        let seen = Arc::clone(&done);
                        std::thread::spawn(move || {
                            std::thread::sleep(Duration::from_micros(200));
                            done.store(true, Ordering::SeqCst);
                            me.unpark();
                        });
                        thread::park();
                        assert!(seen.load(Ordering::SeqCst));
                    }
                }
            });
            drop(to_thread);
            helper.join().unwrap();
        })
        .procs(procs)
        .run()
        .ok();
    }
}

/// D4: goroutines wait for a stack, and all that have one wait for them: said with count and remedy, status 2.
fn out_of_stacks() {
    for procs in [1, 2, 8] {
        let outcome = child("out_of_stacks", || {
            gosched::run(|| {
                let n = 2 * common::allow_few_stacks();
                let all = Arc::new(gosched::sync::Barrier::new(n));
                let handles: Vec<_> = (0..n)
                    .map(|_| {
                        let all = Arc::clone(&all);
                        common::go_large(move || all.wait().is_leader())
                    })
                    .collect();
                handles.into_iter().for_each(|handle| drop(handle.join()));
            })
        })
        .procs(procs)
        .run();
        let said = [
            "fatal error: out of goroutine stacks: ",
            " goroutines wait for one",
            "67108864 bytes",
            "raise the limit",
        ];
        outcome.died(2, &said);
    }
}

fn main() {
    common::run_tests(&[
        ("all_asleep", all_asleep),
        ("asleep_after_a_life", asleep_after_a_life),
        ("foreign_threads_that_wait_or_end", foreign_threads_that_wait_or_end),
        ("can_be_switched_off", can_be_switched_off),
        ("out_of_stacks", out_of_stacks),
        ("no_false_alarm", no_false_alarm),
        ("no_false_alarm_while_it_hops", no_false_alarm_while_it_hops),
    ]);
}
