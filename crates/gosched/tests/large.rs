//! Closures and results that are large: they are moved as little as possible, so that they fit on a
//! stack of the default size, in a debug build too (S12, S13, D4).
//!
//! Seen to fail (2026-11-18, debug): 32 KiB in a closure, which was copied about eight times on the
//! new goroutine's stack.

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::child;
use gosched::sync::{ErrGroup, WaitGroup};
use gosched::thread::Builder;
use gosched::time::Timer;
use gosched::{go, scope, thread};

const KIB: usize = 1024;

/// A large value with a sum, whose drops are counted.
struct Large<const N: usize>([u8; N], Arc<AtomicUsize>);

impl<const N: usize> Large<N> {
    fn new(ended: &Arc<AtomicUsize>) -> Large<N> {
        Large([1; N], Arc::clone(ended))
    }

    fn sum(&self) -> usize {
        black_box(&self.0).iter().map(|byte| usize::from(*byte)).sum()
    }
}

impl<const N: usize> Drop for Large<N> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

/// One way to start a goroutine with a large closure, and to await its result.
type Way<const N: usize> = (&'static str, fn(&Arc<AtomicUsize>));

fn ways<const N: usize>() -> [Way<N>; 9] {
    [
        ("go", |ended| {
            let large = Large::<N>::new(ended);
            assert_eq!(go(move || large.sum()).join().unwrap(), N);
        }),
        ("spawn", |ended| {
            let large = Large::<N>::new(ended);
            assert_eq!(thread::spawn(move || large.sum()).join().unwrap(), N);
        }),
        ("Builder::spawn", |ended| {
            let large = Large::<N>::new(ended);
            let handle = Builder::new().name("large".into()).spawn(move || large.sum());
            assert_eq!(handle.unwrap().join().unwrap(), N);
        }),
        ("Builder::spawn, refused", |ended| {
            let large = Large::<N>::new(ended);
            assert!(Builder::new().stack_size(usize::MAX).spawn(move || large.sum()).is_err());
        }),
        ("scope", |ended| {
            scope(|s| {
                let large = Large::<N>::new(ended);
                s.spawn(move || assert_eq!(large.sum(), N));
            });
        }),
        ("Builder::spawn_scoped", |ended| {
            scope(|s| {
                let large = Large::<N>::new(ended);
                Builder::new().spawn_scoped(s, move || assert_eq!(large.sum(), N)).unwrap();
            });
        }),
        ("WaitGroup::go", |ended| {
            let group = WaitGroup::new();
            let large = Large::<N>::new(ended);
            group.go(move || assert_eq!(large.sum(), N));
            group.wait();
        }),
        ("ErrGroup::go", |ended| {
            let group = ErrGroup::<usize>::new();
            let large = Large::<N>::new(ended);
            group.go(move || Err(large.sum()));
            assert_eq!(group.wait(), Err(N));
        }),
        ("Timer::after_func", |ended| {
            let large = Large::<N>::new(ended);
            let (s, r) = gosched::chan::bounded(1);
            let timer = Timer::after_func(Duration::from_millis(1), move || s.send(large.sum()).unwrap());
            assert_eq!(r.recv(), Ok(N));
            drop(timer);
        }),
    ]
}

/// Waits until all `n` have been dropped, each once.
fn await_drops(ended: &AtomicUsize, n: usize) {
    while ended.load(Ordering::Relaxed) < n {
        gosched::yield_now();
    }
    assert_eq!(ended.load(Ordering::Relaxed), n);
}

/// S13: 96 KiB in a closure run on the default stack of 256 KiB, however the goroutine is started.
#[test]
fn large_closures_run() {
    let body = || {
        gosched::run(|| {
            let ended = Arc::new(AtomicUsize::new(0));
            for (n, (name, start)) in ways::<{ 96 * KIB }>().into_iter().enumerate() {
                println!("{name}");
                start(&ended);
                await_drops(&ended, n + 1);
            }
        });
    };
    child("large_closures_run", body).procs(2).limit(Duration::from_secs(20)).run().ok();
}

/// S13: a goroutine with the default stack starts others with large closures: besides the value and
/// the closure its stack has room for one copy only.
#[test]
fn large_closures_are_started_from_small_stacks() {
    let body = || {
        gosched::run(|| {
            for (name, start) in ways::<{ 64 * KIB }>() {
                println!("{name}");
                let ended = Arc::new(AtomicUsize::new(0));
                go({
                    let ended = Arc::clone(&ended);
                    move || start(&ended)
                })
                .join()
                .unwrap();
                await_drops(&ended, 1);
            }
            go(|| {
                let large = [1_u8; 64 * KIB];
                assert_eq!(gosched::run(move || black_box(&large).len()), 64 * KIB);
            })
            .join()
            .unwrap();
        });
    };
    let child = child("large_closures_are_started_from_small_stacks", body);
    child.procs(2).limit(Duration::from_secs(20)).run().ok();
}

/// S13: a result of 96 KiB is made on the default stack; one that nobody takes is dropped.
#[test]
fn large_results() {
    const N: usize = 96 * KIB;
    let body = || {
        gosched::run(|| {
            let ended = Arc::new(AtomicUsize::new(0));
            let make = |ended: &Arc<AtomicUsize>| {
                let ended = Arc::clone(ended);
                move || Large::<N>::new(&ended)
            };
            let taken = go(make(&ended)).join().map_err(drop).unwrap();
            assert_eq!(taken.sum(), N);
            drop(taken);
            drop(go(make(&ended)));
            await_drops(&ended, 2);
            let handle = go(make(&ended));
            while !handle.is_finished() {
                gosched::yield_now();
            }
            drop(handle);
            await_drops(&ended, 3);
            let large = Large::<N>::new(&ended);
            let both = go(move || (large.sum(), large)).join().map_err(drop).unwrap();
            assert_eq!((both.0, both.1.sum()), (N, N));
            drop(both);
            await_drops(&ended, 4);
            scope(|s| {
                let handle = s.spawn(make(&ended));
                assert_eq!(handle.join().map_err(drop).unwrap().sum(), N);
            });
            await_drops(&ended, 5);
        });
    };
    child("large_results", body).procs(2).limit(Duration::from_secs(20)).run().ok();
}

/// S11: a large closure, or one with a large result, that panics: what it owned is dropped once,
/// and `join` returns the panic.
#[test]
fn large_ones_that_panic() {
    const N: usize = 96 * KIB;
    let body = || {
        gosched::run(|| {
            let ended = Arc::new(AtomicUsize::new(0));
            let large = Large::<N>::new(&ended);
            let handle = go(move || {
                assert_eq!(large.sum(), 0, "on purpose");
                [0_u8; N]
            });
            assert!(handle.join().is_err());
            await_drops(&ended, 1);
        });
    };
    child("large_ones_that_panic", body).procs(2).limit(Duration::from_secs(20)).run().ok();
}
