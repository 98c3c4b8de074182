//! `sync::Mutex`: one at a time, from goroutines and threads; nobody starves; poison; waiters cost
//! no threads (S18).

mod common;

use std::cell::Cell;
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use common::{Random, child, compute_for, join_all, threads};
use gosched::sync::{Arc, Mutex, TryLockError};
use gosched::{go, yield_now};

/// A value that detects two holders at once.
struct Guarded {
    inside: Cell<bool>,
    value: u64,
}

impl Guarded {
    fn enter(&self) {
        assert!(!self.inside.replace(true), "two hold the lock");
    }

    fn leave(&mut self) {
        self.value += 1;
        assert!(self.inside.replace(false), "two hold the lock");
    }
}

/// Many turns with a lock, of all kinds: short ones, with moving calls inside, tried ones.
fn turns(mutex: &Mutex<Guarded>, seed: u64, n: u64) {
    let mut random = Random::new(seed);
    for _ in 0..n {
        let mut guard = match random.below(8) {
            0 => loop {
                match mutex.try_lock() {
                    Ok(guard) => break guard,
                    Err(_) => yield_now(),
                }
            },
            _ => mutex.lock().unwrap(),
        };
        guard.enter();
        match random.below(64) {
            0 => yield_now(),
            1 => compute_for(Duration::from_micros(20)),
            2 => gosched::sleep(Duration::from_micros(50)),
            _ => {}
        }
        guard.leave();
        drop(guard);
        if random.below(16) == 0 {
            yield_now();
        }
    }
}

fn exclusion() {
    let each = if cfg!(debug_assertions) { 300 } else { 2000 };
    let mutex = Arc::new(Mutex::new(Guarded { inside: Cell::new(false), value: 0 }));
    let goroutines: Vec<_> = (0..16)
        .map(|seed| {
            let mutex = Arc::clone(&mutex);
            go(move || turns(&mutex, seed, each))
        })
        .collect();
    std::thread::scope(|s| {
        for seed in 16..19 {
            let mutex = &mutex;
            s.spawn(move || turns(mutex, seed, each));
        }
    });
    join_all(goroutines);
    assert_eq!(mutex.lock().unwrap().value, 19 * each);
}

/// S18: goroutines and foreign threads never hold a mutex at the same time, and none waits for
/// ever.
#[test]
fn one_at_a_time() {
    let exclusion = child("one_at_a_time", || gosched::run(exclusion));
    for procs in [1, 2, 3, 8] {
        exclusion.clone().procs(procs).run().ok();
    }
}

/// A goroutine that takes the lock again and again, and holds it nearly all the time, does not
/// starve another one, to which it is handed over after a millisecond. Seen to fail with
/// `STARVING_AFTER` at `u64::MAX`.
#[test]
fn a_hog_starves_nobody() {
    let starve = child("a_hog_starves_nobody", || {
        gosched::run(|| {
            let mutex = Arc::new(Mutex::new(()));
            let (turns, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
            let hog = go({
                let (mutex, turns, stop) = (Arc::clone(&mutex), Arc::clone(&turns), Arc::clone(&stop));
                move || {
                    while !stop.load(Ordering::Relaxed) {
                        let _guard = mutex.lock().unwrap();
                        compute_for(Duration::from_micros(100));
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            for _ in 0..20 {
                let before = turns.load(Ordering::Relaxed);
                drop(mutex.lock().unwrap());
                let waited = turns.load(Ordering::Relaxed) - before;
                assert!(waited < 5000, "the hog had {waited} turns meanwhile");
                yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            hog.join().unwrap();
        });
    });
    for procs in [1, 2, 8] {
        starve.clone().procs(procs).run().ok();
    }
}

/// The same with foreign threads as waiter and hog.
#[test]
fn a_hog_starves_no_foreign_thread() {
    common::within(Duration::from_secs(60), || {
        let (mutex, stop) = (Mutex::new(0_u64), AtomicBool::new(false));
        std::thread::scope(|s| {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut guard = mutex.lock().unwrap();
                    compute_for(Duration::from_micros(100));
                    *guard += 1;
                }
            });
            for _ in 0..20 {
                drop(mutex.lock().unwrap());
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// S18: ten thousand that wait for one mutex cost no thread each.
#[test]
fn waiters_cost_no_threads() {
    let many = child("waiters_cost_no_threads", || {
        gosched::run(|| {
            let mutex = Arc::new(Mutex::new(0_u32));
            let started = Arc::new(AtomicUsize::new(0));
            let guard = mutex.lock().unwrap();
            let waiters: Vec<_> = (0..10_000)
                .map(|_| {
                    let (mutex, started) = (Arc::clone(&mutex), Arc::clone(&started));
                    go(move || {
                        started.fetch_add(1, Ordering::Relaxed);
                        *mutex.lock().unwrap() += 1;
                    })
                })
                .collect();
            while started.load(Ordering::Relaxed) < 10_000 {
                yield_now();
            }
            let threads = threads();
            drop(guard);
            join_all(waiters);
            assert_eq!(*mutex.lock().unwrap(), 10_000);
            assert!(threads < 50, "{threads} threads");
        });
    });
    for procs in [1, 2, 8] {
        many.clone().procs(procs).run().ok();
    }
}

/// S20, S40: a holder that computes or blocks its thread, and loses its P meanwhile, still holds
/// the lock, and others get it when it is done.
#[test]
fn a_holder_that_loses_its_p() {
    let lost = child("a_holder_that_loses_its_p", || {
        gosched::run(|| {
            let mutex = Arc::new(Mutex::new(Guarded { inside: Cell::new(false), value: 0 }));
            let holders: Vec<_> = (0..12)
                .map(|i| {
                    let mutex = Arc::clone(&mutex);
                    go(move || {
                        let mut guard = mutex.lock().unwrap();
                        guard.enter();
                        match i % 3 {
                            0 => compute_for(Duration::from_millis(25)),
                            1 => common::block_thread(Duration::from_millis(25)),
                            _ => {
                                gosched::runtime::blocking(|| common::block_thread(Duration::from_millis(5)))
                            }
                        }
                        guard.leave();
                    })
                })
                .collect();
            join_all(holders);
            assert_eq!(mutex.lock().unwrap().value, 12);
        });
    });
    for procs in [1, 2, 8] {
        lost.clone().procs(procs).run().ok();
    }
}

/// S11: a panic of the holder poisons; the guard is in the error; poison can be cleared.
#[gosched::test]
fn a_panic_poisons() {
    let mutex = Arc::new(Mutex::new(1));
    let other = Arc::clone(&mutex);
    let panics = go(move || {
        let mut guard = other.lock().unwrap();
        *guard = 2;
        panic!("while holding");
    });
    assert!(panics.join().is_err());
    assert!(mutex.is_poisoned());
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 2);
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(format!("{:?}", *mutex), "Mutex { data: 2, poisoned: true, .. }");
    mutex.clear_poison();
    assert_eq!(*mutex.lock().unwrap(), 2);
    let mut mutex = Arc::into_inner(mutex).unwrap();
    assert_eq!(*mutex.get_mut().unwrap(), 2);
    assert_eq!(mutex.into_inner().unwrap(), 2);
}

/// S11: a goroutine that already unwinds locks without poisoning, and others may use the same locks
/// meanwhile.
#[gosched::test]
fn only_the_one_that_panics_poisons() {
    struct LocksInDrop(Arc<Mutex<u32>>, Arc<Mutex<()>>);
    impl Drop for LocksInDrop {
        fn drop(&mut self) {
            // Locked while it already panics: that does not poison. And it has to wait, bound to
            // its thread.
            let _other = self.1.lock();
            *self.0.lock().unwrap() += 1;
            yield_now();
        }
    }
    let (count, gate) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(())));
    for _ in 0..20 {
        let closed = gate.lock().unwrap();
        let inside = LocksInDrop(Arc::clone(&count), Arc::clone(&gate));
        let panics = go(move || {
            let _inside = inside;
            panic!("unwinds, and locks while it does");
        });
        yield_now();
        drop(closed);
        let calm = go({
            let count = Arc::clone(&count);
            move || *count.lock().unwrap() += 1
        });
        assert!(panics.join().is_err());
        calm.join().unwrap();
    }
    assert!(!count.is_poisoned() && !gate.is_poisoned());
    assert_eq!(*count.lock().unwrap(), 40);
}

/// A panic releases the mutex, and those who wait get it.
#[gosched::test]
fn a_panicking_holder_lets_go() {
    let mutex = Arc::new(Mutex::new(0));
    let all: Vec<_> = (0..50)
        .map(|i| {
            let mutex = Arc::clone(&mutex);
            go(move || {
                let mut guard = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                *guard += 1;
                yield_now();
                assert!(i % 2 == 0, "every second one fails");
            })
        })
        .collect();
    let failed = all.into_iter().filter_map(|handle| handle.join().err()).count();
    assert_eq!((failed, *mutex.lock().unwrap_err().into_inner()), (25, 50));
}

/// `Debug` and `Display` give what those of std give, in every state, plain and pretty.
#[gosched::test]
fn debug_output_is_that_of_std() {
    let (ours, std) = (Mutex::new("x"), std::sync::Mutex::new("x"));
    assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
    let (held, std_held) = (ours.lock().unwrap(), std.lock().unwrap());
    assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
    assert_eq!(format!("{held:?} {held}"), format!("{std_held:?} {std_held}"));
    drop((held, std_held));
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let _guards = (ours.lock().unwrap(), std.lock().unwrap());
        panic!("poisons both");
    }));
    assert_eq!(format!("{ours:?} {ours:#?}"), format!("{std:?} {std:#?}"));
    let texts = |ours: String, std: String| assert_eq!(ours, std);
    texts(format!("{:?}", ours.lock().unwrap_err()), format!("{:?}", std.lock().unwrap_err()));
    texts(format!("{}", ours.try_lock().unwrap_err()), format!("{}", std.try_lock().unwrap_err()));
}

/// As std's: `const fn new`, small, for unsized values, `From` and `Default`.
#[gosched::test]
fn it_is_as_versatile_as_std() {
    static COUNT: Mutex<[u32; 3]> = Mutex::new([1, 2, 3]);
    assert!(size_of::<Mutex<()>>() <= 24);
    let unsized_one: &Mutex<[u32]> = &COUNT;
    unsized_one.lock().unwrap()[0] = 7;
    assert_eq!(COUNT.lock().unwrap().len(), 3);
    let function: Box<Mutex<dyn FnMut() -> u32 + Send>> = Box::new(Mutex::new(|| 7));
    assert_eq!((function.lock().unwrap())(), 7);
    assert_eq!(*Mutex::from(5).lock().unwrap(), 5);
    assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
}
