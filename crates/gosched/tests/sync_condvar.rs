//! `sync::Condvar` and `sync::Barrier`: no notification is lost, none is spent on one that timed
//! out (S18).

mod common;

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Random, child, join_all, until_waiting, waiting};
use gosched::sync::{Arc, Barrier, Condvar, Mutex};
use gosched::{go, yield_now};

/// A queue with a limit, as a textbook has it.
struct Buffer {
    items: Mutex<VecDeque<u64>>,
    not_empty: Condvar,
    not_full: Condvar,
}

const CAPACITY: usize = 3;

impl Buffer {
    fn put(&self, item: u64) {
        let mut items =
            self.not_full.wait_while(self.items.lock().unwrap(), |items| items.len() == CAPACITY).unwrap();
        items.push_back(item);
        self.not_empty.notify_one();
    }

    /// Waits with a limit now and then: a time-out must not use up a notification.
    fn take(&self, random: &mut Random) -> u64 {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                drop(items);
                self.not_full.notify_one();
                return item;
            }
            items = if random.below(4) == 0 {
                let limit = Duration::from_micros(random.below(100));
                self.not_empty.wait_timeout(items, limit).unwrap().0
            } else {
                self.not_empty.wait(items).unwrap()
            };
        }
    }
}

/// S18: one notification for each item, and every item is taken; goroutines and foreign threads on
/// both sides.
#[test]
fn no_notification_is_lost() {
    let lost = child("no_notification_is_lost", || {
        gosched::run(|| {
            let each = if cfg!(debug_assertions) { 500 } else { 5000 };
            let buffer = Arc::new(Buffer {
                items: Mutex::default(),
                not_empty: Condvar::new(),
                not_full: Condvar::new(),
            });
            let takers: Vec<_> = (0..5)
                .map(|seed| {
                    let buffer = Arc::clone(&buffer);
                    go(move || {
                        let mut random = Random::new(seed);
                        (0..each).map(|_| buffer.take(&mut random)).sum::<u64>()
                    })
                })
                .collect();
            let putters: Vec<_> = (0..5)
                .map(|_| {
                    let buffer = Arc::clone(&buffer);
                    go(move || (0..each).for_each(|item| buffer.put(item)))
                })
                .collect();
            let foreign: u64 = std::thread::scope(|s| {
                s.spawn(|| (0..each).for_each(|item| buffer.put(item)));
                let taker = s.spawn(|| {
                    let mut random = Random::new(9);
                    (0..each).map(|_| buffer.take(&mut random)).sum::<u64>()
                });
                taker.join().unwrap()
            });
            join_all(putters);
            let taken: u64 = join_all(takers).into_iter().sum();
            assert_eq!(taken + foreign, 6 * (0..each).sum::<u64>());
        });
    });
    for procs in [1, 2, 8] {
        lost.clone().procs(procs).run().ok();
    }
}

/// A wait that times out does not end early, and reports the time-out.
#[gosched::test]
fn a_time_out_comes_in_time() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    for limit in [Duration::ZERO, Duration::from_micros(1), Duration::from_millis(5)] {
        let began = Instant::now();
        let (guard, result) = condvar.wait_timeout(mutex.lock().unwrap(), limit).unwrap();
        assert!(result.timed_out() && began.elapsed() >= limit);
        assert!(mutex.try_lock().is_err(), "the mutex is held again");
        drop(guard);
        let (_, result) = condvar.wait_timeout_while(mutex.lock().unwrap(), limit, |()| true).unwrap();
        assert!(result.timed_out());
    }
    let on_thread = std::thread::scope(|s| {
        let wait = || condvar.wait_timeout(mutex.lock().unwrap(), Duration::from_millis(5)).unwrap().1;
        s.spawn(wait).join().unwrap()
    });
    assert!(on_thread.timed_out());
}

/// A notification ends a wait with a limit, also the longest, and that is not a time-out.
#[gosched::test]
fn a_notification_is_no_time_out() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    for limit in [Duration::MAX, Duration::from_secs(3600)] {
        let other = Arc::clone(&pair);
        let waiter = go(move || {
            let guard = other.0.lock().unwrap();
            let (mut guard, result) = other.1.wait_timeout_while(guard, limit, |ready| !*ready).unwrap();
            *guard = false;
            result.timed_out()
        });
        yield_now();
        *pair.0.lock().unwrap() = true;
        pair.1.notify_one();
        assert!(!waiter.join().unwrap());
    }
}

/// Waiters are notified in the order in which they came, one by each `notify_one`, which is not
/// remembered if nobody waits.
#[test]
fn first_come_first_notified() {
    let order = child("first_come_first_notified", || {
        gosched::run(|| {
            let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
            shared.1.notify_one();
            let waiters: Vec<_> = (0..10)
                .map(|i| {
                    let shared = Arc::clone(&shared);
                    let waiter = go(move || {
                        let guard = shared.0.lock().unwrap();
                        shared.1.wait(guard).unwrap().push(i);
                    });
                    until_waiting("sync.Cond.Wait", i + 1);
                    waiter
                })
                .collect();
            for woken in 1..=10 {
                shared.1.notify_one();
                assert_eq!(waiting("sync.Cond.Wait"), 10 - woken, "one at a time");
                while shared.0.lock().unwrap().len() < woken {
                    yield_now();
                }
            }
            join_all(waiters);
            assert_eq!(*shared.0.lock().unwrap(), (0..10).collect::<Vec<_>>());
        });
    });
    order.procs(1).run().ok();
}

/// `notify_all` wakes all waiters, however many, and none that comes later.
#[gosched::test]
fn all_are_woken() {
    let shared = Arc::new((Mutex::new((0, false)), Condvar::new()));
    let waiters: Vec<_> = (0..1000)
        .map(|_| {
            let shared = Arc::clone(&shared);
            go(move || {
                let mut guard = shared.0.lock().unwrap();
                guard.0 += 1;
                let _ = shared.1.wait_while(guard, |(_, open)| !*open).unwrap();
            })
        })
        .collect();
    while shared.0.lock().unwrap().0 < 1000 {
        yield_now();
    }
    shared.0.lock().unwrap().1 = true;
    shared.1.notify_all();
    join_all(waiters);
    let guard = shared.0.lock().unwrap();
    assert!(
        shared.1.wait_timeout(guard, Duration::from_millis(1)).unwrap().1.timed_out(),
        "nothing is left over"
    );
}

/// One condition variable for two mutexes: std's on this system allows it, so does this.
#[gosched::test]
fn two_mutexes_are_fine() {
    let shared = Arc::new(([Mutex::new(false), Mutex::new(false)], Condvar::new()));
    let waiters: Vec<_> = (0..2)
        .map(|i| {
            let shared = Arc::clone(&shared);
            go(move || drop(shared.1.wait_while(shared.0[i].lock().unwrap(), |ready| !*ready).unwrap()))
        })
        .collect();
    for mutex in &shared.0 {
        yield_now();
        *mutex.lock().unwrap() = true;
        shared.1.notify_all();
    }
    join_all(waiters);
}

/// A wait returns the poison if another goroutine panicked with the mutex locked. A panic in the
/// condition poisons the mutex and releases it.
#[gosched::test]
fn poison_is_seen_and_made() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&shared);
    let waiter = go(move || {
        let guard = other.0.lock().unwrap();
        other.1.wait_while(guard, |n| *n == 0).is_err()
    });
    yield_now();
    let other = Arc::clone(&shared);
    let panics = go(move || {
        let mut guard = other.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *guard = 1;
        other.1.notify_all();
        panic!("under the mutex");
    });
    assert!(panics.join().is_err());
    // It may have come too late to wait: then it locked a poisoned mutex, and `unwrap` said so.
    assert!(waiter.join().unwrap_or(true));
    shared.0.clear_poison();
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let _ = shared.1.wait_while(shared.0.lock().unwrap(), |_| panic!("in the condition"));
    }));
    assert!(panics.is_err() && shared.0.is_poisoned());
    assert!(
        shared.0.try_lock().is_err_and(|error| matches!(error, gosched::sync::TryLockError::Poisoned(_)))
    );
}

/// Rounds of a barrier, goroutines and threads: nobody begins a round before all have ended the
/// last one, and each round has one leader.
#[test]
fn a_barrier_has_rounds() {
    let rounds = child("a_barrier_has_rounds", || {
        gosched::run(|| {
            const ROUNDS: usize = 200;
            let barrier = Arc::new(Barrier::new(8));
            let (arrived, leaders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let member = {
                let (barrier, arrived, leaders) =
                    (Arc::clone(&barrier), Arc::clone(&arrived), Arc::clone(&leaders));
                move || {
                    for round in 1..=ROUNDS {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        if barrier.wait().is_leader() {
                            leaders.fetch_add(1, Ordering::Relaxed);
                        }
                        assert!(
                            arrived.load(Ordering::Relaxed) >= 8 * round,
                            "somebody is missing in round {round}"
                        );
                        assert!(arrived.load(Ordering::Relaxed) <= 8 * (round + 1), "somebody is ahead");
                    }
                }
            };
            let goroutines: Vec<_> = (0..6).map(|_| go(member.clone())).collect();
            let threads = [0, 1].map(|_| std::thread::spawn(member.clone()));
            join_all(goroutines);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(leaders.load(Ordering::Relaxed), ROUNDS);
        });
    });
    for procs in [1, 2, 8] {
        rounds.clone().procs(procs).run().ok();
    }
}

/// As std's: for nobody and for one it does not wait.
#[gosched::test]
fn a_barrier_for_one() {
    for n in [0, 1] {
        let (ours, std) = (Barrier::new(n), std::sync::Barrier::new(n));
        for _ in 0..3 {
            assert_eq!(format!("{:?}", ours.wait()), format!("{:?}", std.wait()));
        }
        assert_eq!(format!("{ours:?}"), format!("{std:?}"));
    }
    assert_eq!(format!("{:?}", Condvar::default()), format!("{:?}", std::sync::Condvar::default()));
}

/// The condition of `wait_while` finds the thread-locals of the thread that it runs on, though the
/// compiler sees a loop around a wait. (Seen to fail in release, where the condition was inlined in
/// the loop.)
#[test]
fn a_condition_finds_the_thread_locals_of_its_thread() {
    std::thread_local!(static HERE: Cell<usize> = const { Cell::new(0) });
    #[inline(never)]
    fn address(of: &Cell<usize>) -> usize {
        std::hint::black_box(std::ptr::from_ref(of).addr())
    }
    #[inline(never)]
    fn here() -> usize {
        HERE.with(address)
    }
    const ROUNDS: usize = 100;
    static WAIT: Mutex<bool> = Mutex::new(true);
    static CHANGED: Condvar = Condvar::new();
    static MOVES: AtomicUsize = AtomicUsize::new(0);
    let waiter = || {
        let (mut wrong, mut before) = (0, here());
        let condition = |wait: &mut bool| {
            wrong += usize::from(HERE.with(address) != here());
            let moved = std::mem::replace(&mut before, here()) != here();
            MOVES.fetch_add(usize::from(moved), Ordering::Relaxed);
            *wait
        };
        drop(CHANGED.wait_while(WAIT.lock().unwrap(), condition).unwrap());
        wrong
    };
    let body = || {
        gosched::run(|| {
            let waiters: Vec<_> = (0..8).map(|_| go(waiter)).collect();
            // Until enough waits have changed threads: on a busy machine none does for a while.
            while MOVES.load(Ordering::Relaxed) < ROUNDS {
                CHANGED.notify_all();
                yield_now();
            }
            *WAIT.lock().unwrap() = false;
            CHANGED.notify_all();
            let wrong: usize = join_all(waiters).into_iter().sum();
            assert_eq!(wrong, 0);
        });
    };
    let name = "a_condition_finds_the_thread_locals_of_its_thread";
    child(name, body).env("GOSCHED_DEBUG", "migrate=1").procs(2).run().ok();
}
