//! `sync::RwLock`: many read or one writes; neither side starves the other; poison by writers only
//! (S18).

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::{Random, child, compute_for, join_all, until_waiting};
use gosched::sync::{Arc, Barrier, RwLock, RwLockWriteGuard, TryLockError};
use gosched::{go, yield_now};

/// Two numbers that only a writer may see unequal.
struct Pair(u64, u64);

fn turns(lock: &RwLock<Pair>, seed: u64, n: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut written = 0;
    for _ in 0..n {
        if random.below(4) > 0 {
            let pair = lock.read().unwrap();
            let first = pair.0;
            match random.below(32) {
                0 => yield_now(),
                1 => compute_for(Duration::from_micros(10)),
                _ => {}
            }
            assert_eq!((pair.0, pair.1), (first, first), "a writer beside a reader");
        } else {
            let mut pair = lock.write().unwrap();
            pair.0 += 1;
            match random.below(32) {
                0 => yield_now(),
                1 => gosched::sleep(Duration::from_micros(20)),
                _ => {}
            }
            pair.1 += 1;
            assert_eq!(pair.0, pair.1, "two writers");
            written += 1;
            if random.below(4) == 0 {
                let pair = RwLockWriteGuard::downgrade(pair);
                assert_eq!(pair.0, pair.1);
            }
        }
    }
    written
}

/// S18: readers and writers, goroutines and foreign threads.
#[test]
fn readers_and_writers_keep_apart() {
    let apart = child("readers_and_writers_keep_apart", || {
        gosched::run(|| {
            let each = if cfg!(debug_assertions) { 500 } else { 4000 };
            let lock = Arc::new(RwLock::new(Pair(0, 0)));
            let goroutines: Vec<_> = (0..16)
                .map(|seed| {
                    let lock = Arc::clone(&lock);
                    go(move || turns(&lock, seed, each))
                })
                .collect();
            let foreign: u64 = std::thread::scope(|s| {
                let threads: Vec<_> = (16..19)
                    .map(|seed| {
                        s.spawn({
                            let lock = &lock;
                            move || turns(lock, seed, each)
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            let written: u64 = join_all(goroutines).into_iter().sum();
            assert_eq!(lock.read().unwrap().0, written + foreign);
        });
    });
    for procs in [1, 2, 8] {
        apart.clone().procs(procs).run().ok();
    }
}

/// Readers that overlap all the time do not keep a writer out.
#[test]
fn readers_do_not_starve_a_writer() {
    let starve = child("readers_do_not_starve_a_writer", || {
        gosched::run(|| {
            let lock = Arc::new(RwLock::new(0_u32));
            let (stop, inside) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let readers: Vec<_> = (0..4)
                .map(|_| {
                    let (lock, stop, inside) = (Arc::clone(&lock), Arc::clone(&stop), Arc::clone(&inside));
                    go(move || {
                        while !stop.load(Ordering::Relaxed) {
                            let _reader = lock.read().unwrap();
                            inside.fetch_add(1, Ordering::Relaxed);
                            // Leaves when another reader has come in: without a writer the lock is
                            // never free.
                            for _ in 0..100 {
                                if inside.load(Ordering::Relaxed) > 1 {
                                    break;
                                }
                                yield_now();
                            }
                            inside.fetch_sub(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            for _ in 0..50 {
                *lock.write().unwrap() += 1;
                yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            join_all(readers);
            assert_eq!(*lock.read().unwrap(), 50);
        });
    });
    for procs in [1, 2, 8] {
        starve.clone().procs(procs).run().ok();
    }
}

/// Writers that take turns do not keep readers out.
#[test]
fn writers_do_not_starve_a_reader() {
    let starve = child("writers_do_not_starve_a_reader", || {
        gosched::run(|| {
            let (lock, stop) = (Arc::new(RwLock::new(0_u64)), Arc::new(AtomicBool::new(false)));
            let writers: Vec<_> = (0..4)
                .map(|_| {
                    let (lock, stop) = (Arc::clone(&lock), Arc::clone(&stop));
                    go(move || {
                        while !stop.load(Ordering::Relaxed) {
                            *lock.write().unwrap() += 1;
                            yield_now();
                        }
                    })
                })
                .collect();
            for _ in 0..200 {
                drop(lock.read().unwrap());
                yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            join_all(writers);
        });
    });
    for procs in [1, 2, 8] {
        starve.clone().procs(procs).run().ok();
    }
}

/// A waiting writer keeps new readers out; when it unlocks, all waiting readers get the lock
/// together, before the next writer.
#[test]
fn readers_come_in_together() {
    let together = child("readers_come_in_together", || {
        gosched::run(|| {
            let lock = Arc::new(RwLock::new(0));
            let reader = lock.read().unwrap();
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    let lock = Arc::clone(&lock);
                    go(move || *lock.write().unwrap() += 1)
                })
                .collect();
            until_waiting("sync.RWMutex.Lock", 2);
            assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)), "a writer waits");
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
            // Each waits inside until all are.
            let all = Arc::new(Barrier::new(10));
            let readers: Vec<_> = (0..10)
                .map(|_| {
                    let (lock, all) = (Arc::clone(&lock), Arc::clone(&all));
                    go(move || {
                        let value = lock.read().unwrap();
                        all.wait();
                        *value
                    })
                })
                .collect();
            until_waiting("sync.RWMutex.RLock", 10);
            drop(reader);
            assert_eq!(join_all(readers), [1; 10], "after one writer, before the other");
            join_all(writers);
            assert_eq!(*lock.read().unwrap(), 2);
        });
    });
    together.procs(1).env("GOSCHED_DEBUG", "randomize=0").run().ok();
}

/// A writer that becomes a reader lets waiting readers in, and no writer before them.
#[test]
fn downgrading_lets_readers_in() {
    let downgrade = child("downgrading_lets_readers_in", || {
        gosched::run(|| {
            let lock = Arc::new(RwLock::new(1));
            let mut writer = lock.write().unwrap();
            let [reads, writes] = [false, true].map(|writes| {
                let lock = Arc::clone(&lock);
                go(move || {
                    if writes {
                        *lock.write().unwrap() = 3;
                        3
                    } else {
                        *lock.read().unwrap()
                    }
                })
            });
            until_waiting("sync.RWMutex.RLock", 1);
            until_waiting("sync.RWMutex.Lock", 1);
            *writer = 2;
            let reader = RwLockWriteGuard::downgrade(writer);
            assert_eq!(reads.join().unwrap(), 2);
            assert_eq!(*reader, 2);
            drop(reader);
            assert_eq!(writes.join().unwrap(), 3);
            assert_eq!(*lock.read().unwrap(), 3);
        });
    });
    for procs in [1, 2] {
        downgrade.clone().procs(procs).run().ok();
    }
}

/// S11: a panicking writer poisons, a panicking reader does not; both let go.
#[gosched::test]
fn only_writers_poison() {
    let lock = Arc::new(RwLock::new(0));
    for writes in [false, true] {
        let other = Arc::clone(&lock);
        let panics = go(move || {
            let _guards = if writes {
                (None, Some(other.write().unwrap()))
            } else {
                (Some(other.read().unwrap()), None)
            };
            panic!("while holding");
        });
        assert!(panics.join().is_err());
        assert_eq!(lock.is_poisoned(), writes);
    }
    assert!(lock.read().is_err() && lock.write().is_err());
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    lock.clear_poison();
    *lock.write().unwrap() = 5;
    let mut lock = Arc::into_inner(lock).unwrap();
    assert_eq!(*lock.get_mut().unwrap(), 5);
    assert_eq!(lock.into_inner().unwrap(), 5);
}

/// `Debug` and `Display` give what those of std give.
#[gosched::test]
fn debug_output_is_that_of_std() {
    let (ours, std) = (RwLock::new("x"), std::sync::RwLock::new("x"));
    assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
    {
        let (held, std_held) = (ours.write().unwrap(), std.write().unwrap());
        assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
        assert_eq!(format!("{held:?} {held}"), format!("{std_held:?} {std_held}"));
    }
    {
        let (held, std_held) = (ours.read().unwrap(), std.read().unwrap());
        assert_eq!(format!("{ours:?} {held:?} {held}"), format!("{std:?} {std_held:?} {std_held}"));
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guards = (ours.write().unwrap(), std.write().unwrap());
        panic!("poisons both");
    }));
    assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
}

/// As std's: `const fn new`, for unsized values, `From` and `Default`.
#[gosched::test]
fn it_is_as_versatile_as_std() {
    static WORDS: RwLock<[&str; 2]> = RwLock::new(["a", "b"]);
    let unsized_one: &RwLock<[&str]> = &WORDS;
    unsized_one.write().unwrap()[0] = "c";
    assert_eq!(*WORDS.read().unwrap(), ["c", "b"]);
    assert_eq!(*RwLock::from(5).read().unwrap(), 5);
    assert_eq!(RwLock::<u8>::default().into_inner().unwrap(), 0);
}
