//! Foreign code that panics where the library calls it: wakers that are called, cloned and dropped,
//! and values that are dropped. All other waiters are woken, nothing is lost, and the first panic
//! resumes in the caller (S44, D6).
//!
//! Seen to fail (2026-11-18): a `close` that stops at the first waker that panics (25 of 40
//! goroutines were never told); a received value that is forgotten; a future that forgets its place
//! in the queue when its new waker can't be cloned; values that are leaked behind one whose
//! destructor panics.

mod common;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;

use common::{child, join_all, until_waiting};
use gosched::chan::{Receiver, RecvError, Sender, TryRecvError, bounded, unbounded};
use gosched::{go, select};

/// A waker that panics when it is called, with its number.
struct Bad(usize);

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        panic!("bad waker {}", self.0);
    }
}

fn bad(number: usize) -> Waker {
    Waker::from(Arc::new(Bad(number)))
}

/// A waker that panics when it is cloned, or one that panics when it is dropped.
fn bad_to(clone: bool, drop: bool) -> Waker {
    fn vtable(data: *const ()) -> &'static RawWakerVTable {
        const fn table(
            clone: unsafe fn(*const ()) -> RawWaker,
            drop: unsafe fn(*const ()),
        ) -> RawWakerVTable {
            RawWakerVTable::new(clone, |_| (), |_| (), drop)
        }
        static CLONE: RawWakerVTable = table(|_| panic!("a bad clone"), |_| ());
        static DROP: RawWakerVTable =
            table(|data| RawWaker::new(data, vtable(data)), |_| panic!("a bad drop"));
        if data.is_null() { &CLONE } else { &DROP }
    }
    assert!(clone != drop);
    let data = if clone { std::ptr::null() } else { std::ptr::dangling() };
    // SAFETY: the functions touch nothing.
    unsafe { Waker::from_raw(RawWaker::new(data, vtable(data))) }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// What `f` panicked with.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("it panics");
    panic
        .downcast_ref::<String>()
        .cloned()
        .unwrap_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string())
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Closes in different ways while 40 goroutines and some tasks with bad wakers wait for values.
fn close_by(close: fn(Sender<u8>)) {
    let (s, r) = bounded::<u8>(0);
    let mut tasks: Vec<_> = (0..3).map(|_| r.recv_async()).collect();
    let told = Arc::new(AtomicUsize::new(0));
    let mut goroutines = Vec::new();
    for i in 0..40 {
        if i % 15 == 0 {
            assert!(poll(&mut tasks[i / 15], &bad(i / 15)).is_pending());
        }
        let (r, told) = (r.clone(), Arc::clone(&told));
        goroutines.push(go(move || {
            assert_eq!(r.recv(), Err(RecvError));
            told.fetch_add(1, Ordering::Relaxed);
        }));
        until_waiting("chan receive", i + 1);
    }
    assert_eq!(panic_of(|| close(s)), "bad waker 0");
    join_all(goroutines);
    assert_eq!(told.load(Ordering::Relaxed), 40);
    for task in &mut tasks {
        assert_eq!(poll(task, Waker::noop()), Poll::Ready(Err(RecvError)));
    }
}

/// S44: a close ends all waits although wakers panic; the first panic resumes in the caller.
#[test]
fn close_tells_all() {
    let body = || {
        gosched::run(|| {
            close_by(|s| assert!(s.close()));
            close_by(drop);
        });
    };
    for procs in [1, 2, 8] {
        child("close_tells_all", body).procs(procs).limit(Duration::from_secs(20)).run().ok();
    }
}

/// The values that nobody can receive any more are dropped although a waker panics.
#[gosched::test]
fn the_last_receiver_drops_the_values() {
    let (s, r) = bounded(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    (0..2).for_each(|_| s.try_send(Counted(Arc::clone(&dropped))).map_err(drop).unwrap());
    let mut waiting = s.send_async(Counted(Arc::clone(&dropped)));
    assert!(poll(&mut waiting, &bad(7)).is_pending());
    assert_eq!(panic_of(|| drop(r)), "bad waker 7");
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    drop(waiting);
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
}

/// A value that was taken goes back to the channel if the sender's waker panics: the next receiver
/// gets it, and first.
#[gosched::test]
fn a_value_that_was_taken_goes_back() {
    type Take = fn(&Receiver<u32>);
    let ways: [(&str, Take); 4] = [
        ("recv", |r| assert!(r.recv().is_ok())),
        ("try_recv", |r| assert!(r.try_recv().is_ok())),
        ("select", |r| {
            select! {
                recv(r) -> value => assert!(value.is_ok()),
            }
        }),
        ("recv_async", |r| assert!(poll(&mut r.recv_async(), Waker::noop()).is_ready())),
    ];
    for (name, take) in ways {
        let (s, r) = bounded(1);
        s.try_send(1).unwrap();
        let mut waiting = s.send_async(2);
        assert!(poll(&mut waiting, &bad(1)).is_pending());
        assert_eq!(panic_of(|| take(&r)), "bad waker 1", "{name}");
        assert!(matches!(poll(&mut waiting, Waker::noop()), Poll::Ready(Ok(()))), "{name}");
        assert_eq!(r.try_iter().collect::<Vec<_>>(), [1, 2], "{name}");
        s.try_send(3).unwrap();
        assert_eq!(r.try_recv(), Ok(3), "{name}");
    }
}

/// A `select` whose send meets a task with a panicking waker: the value is delivered, and the panic
/// resumes.
#[gosched::test]
fn a_select_that_sends_wakes_both() {
    let (s, r) = bounded(1);
    let mut receiving = r.recv_async();
    assert!(poll(&mut receiving, &bad(2)).is_pending());
    let sent = panic_of(|| {
        select! {
            send(s, 5) -> sent => sent.unwrap(),
        }
    });
    assert_eq!(sent, "bad waker 2");
    assert_eq!(poll(&mut receiving, Waker::noop()), Poll::Ready(Ok(5)));
}

/// A task that is polled again with a waker that can't be cloned keeps its place in the queue, and
/// no value is lost.
#[gosched::test]
fn a_waker_that_cannot_be_cloned() {
    let (s, r) = bounded(1);
    let mut receiving = r.recv_async();
    assert!(poll(&mut receiving, Waker::noop()).is_pending());
    assert_eq!(panic_of(|| poll(&mut receiving, &bad_to(true, false))), "a bad clone");
    s.send(1).unwrap();
    assert_eq!(poll(&mut receiving, Waker::noop()), Poll::Ready(Ok(1)));

    // If it is dropped instead, no value is lost.
    let mut receiving = r.recv_async();
    assert!(poll(&mut receiving, Waker::noop()).is_pending());
    panic_of(|| poll(&mut receiving, &bad_to(true, false)));
    drop(receiving);
    s.send(2).unwrap();
    assert_eq!(r.try_recv(), Ok(2));

    s.send(3).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let (counted, none) = bounded(0);
    let mut sending = counted.send_async(Counted(Arc::clone(&dropped)));
    assert!(poll(&mut sending, Waker::noop()).is_pending());
    panic_of(|| poll(&mut sending, &bad_to(true, false)));
    drop(sending);
    assert!(matches!(none.try_recv(), Err(TryRecvError::Empty)));
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let mut fresh = counted.send_async(Counted(Arc::clone(&dropped)));
    panic_of(|| poll(&mut fresh, &bad_to(true, false)));
    drop(fresh);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

/// A task whose old waker panics when it is dropped keeps its place, too.
#[gosched::test]
fn a_waker_that_cannot_be_dropped() {
    let (s, r) = bounded(1);
    let mut receiving = r.recv_async();
    let waker = std::mem::ManuallyDrop::new(bad_to(false, true));
    assert!(poll(&mut receiving, &waker).is_pending());
    assert_eq!(panic_of(|| poll(&mut receiving, Waker::noop())), "a bad drop");
    s.send(1).unwrap();
    assert_eq!(poll(&mut receiving, Waker::noop()), Poll::Ready(Ok(1)));
}

/// S44: if the destructor of a value panics, the other values are dropped all the same, and the
/// channels in them close.
#[gosched::test]
fn a_value_that_cannot_be_dropped() {
    struct Bomb(usize, #[allow(dead_code)] Option<Sender<u8>>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0.is_multiple_of(7), "bomb {}", self.0);
        }
    }
    let (s, r) = unbounded();
    let mut waiting = Vec::new();
    for i in 1..40 {
        let (held, awaited) = bounded::<u8>(0);
        s.send(Bomb(i, Some(held))).unwrap();
        waiting.push(go(move || assert_eq!(awaited.recv(), Err(RecvError))));
    }
    assert_eq!(panic_of(|| drop(r)), "bomb 7");
    join_all(waiting);
    assert!(s.send(Bomb(1, None)).is_err());
}
