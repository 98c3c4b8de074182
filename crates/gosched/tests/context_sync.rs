//! Locks and waits that end with the context or at a time: each gets what it waits for or gives up,
//! never both. One that gives up leaves nothing behind and blocks nobody.
//!
//! On goroutines and on foreign threads.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{join_all, within};
use gosched::context::{Context, ContextError, background, enter};
use gosched::sync::{Condvar, Mutex, OwnedPermit, Semaphore, WaitGroup};
use gosched::{go, runtime, thread, time};

/// Longer than any test may last: a wait that runs this long has missed what should end it.
const FOR_EVER: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(2);
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `f` on a goroutine and on a foreign thread, at the same time.
fn on_both<T: Send + 'static>(f: impl Fn() -> T + Clone + Send + 'static) -> [T; 2] {
    let thread = std::thread::spawn(f.clone());
    [go(f).join().unwrap(), thread.join().unwrap()]
}

/// Starts a goroutine of this name, and returns when it waits for this reason.
fn waits<T: Send + 'static>(
    name: &str,
    reason: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> gosched::JoinHandle<T> {
    let handle = thread::Builder::new().name(name.to_owned()).spawn(f).unwrap();
    let head = format!("\"{name}\" [{reason}");
    while !runtime::stacks().contains(&head) {
        thread::yield_now();
    }
    handle
}

/// Contexts that have ended or end soon, with their error: cancelled, cancelled soon, past their
/// deadline, and soon past it.
fn ending() -> [(Context, ContextError); 4] {
    let (cancelled, soon) = (background().with_cancel(), background().with_cancel());
    cancelled.cancel();
    let canceller = soon.clone();
    go(move || {
        thread::sleep(SHORT);
        canceller.cancel();
    });
    [
        (cancelled, ContextError::Cancelled),
        (soon, ContextError::Cancelled),
        (background().with_timeout(Duration::ZERO), ContextError::DeadlineExceeded),
        (background().with_timeout(SHORT), ContextError::DeadlineExceeded),
    ]
}

/// A context that another goroutine cancels about now, and that goroutine.
fn cancelled_soon(round: u64) -> (Context, gosched::JoinHandle<()>) {
    let ctx = background().with_cancel();
    let other = ctx.clone();
    let canceller = go(move || {
        for _ in 0..round % 4 {
            thread::yield_now();
        }
        other.cancel();
    });
    (ctx, canceller)
}

#[test]
fn a_semaphore_acquired_under_a_context() {
    within(LIMIT, || {
        on_both(|| {
            let semaphore = Semaphore::new(1);
            for (ctx, error) in ending() {
                enter(&ctx, || {
                    // Ready at once, it succeeds also if the context has ended.
                    let permit = semaphore.acquire_ctx().unwrap();
                    assert_eq!(semaphore.acquire_ctx().unwrap_err(), error);
                    drop(permit);
                    // The line is empty: the one that gave up is not in it.
                    assert!(semaphore.try_acquire().is_some());
                });
            }
            assert_eq!(semaphore.available(), 1);
        });
    });
}

#[test]
fn a_semaphore_acquired_in_time() {
    within(LIMIT, || {
        on_both(|| {
            let semaphore = Semaphore::new(1);
            for timeout in [Duration::ZERO, SHORT, FOR_EVER, Duration::MAX] {
                let permit = semaphore.acquire_timeout(timeout).unwrap();
                let began = Instant::now();
                let short = timeout.min(SHORT);
                assert!(semaphore.acquire_timeout(short).is_none() && began.elapsed() >= short);
                drop(permit);
            }
            assert_eq!(semaphore.available(), 1);
        });
        // The context does not end it.
        let semaphore = Arc::new(Semaphore::new(0));
        let ctx = background().with_timeout(Duration::ZERO);
        let waiter = {
            let semaphore = Arc::clone(&semaphore);
            let wait = move || semaphore.acquire_timeout(FOR_EVER).is_some();
            enter(&ctx, || waits("in time", "semacquire", wait))
        };
        semaphore.release();
        assert!(waiter.join().unwrap());
    });
}

/// When the head of the line gives up, those behind it are served, in their order.
#[gosched::test]
fn a_semaphore_serves_those_behind_one_that_gives_up() {
    let semaphore = Arc::new(Semaphore::new(0));
    let ctx = background().with_cancel();
    let asks = |name: &str, under: &Context, n: usize| {
        let semaphore = Arc::clone(&semaphore);
        let ask = move || match n {
            1 => semaphore.acquire_ctx().map(std::mem::forget).is_ok(),
            n => {
                std::mem::forget(semaphore.acquire_many(n));
                true
            }
        };
        enter(under, || waits(name, "semacquire", ask))
    };
    let head = asks("head", &ctx, 1);
    let behind = asks("behind", &background(), 2);
    let last = asks("last", &background(), 1);
    ctx.cancel();
    assert!(!head.join().unwrap());
    semaphore.release();
    thread::sleep(SHORT);
    assert!(!behind.is_finished() && !last.is_finished(), "the first in line wants 2");
    semaphore.release();
    assert!(behind.join().unwrap());
    semaphore.release();
    assert!(last.join().unwrap());
    assert_eq!(semaphore.available(), 0);
}

#[gosched::test]
fn owned_permits() {
    let semaphore = Arc::new(Semaphore::new(2));
    let one: OwnedPermit = Arc::clone(&semaphore).acquire_owned();
    let two = Arc::clone(&semaphore).try_acquire_owned().unwrap();
    assert!(Arc::clone(&semaphore).try_acquire_owned().is_none());
    let third = waits("third", "semacquire", {
        let semaphore = Arc::clone(&semaphore);
        move || semaphore.acquire_owned()
    });
    // They may be dropped on any thread.
    std::thread::spawn(move || drop(one)).join().unwrap();
    let third = third.join().unwrap();
    assert_eq!(semaphore.available(), 0);
    drop((two, third));
    assert_eq!((semaphore.available(), Arc::strong_count(&semaphore)), (2, 1));
}

/// Cancellation races with permits: each round gets its permit or gives up, no permit is lost or
/// doubled, and nobody is left in line.
#[test]
fn a_semaphore_against_cancellation() {
    within(LIMIT, || {
        let semaphore = Arc::new(Semaphore::new(2));
        let (inside, got) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
        let work = {
            let (semaphore, inside, got) = (Arc::clone(&semaphore), Arc::clone(&inside), Arc::clone(&got));
            move || {
                for round in 0..2_500 {
                    let (ctx, canceller) = cancelled_soon(round);
                    let permit = match round % 3 {
                        0 => semaphore.acquire_timeout(Duration::from_micros(round % 50)),
                        _ => enter(&ctx, || semaphore.acquire_ctx().ok()),
                    };
                    if let Some(permit) = permit {
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                        got.fetch_add(1, Ordering::Relaxed);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(permit);
                    }
                    canceller.join().unwrap();
                }
            }
        };
        let others: Vec<_> = (0..2).map(|_| go(work.clone())).collect();
        on_both(work);
        join_all(others);
        assert_eq!(semaphore.available(), 2);
        assert!(got.load(Ordering::Relaxed) > 0);
        drop(semaphore.acquire_many(2));
    });
}

#[test]
fn a_wait_group_under_a_context_or_in_time() {
    within(LIMIT, || {
        on_both(|| {
            let group = WaitGroup::new();
            for (ctx, error) in ending() {
                enter(&ctx, || {
                    assert_eq!(group.wait_ctx(), Ok(()));
                    group.add(1);
                    assert_eq!(group.wait_ctx(), Err(error));
                    let began = Instant::now();
                    assert!(!group.wait_timeout(SHORT) && began.elapsed() >= SHORT);
                    assert!(!group.wait_timeout(Duration::ZERO));
                    group.done();
                    assert_eq!((group.wait_ctx(), group.wait_timeout(Duration::ZERO)), (Ok(()), true));
                });
            }
            group.go(|| thread::sleep(SHORT));
            assert!(group.wait_timeout(FOR_EVER));
            group.go(|| thread::sleep(SHORT));
            assert_eq!(group.wait_ctx(), Ok(()));
        });
    });
}

/// Rounds of a group with waiters that give up and one that does not: no wait returns before its
/// round is done.
#[test]
fn a_wait_group_against_cancellation() {
    within(LIMIT, || {
        let gave_up = Arc::new(AtomicU64::new(0));
        for round in 0..2_500 {
            let group = WaitGroup::new();
            group.add(1);
            let done = Arc::new(AtomicBool::new(false));
            let (ctx, canceller) = cancelled_soon(round);
            let hasty = || {
                let (group, done, gave_up) = (group.clone(), Arc::clone(&done), Arc::clone(&gave_up));
                move || match group.wait_ctx() {
                    Ok(()) => assert!(done.load(Ordering::SeqCst)),
                    Err(_) => drop(gave_up.fetch_add(1, Ordering::Relaxed)),
                }
            };
            let waiters = enter(&ctx, || vec![go(hasty()), go(hasty())]);
            let patient = {
                let (group, done) = (group.clone(), Arc::clone(&done));
                go(move || {
                    group.wait();
                    assert!(done.load(Ordering::SeqCst));
                })
            };
            let ends = {
                let (group, done, gave_up) = (group.clone(), Arc::clone(&done), Arc::clone(&gave_up));
                let before = gave_up.load(Ordering::Relaxed);
                go(move || {
                    // Now and then it does not end before somebody has given up.
                    while round % 10 == 0 && gave_up.load(Ordering::Relaxed) == before {
                        thread::yield_now();
                    }
                    done.store(true, Ordering::SeqCst);
                    group.done();
                    // The next round, at once: those of the last one are not in it.
                    group.add(1);
                })
            };
            // On this thread, which is a foreign one.
            enter(&ctx, hasty());
            ends.join().unwrap();
            assert!(!group.wait_timeout(Duration::ZERO));
            // For `patient`, if it came too late for the first round.
            group.done();
            patient.join().unwrap();
            join_all(waiters);
            canceller.join().unwrap();
            group.wait();
        }
    });
}

#[test]
fn a_mutex_locked_under_a_context() {
    within(LIMIT, || {
        on_both(|| {
            let mutex = Arc::new(Mutex::new(0));
            for (ctx, error) in ending() {
                enter(&ctx, || {
                    let mut guard = mutex.lock_ctx().unwrap().unwrap();
                    *guard += 1;
                    assert_eq!(mutex.lock_ctx().unwrap_err(), error);
                });
            }
            // Nobody is left in line for an unlock to wake.
            assert_eq!(*mutex.try_lock().unwrap(), 4);
            let poisoned = Arc::clone(&mutex);
            go(move || {
                let _guard = poisoned.lock().unwrap();
                panic!("on purpose");
            })
            .join()
            .unwrap_err();
            assert!(mutex.lock_ctx().unwrap().is_err(), "poisoned, and acquired");
            assert!(
                mutex.try_lock().is_err_and(|error| matches!(error, std::sync::TryLockError::Poisoned(_)))
            );
        });
    });
}

/// Cancellation races with the lock: each round gets it or gives up, two never hold it at once, and
/// it is free in the end. Some hold it long enough for the lock to be handed over.
#[test]
fn a_mutex_against_cancellation() {
    within(LIMIT, || {
        let mutex = Arc::new(Mutex::new(0_u64));
        let inside = Arc::new(AtomicBool::new(false));
        let turn = |mutex: &Mutex<u64>, inside: &AtomicBool, round: u64, patient: bool| {
            let (ctx, canceller) = cancelled_soon(round);
            let guard = match patient {
                true => Some(mutex.lock().unwrap()),
                false => enter(&ctx, || mutex.lock_ctx()).ok().map(|locked| locked.unwrap()),
            };
            let got = guard.is_some();
            if let Some(mut guard) = guard {
                assert!(!inside.swap(true, Ordering::SeqCst), "two at once");
                *guard += 1;
                match round % 500 {
                    0 => thread::sleep(Duration::from_micros(1_500)),
                    _ if round.is_multiple_of(2) => thread::yield_now(),
                    _ => {}
                }
                inside.store(false, Ordering::SeqCst);
            }
            canceller.join().unwrap();
            u64::from(got)
        };
        let rounds = |patient| {
            let (mutex, inside) = (Arc::clone(&mutex), Arc::clone(&inside));
            move || (0..2_500).map(|round| turn(&mutex, &inside, round, patient)).sum::<u64>()
        };
        let others = vec![go(rounds(true)), go(rounds(false)), go(rounds(false))];
        let both: u64 = on_both(rounds(false)).into_iter().sum();
        let got = both + join_all(others).into_iter().sum::<u64>();
        assert_eq!(*mutex.try_lock().expect("it is free"), got);
        assert!(got >= 2_500);
    });
}

#[test]
fn a_condition_under_a_context() {
    within(LIMIT, || {
        on_both(|| {
            let (mutex, condvar) = (Mutex::new(0), Condvar::new());
            for (ctx, error) in ending() {
                enter(&ctx, || {
                    let (mut guard, waited) = condvar.wait_ctx(mutex.lock().unwrap()).unwrap();
                    assert_eq!(waited, Err(error));
                    // It is locked again.
                    *guard += 1;
                    assert!(mutex.try_lock().is_err());
                });
            }
            assert_eq!(*mutex.lock().unwrap(), 4);
        });
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let waiter = {
            let pair = Arc::clone(&pair);
            move || {
                let mut ready = pair.0.lock().unwrap();
                while !*ready {
                    let (guard, waited) = pair.1.wait_ctx(ready).unwrap();
                    assert_eq!(waited, Ok(()));
                    ready = guard;
                }
            }
        };
        let thread = std::thread::spawn(waiter.clone());
        let waiters = ["one", "two"].map(|name| waits(name, "sync.Cond.Wait", waiter.clone())).into();
        *pair.0.lock().unwrap() = true;
        pair.1.notify_all();
        join_all(waiters);
        thread.join().unwrap();
    });
}

/// Cancellation races with notifications: tokens are put and taken, takers give up and come again,
/// and in the end all are taken.
#[test]
fn a_condition_against_cancellation() {
    within(LIMIT, || {
        const TOKENS: u64 = 3_000;
        let pair = Arc::new((Mutex::new(0_u64), Condvar::new()));
        let left = Arc::new(AtomicU64::new(TOKENS));
        let hasty = {
            let (pair, left) = (Arc::clone(&pair), Arc::clone(&left));
            move || {
                let mut round = 0;
                while left.load(Ordering::SeqCst) > 0 {
                    round += 1;
                    let (ctx, canceller) = cancelled_soon(round);
                    let mut tokens = pair.0.lock().unwrap();
                    if *tokens == 0 {
                        tokens = enter(&ctx, || pair.1.wait_ctx(tokens)).unwrap().0;
                    }
                    if *tokens > 0 {
                        *tokens -= 1;
                        left.fetch_sub(1, Ordering::SeqCst);
                    }
                    drop(tokens);
                    canceller.join().unwrap();
                }
            }
        };
        let putter = {
            let pair = Arc::clone(&pair);
            go(move || {
                for n in 0..TOKENS {
                    *pair.0.lock().unwrap() += 1;
                    pair.1.notify_one();
                    if n % 3 == 0 {
                        thread::yield_now();
                    }
                }
            })
        };
        let others = vec![go(hasty.clone()), go(hasty.clone())];
        on_both(hasty);
        putter.join().unwrap();
        join_all(others);
        assert_eq!((*pair.0.lock().unwrap(), left.load(Ordering::SeqCst)), (0, 0));
    });
}

/// `timeout` ends the waits that end with the context.
#[gosched::test]
fn timeout_cuts_short_waits_with_a_context() {
    let (semaphore, group, mutex) = (Semaphore::new(0), WaitGroup::new(), Mutex::new(()));
    group.add(1);
    let held = mutex.lock().unwrap();
    let late = time::timeout(SHORT, || {
        assert!(semaphore.acquire_ctx().is_err());
        assert!(group.wait_ctx().is_err());
        assert!(mutex.lock_ctx().is_err());
    });
    assert_eq!(late, Err(time::Elapsed));
    drop(held);
    group.done();
}

/// In a stopped world what is ready completes, a wait under an ended context fails, and what would
/// have to wait panics and changes nothing.
#[test]
fn in_a_stopped_world() {
    within(LIMIT, || {
        on_both(|| {
            let (semaphore, group, mutex, condvar) =
                (Semaphore::new(1), WaitGroup::new(), Mutex::new(0), Condvar::new());
            let ended = background().with_cancel();
            ended.cancel();
            group.add(1);
            runtime::stop_the_world(|_| {
                let permit = semaphore.acquire_ctx().unwrap();
                let held = mutex.lock_ctx().unwrap().unwrap();
                enter(&ended, || {
                    assert_eq!(semaphore.acquire_ctx().unwrap_err(), ContextError::Cancelled);
                    assert_eq!(mutex.lock_ctx().unwrap_err(), ContextError::Cancelled);
                    assert_eq!(group.wait_ctx(), Err(ContextError::Cancelled));
                });
                assert!(semaphore.acquire_timeout(Duration::ZERO).is_none());
                assert!(!group.wait_timeout(Duration::ZERO));
                let refuses = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(f)).is_err();
                assert!(refuses(&|| drop(semaphore.acquire_ctx())));
                assert!(refuses(&|| drop(semaphore.acquire_timeout(FOR_EVER))));
                assert!(refuses(&|| {
                    let _ = group.wait_ctx();
                }));
                assert!(refuses(&|| drop(mutex.lock_ctx())));
                let (held, waited) = enter(&ended, || condvar.wait_ctx(held)).unwrap();
                assert_eq!(waited, Err(ContextError::Cancelled));
                drop((permit, held));
            });
            group.done();
            assert_eq!((group.wait_ctx(), semaphore.available()), (Ok(()), 1));
            assert!(semaphore.try_acquire().is_some() && mutex.try_lock().is_ok());
        });
    });
}
