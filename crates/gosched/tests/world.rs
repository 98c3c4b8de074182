//! Stopping the world, the number of Ps, goroutines tied to threads (S42, S43, S51).

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{Child, Random, child, compute_for, join_all};
use gosched::runtime::{self, maxprocs, stop_the_world};
use gosched::sync::Barrier;
use gosched::thread::{self, Builder};
use gosched::{go, yield_now};

/// Runs `body` as the main goroutine of a process of its own, with each of these numbers of Ps.
fn in_child(test: &'static str, procs: &[usize], body: fn()) {
    for procs in procs {
        child(test, || gosched::run(body)).procs(*procs).run().ok();
    }
}

/// Goroutines that compute and never enter the library, until told to stop.
fn loops(n: usize, stop: &'static AtomicBool) -> Vec<gosched::JoinHandle<()>> {
    (0..n)
        .map(|_| {
            go(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect()
}

/// S42: endless loops don't keep the world from stopping, and continue afterwards.
#[test]
fn stops_while_loops_compute() {
    in_child("stops_while_loops_compute", &[1, 2, 8], || {
        static STOP: AtomicBool = AtomicBool::new(false);
        let loops = loops(8, &STOP);
        for _ in 0..50 {
            let began = Instant::now();
            let states = stop_the_world(|world| {
                assert!(world.processors().all(|p| p.status == "gcstop"));
                assert_eq!(world.processors().count(), maxprocs(None));
                world.goroutines().map(|g| (g.state, g.without_p)).collect::<Vec<_>>()
            });
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            assert_eq!(states.len(), 9);
            for (state, without_p) in states {
                assert_eq!(state == "running", without_p, "who runs in a stopped world has no P");
            }
            yield_now();
        }
        STOP.store(true, Ordering::Relaxed);
        loops.into_iter().for_each(|handle| handle.join().unwrap());
    });
}

/// S42: while the world is stopped no goroutine completes a call into the library, except one that
/// was just returning; afterwards all do.
#[test]
fn nobody_enters_meanwhile() {
    in_child("nobody_enters_meanwhile", &[1, 2, 8], || {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        static END: AtomicBool = AtomicBool::new(false);
        let callers: Vec<_> = (0..16)
            .map(|i| {
                go(move || {
                    while !END.load(Ordering::Relaxed) {
                        match i % 4 {
                            0 => yield_now(),
                            1 => go(|| ()).join().unwrap(),
                            2 => runtime::blocking(|| std::hint::black_box(())),
                            _ => runtime::blocking(|| thread::current().unpark()),
                        }
                        CALLS.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for _ in 0..30 {
            let before = CALLS.load(Ordering::Relaxed);
            while CALLS.load(Ordering::Relaxed) < before + 10 {
                yield_now();
            }
            stop_the_world(|_| {
                // Each may have one call that has just returned.
                let first = CALLS.load(Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
                let second = CALLS.load(Ordering::Relaxed);
                assert!(second - first <= 16, "{} calls while the world stood still", second - first);
            });
        }
        END.store(true, Ordering::Relaxed);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
    });
}

/// S42: no goroutine runs scheduler code while the world is stopped, not even the end of a call
/// that began before: what the closure sees does not change. Goroutines that lost their P to the
/// last stop queue for one, end, and are joined, while the next stop begins.
#[test]
fn what_is_seen_does_not_change() {
    in_child("what_is_seen_does_not_change", &[1, 2, 8], || {
        static END: AtomicBool = AtomicBool::new(false);
        let busy: Vec<_> = (0..12_u64)
            .map(|i| {
                go(move || {
                    while !END.load(Ordering::Relaxed) {
                        compute_for(Duration::from_micros(20 * i));
                        match i % 2 {
                            0 => yield_now(),
                            _ => go(move || compute_for(Duration::from_micros(30 * i))).join().unwrap(),
                        }
                    }
                })
            })
            .collect();
        for _ in 0..1500 {
            stop_the_world(|world| {
                let seen = || -> Vec<(u64, &str)> {
                    let mut seen: Vec<_> = world.goroutines().map(|g| (g.id, g.state)).collect();
                    seen.sort_unstable();
                    seen
                };
                let first = seen();
                compute_for(Duration::from_micros(100));
                assert_eq!(seen(), first);
            });
        }
        END.store(true, Ordering::Relaxed);
        join_all(busy);
    });
}

/// S42: one caller stops the world at a time; others wait. From goroutines and from threads.
#[test]
fn one_at_a_time() {
    in_child("one_at_a_time", &[1, 2, 8], || {
        static INSIDE: AtomicBool = AtomicBool::new(false);
        static STOPS: AtomicUsize = AtomicUsize::new(0);
        fn stop() {
            for _ in 0..20 {
                stop_the_world(|_| {
                    assert!(!INSIDE.swap(true, Ordering::SeqCst), "two worlds stopped at once");
                    STOPS.fetch_add(1, Ordering::Relaxed);
                    INSIDE.store(false, Ordering::SeqCst);
                });
            }
        }
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(stop)).collect();
        let goroutines: Vec<_> = (0..8).map(|_| go(stop)).collect();
        goroutines.into_iter().for_each(|handle| handle.join().unwrap());
        runtime::blocking(|| threads.into_iter().for_each(|handle| handle.join().unwrap()));
        assert_eq!(STOPS.load(Ordering::Relaxed), 12 * 20);
    });
}

/// S42: a goroutine that another thread wakes while the world is stopped runs afterwards.
#[test]
fn wake_ups_from_outside_wait() {
    in_child("wake_ups_from_outside_wait", &[1, 2], || {
        for _ in 0..20 {
            let woken = Arc::new(AtomicBool::new(false));
            let parked = go({
                let woken = Arc::clone(&woken);
                move || {
                    thread::park();
                    woken.store(true, Ordering::SeqCst);
                }
            });
            stop_the_world(|_| {
                let unparked = parked.thread().clone();
                std::thread::spawn(move || unparked.unpark()).join().unwrap();
                std::thread::sleep(Duration::from_millis(1));
                assert!(!woken.load(Ordering::SeqCst));
            });
            parked.join().unwrap();
        }
    });
}

/// S42, S20: a caller that is about to stop the world may have to wait for a P, and the P may
/// belong to a goroutine that blocks meanwhile: the monitor takes it as always. (Seen to fail when
/// the monitor was put to sleep before the caller had its P: it never took the P, and the caller
/// never got it.)
#[test]
fn a_stopper_waits_for_its_p_while_others_block() {
    let body = || {
        gosched::run(|| {
            // Every moving call lets others run: at whichever moving call of the stopper, one of
            // these blocks meanwhile.
            for _ in 0..10 {
                let blocks = |turns| {
                    let (sender, receiver) = mpsc::channel();
                    let blocked = go(move || {
                        (0..turns).for_each(|_| runtime::checkpoint());
                        receiver.recv().unwrap();
                    });
                    (sender, blocked)
                };
                let blocked: Vec<_> = (0..8).map(blocks).collect();
                stop_the_world(|_| ());
                for (sender, blocked) in blocked {
                    sender.send(()).unwrap();
                    blocked.join().unwrap();
                }
            }
        });
    };
    let test = child("a_stopper_waits_for_its_p_while_others_block", body);
    test.procs(1).env("GOSCHED_DEBUG", "migrate=1").run().ok();
}

/// S42: waiting and nesting in the closure panic with a message; calls that need not wait work; a
/// panic starts the world again.
#[test]
fn misuse_is_said_and_the_world_goes_on() {
    in_child("misuse_is_said_and_the_world_goes_on", &[1, 2], || {
        fn message(f: impl FnOnce()) -> String {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
            panic.downcast_ref::<String>().cloned().unwrap_or_default()
        }
        fn misuse() {
            for wait in [
                yield_now as fn(),
                thread::park,
                || thread::sleep(Duration::from_millis(1)),
                || stop_the_world(|_| ()),
                || assert_eq!(maxprocs(Some(7)), 0),
            ] {
                let said = message(|| stop_the_world(|_| wait()));
                assert!(said.contains("stop_the_world must not"), "{said:?}");
            }
        }
        misuse();
        assert!(message(|| stop_the_world(|_| panic!("{}", "inside"))).contains("inside"));
        let handle = stop_the_world(|_| {
            thread::current().unpark();
            go(|| 7)
        });
        thread::park();
        assert_eq!(handle.join().unwrap(), 7);
        std::thread::spawn(|| {
            misuse();
            assert_eq!(stop_the_world(|world| world.processors().count()), maxprocs(None));
        })
        .join()
        .unwrap();
    });
}

/// S43: the number of Ps goes up and down under load, and no goroutine, queued, parked or asleep,
/// is lost.
#[test]
fn the_number_of_ps_changes_under_load() {
    in_child("the_number_of_ps_changes_under_load", &[1, 2, 8], || {
        static ENDED: AtomicU64 = AtomicU64::new(0);
        static STOP: AtomicBool = AtomicBool::new(false);
        let changes = if cfg!(debug_assertions) { 300 } else { 1000 };
        let spawner = go(|| {
            let mut spawned = 0;
            let mut random = Random::new(3);
            while !STOP.load(Ordering::Relaxed) {
                for _ in 0..50 {
                    let how = random.next() % 4;
                    spawned += 1;
                    go(move || {
                        match how {
                            0 => {}
                            1 => yield_now(),
                            2 => thread::sleep(Duration::from_micros(300)),
                            _ => runtime::blocking(|| std::hint::black_box(())),
                        }
                        ENDED.fetch_add(1, Ordering::Relaxed);
                    });
                }
                thread::sleep(Duration::from_micros(200));
            }
            spawned
        });
        let computing = loops(2, &STOP);
        let mut random = Random::new(5);
        for _ in 0..changes {
            let n = 1 + random.next() as usize % 8;
            let before = maxprocs(None);
            assert_eq!(maxprocs(Some(n)), before);
            assert_eq!(maxprocs(None), n);
        }
        STOP.store(true, Ordering::Relaxed);
        computing.into_iter().for_each(|handle| handle.join().unwrap());
        let spawned = spawner.join().unwrap();
        // A goroutine that has counted itself exists for a moment longer.
        while runtime::num_goroutine() > 1 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(ENDED.load(Ordering::Relaxed), spawned);
    });
}

/// S43: the number of Ps shrinks while all of them have queues; what was queued runs, each once.
#[test]
fn half_the_ps_take_over() {
    in_child("half_the_ps_take_over", &[8], || {
        static RAN: AtomicUsize = AtomicUsize::new(0);
        for _ in 0..20 {
            RAN.store(0, Ordering::Relaxed);
            let handles: Vec<_> = (0..8)
                .map(|_| {
                    go(|| {
                        let own: Vec<_> = (0..100)
                            .map(|_| {
                                go(|| {
                                    yield_now();
                                    RAN.fetch_add(1, Ordering::Relaxed);
                                })
                            })
                            .collect();
                        own.into_iter().for_each(|handle| handle.join().unwrap());
                    })
                })
                .collect();
            yield_now();
            maxprocs(Some(4));
            maxprocs(Some(1));
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            assert_eq!(RAN.load(Ordering::Relaxed), 800);
            maxprocs(Some(8));
        }
    });
}

/// S43: `maxprocs` also works from a foreign thread, before the first goroutine; `Some(0)` panics.
#[test]
fn maxprocs_from_outside() {
    let before = maxprocs(None);
    assert_eq!(maxprocs(Some(before + 1)), before);
    assert_eq!(thread::available_parallelism().unwrap().get(), before + 1);
    assert_eq!(maxprocs(Some(before)), before + 1);
    let panic = std::panic::catch_unwind(|| maxprocs(Some(0))).unwrap_err();
    assert!(panic.downcast_ref::<&str>().unwrap().contains("at least one P"));
}

#[test]
#[ignore = "ends its process: run by a_closure_that_does_not_end"]
fn stands_still_for_ever() {
    gosched::run(|| stop_the_world(|_| std::thread::sleep(Duration::from_secs(60))));
}

/// S42: after 10 seconds in the closure the process ends with a dump and status 2.
#[test]
fn a_closure_that_does_not_end() {
    let outcome = Child::of("stands_still_for_ever").ignored().run();
    outcome.died(2, &["stop_the_world", "goroutine 1", "10s"]);
}

/// S51: a locked goroutine stays on its thread across several kinds of wait, and each has its own,
/// on which nobody else ever runs; locks nest. Seen to fail when a thread did not end with the
/// goroutine that was locked to it.
#[test]
fn a_locked_goroutine_stays_on_its_thread() {
    in_child("a_locked_goroutine_stays_on_its_thread", &[1, 2, 8], || {
        // All four are locked at the same time, so each needs a thread of its own. The others begin
        // when they are.
        let all_locked = Arc::new(Barrier::new(5));
        let locked: Vec<_> = (0..4)
            .map(|i| {
                let all_locked = all_locked.clone();
                let body = move || {
                    if i % 2 == 0 {
                        runtime::lock_os_thread();
                    }
                    runtime::lock_os_thread();
                    runtime::unlock_os_thread();
                    all_locked.wait();
                    let here = std::thread::current().id();
                    for _ in 0..20 {
                        yield_now();
                        thread::sleep(Duration::from_micros(100));
                        go(|| ()).join().unwrap();
                        runtime::blocking(|| std::thread::sleep(Duration::from_micros(50)));
                        stop_the_world(|_| ());
                        assert_eq!(std::thread::current().id(), here);
                    }
                    here
                };
                if i % 2 == 0 { go(body) } else { Builder::new().pinned().spawn(body).unwrap() }
            })
            .collect();
        all_locked.wait();
        static END: AtomicBool = AtomicBool::new(false);
        let others: Vec<_> = (0..8)
            .map(|_| {
                go(|| {
                    let mut seen = HashSet::new();
                    while !END.load(Ordering::Relaxed) {
                        seen.insert(std::thread::current().id());
                        yield_now();
                    }
                    seen
                })
            })
            .collect();
        let owned: Vec<_> = locked.into_iter().map(|handle| handle.join().unwrap()).collect();
        END.store(true, Ordering::Relaxed);
        let distinct: HashSet<_> = owned.iter().copied().collect();
        assert_eq!(distinct.len(), owned.len(), "each has a thread of its own");
        for other in others {
            let seen = other.join().unwrap();
            assert!(!seen.is_empty() && seen.is_disjoint(&distinct), "others ran on a locked thread");
        }
    });
}

/// S51: locks nest to any depth, and it takes as many unlocks.
#[test]
fn locks_nest_deep() {
    in_child("locks_nest_deep", &[1, 2], || {
        const DEPTH: usize = 100_000;
        (0..DEPTH).for_each(|_| runtime::lock_os_thread());
        (0..DEPTH - 1).for_each(|_| runtime::unlock_os_thread());
        // Still locked: other goroutines run on other threads.
        let here = std::thread::current().id();
        for _ in 0..100 {
            assert_ne!(go(|| std::thread::current().id()).join().unwrap(), here);
            assert_eq!(std::thread::current().id(), here);
        }
        runtime::unlock_os_thread();
    });
}

/// S51: while it is locked, its thread runs nobody else; after as many unlocks it is free again.
#[test]
fn a_locked_thread_runs_nobody_else() {
    in_child("a_locked_thread_runs_nobody_else", &[1, 2], || {
        runtime::unlock_os_thread(); // without a lock: nothing
        runtime::lock_os_thread();
        let here = std::thread::current().id();
        for _ in 0..100 {
            let elsewhere = go(|| std::thread::current().id()).join().unwrap();
            assert_ne!(elsewhere, here);
        }
        runtime::unlock_os_thread();
        // One of the next thousand runs on this thread, or this goroutine moves to its thread.
        let together = (0..1000).any(|_| {
            let other = go(|| std::thread::current().id()).join().unwrap();
            other == std::thread::current().id()
        });
        assert!(together);
    });
}
