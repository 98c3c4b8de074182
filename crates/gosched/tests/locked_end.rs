//! S51: the thread of a goroutine that ends while it is locked ends too, as in Go: no other
//! goroutine finds what it left in the thread's state.

mod common;

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::{block_thread, child, compute_for, join_all, resident, threads};
use gosched::thread::Builder;
use gosched::{go, runtime, thread, yield_now};

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

fn pinned(f: impl FnOnce() + Send + 'static) -> gosched::JoinHandle<()> {
    Builder::new().pinned().spawn(f).unwrap()
}

thread_local! {
    static LEFT_BEHIND: Cell<bool> = const { Cell::new(false) };
}

/// However the goroutine ends, with or without a P.
#[test]
fn nobody_finds_what_it_left_behind() {
    with_procs("nobody_finds_what_it_left_behind", || {
        fn leaves_something() {
            assert!(!LEFT_BEHIND.replace(true));
        }
        let locks = || {
            runtime::lock_os_thread();
            leaves_something();
        };
        for round in 0..20 {
            let ends = [
                go(locks),
                pinned(leaves_something),
                go(move || {
                    locks();
                    runtime::goexit();
                }),
                go(move || {
                    locks();
                    panic!("on purpose");
                }),
                // It may lose its P, and then has none when it ends.
                go(move || {
                    locks();
                    if round % 5 == 0 { compute_for(Duration::from_millis(30)) } else { yield_now() }
                }),
                go(move || {
                    locks();
                    block_thread(Duration::from_millis(3));
                }),
                pinned(|| {
                    leaves_something();
                    runtime::blocking(|| block_thread(Duration::from_millis(3)));
                }),
                // Locked by its last destructor.
                go(move || {
                    struct Locks;
                    impl Drop for Locks {
                        fn drop(&mut self) {
                            runtime::lock_os_thread();
                            leaves_something();
                        }
                    }
                    gosched::goroutine_local!(static LAST: Cell<Option<Locks>> = const { Cell::new(None) });
                    LAST.with(|last| last.set(Some(Locks)));
                }),
            ];
            ends.into_iter().for_each(|end| drop(end.join()));
            // No goroutine that runs now finds it, on any thread.
            let look = |_| {
                go(|| {
                    assert!(!LEFT_BEHIND.get());
                    block_thread(Duration::from_micros(500));
                })
            };
            join_all((0..20).map(look).collect());
        }
    });
}

/// A thread that is unlocked before its goroutine ends is used again.
#[test]
fn an_unlocked_thread_is_used_again() {
    child("an_unlocked_thread_is_used_again", || {
        gosched::run(|| {
            go(|| ()).join().unwrap();
            let before = threads();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..1000 {
                go(|| {
                    runtime::lock_os_thread();
                    runtime::unlock_os_thread();
                })
                .join()
                .unwrap();
                seen.insert(go(common::tid).join().unwrap());
            }
            assert!(seen.len() < 10 && threads() < before + 10, "{} threads", seen.len());
        });
    })
    .procs(1)
    .limit(LIMIT)
    .run()
    .ok();
}

/// The thread's own thread-locals are dropped after the goroutine has ended. When they call the
/// library, they do so from a foreign thread.
#[test]
fn destructors_of_its_thread_locals_are_on_a_foreign_thread() {
    with_procs("destructors_of_its_thread_locals_are_on_a_foreign_thread", || {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                assert_eq!(runtime::goroutine_id(), None);
                runtime::lock_os_thread();
                assert_eq!(go(|| runtime::goroutine_id().is_some()).join().ok(), Some(true));
                let (s, r) = gosched::chan::bounded(0);
                go(move || s.send(5).unwrap());
                assert_eq!(r.recv(), Ok(5));
                thread::sleep(Duration::from_millis(1));
                runtime::stop_the_world(|_| ());
                assert!(runtime::stacks().contains("goroutine 1 ["));
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
        thread_local!(static LAST: Last = const { Last });
        for i in 1..=10 {
            pinned(|| LAST.with(|_| ())).join().unwrap();
            while DROPPED.load(Ordering::Relaxed) < i {
                yield_now();
            }
        }
    });
}

/// Pinned goroutines one after the other need neither more threads nor more memory; nor do they
/// reach the limit of threads, which counts those that exist.
#[test]
fn many_one_after_the_other() {
    if common::spared_by_sanitizer("it keeps something of every thread that has ended") {
        return;
    }
    let many = if cfg!(debug_assertions) { 20_000 } else { 100_000 };
    for procs in [1, 2] {
        child("many_one_after_the_other", || {
            runtime::Config::new().max_threads(200).install().unwrap();
            gosched::run(|| {
                let batch = |n: usize| (0..n).for_each(|_| pinned(|| ()).join().unwrap());
                batch(many / 4);
                let before = resident();
                batch(many - many / 4);
                let grown = resident().saturating_sub(before);
                assert!(grown < 8 << 20, "{grown} bytes more");
                let listed = runtime::stop_the_world(|world| world.threads().count());
                assert!(listed < 100, "{listed} are listed");
                assert!(threads() < 200, "{} threads", threads());
                let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
                assert!(open < 100, "{open} descriptors");
            });
        })
        .procs(procs)
        .run()
        .ok();
    }
}

/// Many pinned goroutines end at once, while the world is stopped, the number of Ps changes, and
/// dumps are made.
#[test]
fn many_at_once_beside_everything_else() {
    child("many_at_once_beside_everything_else", || {
        gosched::run(|| {
            static END: AtomicBool = AtomicBool::new(false);
            static SEEN: Mutex<usize> = Mutex::new(0);
            let stops = go(|| {
                for i in 0.. {
                    if END.load(Ordering::Relaxed) {
                        break;
                    }
                    let known =
                        runtime::stop_the_world(|world| world.threads().filter(|m| m.os_id != 0).count());
                    *SEEN.lock().unwrap() += known;
                    runtime::maxprocs(Some(1 + i % 4));
                    thread::sleep(Duration::from_micros(300));
                }
            });
            let dumps = std::thread::spawn(|| {
                while !END.load(Ordering::Relaxed) {
                    assert!(runtime::stacks().contains("goroutine "));
                }
            });
            for _ in 0..30 {
                let end = |i: usize| {
                    pinned(move || match i % 5 {
                        0 => yield_now(),
                        1 => thread::sleep(Duration::from_micros(200)),
                        2 => runtime::blocking(|| block_thread(Duration::from_micros(200))),
                        3 => compute_for(Duration::from_micros(300)),
                        _ => {}
                    })
                };
                join_all((0..40).map(end).collect());
            }
            END.store(true, Ordering::Relaxed);
            stops.join().unwrap();
            dumps.join().unwrap();
        });
    })
    .procs(4)
    .run()
    .ok();
}
