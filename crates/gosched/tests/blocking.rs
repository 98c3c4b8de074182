//! Announced blocking calls (S19): other goroutines continue meanwhile, and the result belongs to
//! the goroutine.

mod common;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{Random, block_thread, child, cpu_time, join_all, threads, tid, within};
use gosched::{runtime, thread};

const LIMIT: Duration = Duration::from_secs(60);

/// A call that fails with the error number wanted.
fn fail_with(errno: i32) -> i32 {
    // SAFETY: none of these touches memory: a bad descriptor, a bad signal number, a path that is
    // not there.
    unsafe {
        match errno {
            libc::EBADF => libc::close(-1),
            libc::EINVAL => libc::kill(libc::getpid(), 12345),
            _ => libc::rmdir(c"/there/is/no/such/place".as_ptr()),
        }
    }
}

/// S19: the result and `errno` of a call belong to the goroutine, on whatever thread it resumes,
/// while others fail with other errors on all threads. With 1, 2 and 8 Ps.
#[test]
fn result_and_errno_travel() {
    let body = || {
        static MOVED: AtomicUsize = AtomicUsize::new(0);
        static STOP: AtomicBool = AtomicBool::new(false);
        gosched::run(|| {
            let disturb: Vec<_> = (0..4)
                .map(|_| {
                    gosched::go(|| {
                        while !STOP.load(Ordering::Relaxed) {
                            fail_with(libc::ENOENT);
                            gosched::yield_now();
                        }
                    })
                })
                .collect();
            let callers = (0..40_u64)
                .map(|i| {
                    gosched::go(move || {
                        let mut random = Random::new(i + 1);
                        for round in 0..25 {
                            let wanted = if (i + round) % 2 == 0 { libc::EBADF } else { libc::EINVAL };
                            let pause = Duration::from_micros(random.below(4000));
                            let before = tid();
                            let result = runtime::blocking(|| {
                                block_thread(pause);
                                (round, fail_with(wanted))
                            });
                            let found = io::Error::last_os_error().raw_os_error();
                            assert_eq!((result, found), ((round, -1), Some(wanted)));
                            MOVED.fetch_add(usize::from(tid() != before), Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            join_all(callers);
            STOP.store(true, Ordering::Relaxed);
            join_all(disturb);
        });
        println!("moved: {}", MOVED.load(Ordering::Relaxed));
    };
    for procs in [1, 2, 8] {
        let outcome = child("result_and_errno_travel", body).procs(procs).limit(LIMIT).run().ok();
        let moved: usize = outcome.value("moved").parse().unwrap();
        assert!(moved > 0, "with {procs} Ps nobody changed threads: the test shows nothing");
    }
}

/// S19, S11: a panic inside a call ends the blocking state and belongs to the goroutine. It may be
/// caught, and a `goexit` reaches the joiner.
#[test]
fn panics_inside() {
    struct Sleeps;
    impl Drop for Sleeps {
        fn drop(&mut self) {
            let (before, unwinds) = (tid(), std::thread::panicking());
            gosched::sleep(Duration::from_micros(300));
            gosched::yield_now();
            runtime::blocking(|| block_thread(Duration::from_micros(300)));
            assert_eq!(unwinds, std::thread::panicking());
            assert!(!unwinds || before == tid(), "it changed threads while it unwound");
        }
    }
    let body = || {
        gosched::run(|| {
            let handles: Vec<_> = (0..30)
                .map(|i| {
                    gosched::go(move || {
                        for round in 0..10 {
                            let caught = catch_unwind(AssertUnwindSafe(|| {
                                runtime::blocking(|| {
                                    let _sleeps = Sleeps;
                                    block_thread(Duration::from_micros(500));
                                    if round < 9 { resume_unwind(Box::new(i)) } else { 5 }
                                })
                            }));
                            assert_eq!(caught.ok(), (round == 9).then_some(5));
                            assert!(!std::thread::panicking());
                            gosched::yield_now();
                        }
                        if i % 2 == 0 {
                            runtime::blocking(|| runtime::goexit())
                        }
                        runtime::blocking(|| -> () { resume_unwind(Box::new("at the end")) })
                    })
                })
                .collect();
            for (i, handle) in handles.into_iter().enumerate() {
                let payload = handle.join().unwrap_err();
                assert_eq!(payload.is::<runtime::Goexit>(), i % 2 == 0);
            }
            assert_eq!(runtime::num_goroutine(), 1);
        });
    };
    for procs in [1, 2, 8] {
        child("panics_inside", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S19, D1: blocking calls may be nested, and every call into the library works inside one: a
/// moving call leaves the blocking state and enters it again. With 1, 2 and 8 Ps.
#[test]
fn the_library_works_inside() {
    fn inside(depth: u32, random: &mut Random) -> u32 {
        runtime::blocking(|| {
            match random.below(8) {
                0 => gosched::yield_now(),
                1 => gosched::sleep(Duration::from_micros(random.below(300))),
                2 => runtime::checkpoint(),
                3 => block_thread(Duration::from_micros(random.below(300))),
                4 => assert_eq!(gosched::go(|| tid() > 0).join().ok(), Some(true)),
                5 => {
                    let me = thread::current();
                    let other = gosched::go(move || me.unpark());
                    thread::park();
                    // It may still be ending, and `num_goroutine` below counts it until it has.
                    other.join().unwrap();
                }
                6 => thread::park_timeout(Duration::from_micros(random.below(300))),
                _ => {
                    let numbers = [1, 2, 3];
                    let sum = thread::scope(|s| {
                        let parts: Vec<_> =
                            numbers.iter().map(|n| s.spawn(move || runtime::blocking(|| *n))).collect();
                        parts.into_iter().map(|part| part.join().unwrap()).sum::<i32>()
                    });
                    assert_eq!(sum, 6);
                }
            }
            if depth == 0 { 1 } else { 1 + inside(depth - 1, random) }
        })
    }
    let body = || {
        gosched::run(|| {
            let handles = (0..30)
                .map(|i| {
                    gosched::go(move || {
                        let mut random = Random::new(i + 1);
                        let id = runtime::goroutine_id();
                        for _ in 0..20 {
                            assert_eq!(inside(4, &mut random), 5);
                            assert_eq!(runtime::goroutine_id(), id);
                        }
                    })
                })
                .collect();
            join_all(handles);
            assert_eq!(runtime::num_goroutine(), 1);
        });
    };
    for procs in [1, 2, 8] {
        child("the_library_works_inside", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S19, S18: on a foreign thread it just runs the closure, also nested, and returns its result or
/// panic.
#[test]
fn on_a_foreign_thread() {
    within(LIMIT, || {
        assert_eq!(runtime::blocking(|| runtime::blocking(|| gosched::go(|| 4).join().unwrap())), 4);
        assert!(catch_unwind(|| runtime::blocking(|| panic!("foreign"))).is_err());
        assert_eq!(runtime::blocking(|| fail_with(libc::EBADF)), -1);
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    });
}

/// S19: a call takes its old P first: calls that do not block hardly ever change threads, with
/// others parked beside them.
#[test]
fn the_old_p_first() {
    const CALLS: usize = 100_000;
    let body = || {
        gosched::run(|| {
            let parked: Vec<_> = (0..10).map(|_| gosched::go(thread::park)).collect();
            gosched::yield_now();
            let mut moved = 0;
            for _ in 0..CALLS {
                let before = tid();
                runtime::blocking(|| ());
                moved += usize::from(tid() != before);
            }
            // Now and then the kernel stops the thread just there, for longer than the monitor
            // waits.
            assert!(moved < CALLS / 100, "changed threads in {moved} of {CALLS} calls");
            parked.iter().for_each(|handle| handle.thread().unpark());
            join_all(parked);
        });
    };
    for procs in [1, 2, 8] {
        child("the_old_p_first", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S19, S32, S36: 800 calls of 50 ms take nowhere near the 40 s that they would one after the
/// other; goroutines that yield run meanwhile; a second round uses the same threads again.
#[test]
fn many_calls_at_once() {
    let body = || {
        static STOP: AtomicBool = AtomicBool::new(false);
        fn round() -> Duration {
            let began = Instant::now();
            let callers = (0..200)
                .map(|_| {
                    gosched::go(|| {
                        (0..4).for_each(|_| runtime::blocking(|| block_thread(Duration::from_millis(50))));
                    })
                })
                .collect();
            join_all(callers);
            began.elapsed()
        }
        gosched::run(|| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    gosched::go(|| {
                        let mut turns = 0_u64;
                        while !STOP.load(Ordering::Relaxed) {
                            turns += 1;
                            gosched::yield_now();
                        }
                        turns
                    })
                })
                .collect();
            let first = round();
            let before = threads();
            let second = round();
            let after = threads();
            STOP.store(true, Ordering::Relaxed);
            let turns = join_all(workers);
            println!("{first:?} {second:?} {before} {after} {turns:?}");
            assert!(first.max(second) < Duration::from_secs(20), "{first:?}, {second:?}");
            assert!(after <= 200 + 40, "{before} threads became {after}");
            assert!(turns.iter().all(|turns| *turns > 100), "{turns:?}");
        });
    };
    for procs in [1, 2, 8] {
        child("many_calls_at_once", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S19, S36: what is created or woken inside a call runs before the call is over. With 1, 2 and 8
/// Ps.
#[test]
fn work_made_inside_does_not_wait() {
    let body = || {
        gosched::run(|| {
            for round in 0..50 {
                let (say, hear) = mpsc::channel();
                let parked = gosched::go(|| {
                    thread::park();
                    9
                });
                gosched::yield_now();
                let heard = runtime::blocking(|| {
                    let said = say.clone();
                    drop(gosched::go(move || said.send(round).unwrap()));
                    parked.thread().unpark();
                    drop(gosched::go(move || say.send(parked.join().unwrap()).unwrap()));
                    // Blocks the thread until both have run.
                    hear.recv().unwrap() + hear.recv().unwrap()
                });
                assert_eq!(heard, round + 9);
            }
        });
    };
    for procs in [1, 2, 8] {
        child("work_made_inside_does_not_wait", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S36, S46: a timer of a P whose goroutine is in a blocking call fires, also if nobody else has
/// work.
#[test]
fn timers_of_a_blocked_p_fire() {
    let body = || {
        gosched::run(|| {
            for _ in 0..20 {
                let rang = Arc::new(AtomicBool::new(false));
                let ring = Arc::clone(&rang);
                let sleeper = gosched::go(move || {
                    gosched::sleep(Duration::from_millis(3));
                    ring.store(true, Ordering::Release);
                });
                gosched::yield_now();
                runtime::blocking(|| {
                    let began = Instant::now();
                    while !rang.load(Ordering::Acquire) {
                        block_thread(Duration::from_micros(200));
                        assert!(began.elapsed() < Duration::from_secs(20), "the timer was forgotten");
                    }
                });
                sleeper.join().unwrap();
            }
        });
    };
    for procs in [1, 2, 8] {
        child("timers_of_a_blocked_p_fire", body).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S33: while everybody is in a blocking call and there is no other work, hardly any CPU is used.
#[test]
fn long_calls_cost_nothing() {
    let body = || {
        gosched::run(|| {
            let callers: Vec<_> = (0..8)
                .map(|_| gosched::go(|| runtime::blocking(|| block_thread(Duration::from_secs(2)))))
                .collect();
            runtime::blocking(|| {
                block_thread(Duration::from_millis(500));
                let before = cpu_time();
                block_thread(Duration::from_secs(1));
                let used = cpu_time() - before;
                assert!(used < Duration::from_millis(20), "{used:?} of CPU in a second of waiting");
            });
            join_all(callers);
        });
    };
    for procs in [1, 8] {
        child("long_calls_cost_nothing", body).procs(procs).limit(LIMIT).run().ok();
    }
}
