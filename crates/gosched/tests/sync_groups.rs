//! `sync::{WaitGroup, Semaphore, ErrGroup}` (S18).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Random, child, join_all, until_waiting, waiting};
use gosched::runtime::goexit;
use gosched::sync::{Arc, ErrGroup, Mutex, Semaphore, WaitGroup};
use gosched::{context, go, time, yield_now};

/// What a panic said.
fn said(panic: Box<dyn std::any::Any + Send>) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
        .unwrap()
}

/// S18: every round is over for all who wait for it when its last member is done, and not before.
#[test]
fn a_wait_group_has_rounds() {
    let rounds = child("a_wait_group_has_rounds", || {
        gosched::run(|| {
            let group = Arc::new(WaitGroup::new());
            let done = Arc::new(AtomicUsize::new(0));
            for round in 1..=100 {
                group.add(9);
                for i in 0..8 {
                    let (group, done) = (Arc::clone(&group), Arc::clone(&done));
                    go(move || {
                        if i % 2 == 0 {
                            yield_now();
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                        group.done();
                    });
                }
                std::thread::scope(|s| {
                    s.spawn(|| {
                        done.fetch_add(1, Ordering::Relaxed);
                        group.done();
                    });
                    let (other, seen) = (Arc::clone(&group), Arc::clone(&done));
                    let waiter = go(move || {
                        other.wait();
                        seen.load(Ordering::Relaxed)
                    });
                    group.wait();
                    assert_eq!(done.load(Ordering::Relaxed), 9 * round);
                    assert_eq!(waiter.join().unwrap(), 9 * round);
                });
            }
        });
    });
    for procs in [1, 2, 8] {
        rounds.clone().procs(procs).run().ok();
    }
}

/// A counter below 0 panics and the counter stays as it was, also while somebody waits.
#[gosched::test]
fn a_negative_counter_panics() {
    let group = WaitGroup::new();
    let text = said(catch_unwind(|| group.done()).unwrap_err());
    assert!(text.contains("negative WaitGroup counter"), "{text}");
    group.add(2);
    assert!(catch_unwind(|| group.add(-3)).is_err());
    let waiter = go({
        let group = group.clone();
        move || group.wait()
    });
    yield_now();
    assert!(catch_unwind(|| group.add(-3)).is_err());
    assert!(catch_unwind(|| group.add(isize::MAX)).is_err(), "nor can it be too large");
    assert_eq!(format!("{group:?}"), "WaitGroup { count: 2 }");
    group.done();
    assert!(!waiter.is_finished());
    group.done();
    waiter.join().unwrap();
}

/// A goroutine of `go` is counted out however it ends, after its values are dropped. The group may
/// be dropped before.
#[gosched::test]
fn go_counts_in_and_out() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            yield_now();
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    let group = WaitGroup::new();
    for i in 0..30 {
        let value = Slow;
        group.go(move || {
            let value = value;
            match i % 3 {
                0 => panic!("ends by a panic"),
                1 => goexit(),
                _ => value,
            }
        });
    }
    group.wait();
    assert_eq!(DROPPED.load(Ordering::Relaxed), 30);
    let rest = group.clone();
    group.go(|| time::sleep(Duration::from_millis(5)));
    drop(group);
    rest.wait();
    // A goroutine that calls `done` itself and then panics: reported, not fatal.
    let twice = rest.clone();
    rest.go(move || {
        twice.done();
        panic!("and then this");
    });
    rest.wait();
}

/// A group can be a `static`, and many may wait for it.
#[gosched::test]
fn many_may_wait() {
    static GROUP: WaitGroup = WaitGroup::new();
    GROUP.wait();
    GROUP.add(1);
    let waiters: Vec<_> = (0..200).map(|_| go(|| GROUP.wait())).collect();
    yield_now();
    GROUP.done();
    join_all(waiters);
}

/// Goroutines and threads never hold more permits than there are; all come back, also after a
/// panic.
#[test]
fn a_semaphore_limits() {
    let limits = child("a_semaphore_limits", || {
        gosched::run(|| {
            const PERMITS: usize = 5;
            fn turns(semaphore: &Semaphore, used: &AtomicUsize, seed: u64) {
                let mut random = Random::new(seed);
                for _ in 0..300 {
                    let n = 1 + random.below(PERMITS as u64) as usize;
                    let (permit, n) = match random.below(4) {
                        0 => match semaphore.try_acquire() {
                            Some(permit) => (permit, 1),
                            None => continue,
                        },
                        1 => (semaphore.acquire(), 1),
                        _ => (semaphore.acquire_many(n), n),
                    };
                    let before = used.fetch_add(n, Ordering::Relaxed);
                    assert!(before + n <= PERMITS, "{before} + {n}");
                    if random.below(8) == 0 {
                        yield_now();
                    }
                    used.fetch_sub(n, Ordering::Relaxed);
                    drop(permit);
                }
            }
            let (semaphore, used) = (Arc::new(Semaphore::new(PERMITS)), Arc::new(AtomicUsize::new(0)));
            let users: Vec<_> = (0..16)
                .map(|seed| {
                    let (semaphore, used) = (Arc::clone(&semaphore), Arc::clone(&used));
                    go(move || turns(&semaphore, &used, seed))
                })
                .collect();
            std::thread::scope(|s| {
                for seed in 16..19 {
                    let (semaphore, used) = (&semaphore, &used);
                    s.spawn(move || turns(semaphore, used, seed));
                }
            });
            join_all(users);
            let panics = catch_unwind(AssertUnwindSafe(|| {
                let _permits = semaphore.acquire_many(3);
                panic!("with permits");
            }));
            assert!(panics.is_err());
            assert_eq!(format!("{semaphore:?}"), "Semaphore { available: 5 }");
        });
    });
    for procs in [1, 2, 8] {
        limits.clone().procs(procs).run().ok();
    }
}

/// First come, first served: a big request at the head keeps smaller ones behind it waiting, and
/// `try_acquire` out.
#[test]
fn a_semaphore_serves_in_order() {
    let order = child("a_semaphore_serves_in_order", || {
        gosched::run(|| {
            let (semaphore, log) = (Arc::new(Semaphore::new(2)), Arc::new(Mutex::new(Vec::new())));
            let askers: Vec<_> = [3, 1, 2, 1]
                .into_iter()
                .enumerate()
                .map(|(before, n)| {
                    let (semaphore, log) = (Arc::clone(&semaphore), Arc::clone(&log));
                    let asker = go(move || {
                        std::mem::forget(semaphore.acquire_many(n));
                        log.lock().unwrap().push(n);
                    });
                    until_waiting("semacquire", before + 1);
                    asker
                })
                .collect();
            assert!(semaphore.try_acquire().is_none(), "the first in line wants 3");
            let steps = [(&[3][..], 0), (&[3, 1], 0), (&[3, 1], 1), (&[3, 1, 2], 0), (&[3, 1, 2, 1], 0)];
            for (served, left) in steps {
                semaphore.release();
                assert_eq!(
                    (waiting("semacquire"), semaphore.available()),
                    (4 - served.len(), left),
                    "{served:?}"
                );
                while log.lock().unwrap().len() < served.len() {
                    yield_now();
                }
                assert_eq!(*log.lock().unwrap(), served);
            }
            join_all(askers);
            assert_eq!(semaphore.available(), 0);
        });
    });
    order.procs(1).run().ok();
}

/// The first error is returned, once, and cancels the context; success does not. The group can be
/// used again.
#[gosched::test]
fn an_err_group_returns_the_first_error() {
    let group = ErrGroup::new();
    for _ in 0..10 {
        group.go(|| Ok(()));
    }
    assert_eq!(group.wait(), Ok(()));
    assert!(!group.context().is_cancelled());
    group.go(|| Err("first"));
    // Ends because the first one failed.
    group.go(|| time::sleep(Duration::from_secs(3600)).map_err(|_| "second"));
    assert_eq!(group.wait(), Err("first"));
    assert!(group.context().is_cancelled());
    assert_eq!(group.wait(), Ok(()), "an error is returned once");
    group.go(|| Err("again"));
    assert_eq!(group.wait(), Err("again"));
}

/// The group's context is derived from the current one, and its members run under it.
#[gosched::test]
fn an_err_group_is_part_of_its_context() {
    let outer = context::background().with_value(7);
    let group: ErrGroup<String> = context::enter(&outer, ErrGroup::new);
    assert_eq!(group.context().value::<i32>().as_deref(), Some(&7));
    group.go(|| {
        assert_eq!(context::current().value::<i32>().as_deref(), Some(&7));
        time::sleep(Duration::from_secs(3600)).map_err(|error| error.to_string())
    });
    assert_eq!(context::current().value::<i32>(), None);
    outer.cancel();
    assert_eq!(group.wait().unwrap_err(), "context canceled");
    assert!(group.context().is_cancelled());
}

/// No more members than the limit run at the same time; `go` waits for a place, however the
/// previous member ended.
#[gosched::test]
fn an_err_group_keeps_its_limit() {
    let group = ErrGroup::with_limit(3);
    let running = Arc::new(AtomicUsize::new(0));
    for i in 0..60 {
        let running = Arc::clone(&running);
        group.go(move || {
            let now = running.fetch_add(1, Ordering::Relaxed) + 1;
            assert!(now <= 3, "{now} at once");
            yield_now();
            running.fetch_sub(1, Ordering::Relaxed);
            match i % 4 {
                0 => Err(i),
                1 => goexit(),
                _ => Ok(()),
            }
        });
    }
    assert!(group.wait().is_err_and(|i| i % 4 == 0));
    assert_eq!(running.load(Ordering::Relaxed), 0);
    assert!(catch_unwind(|| ErrGroup::<()>::with_limit(0)).is_err());
}

/// A member's panic resumes in `wait`, with its payload, when all have ended; it cancels the
/// context.
#[gosched::test]
fn an_err_group_passes_a_panic_on() {
    let group = ErrGroup::with_limit(2);
    let ended = Arc::new(AtomicUsize::new(0));
    for i in 0..10 {
        let ended = Arc::clone(&ended);
        group.go(move || {
            yield_now();
            ended.fetch_add(1, Ordering::Relaxed);
            match i {
                3 => panic!("of member 3"),
                _ => Err(i),
            }
        });
    }
    let panic = catch_unwind(AssertUnwindSafe(|| group.wait())).unwrap_err();
    assert_eq!((said(panic).as_str(), ended.load(Ordering::Relaxed)), ("of member 3", 10));
    assert!(group.context().is_cancelled());
    assert_eq!(group.wait(), Ok(()));
}

/// An error's destructor may call the library, also use the group; one that panics does not affect
/// the group.
#[gosched::test]
fn an_err_group_drops_errors_outside() {
    struct Uses(Arc<ErrGroup<Uses>>, bool);
    impl Drop for Uses {
        fn drop(&mut self) {
            drop(self.0.context());
            yield_now();
            if self.1 && !std::thread::panicking() {
                panic!("in a destructor");
            }
        }
    }
    let group = Arc::new(ErrGroup::new());
    for i in 0..10 {
        let error = Uses(Arc::clone(&group), i > 0);
        group.go(move || Err(error));
    }
    let first = catch_unwind(AssertUnwindSafe(|| group.wait().unwrap_err()));
    let _ = catch_unwind(AssertUnwindSafe(|| drop(first)));
    assert!(group.wait().is_ok());
}
