//! Joins that end with the context or at a time, and `done`, which is closed at a goroutine's end.
//!
//! On goroutines and on foreign threads.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{join_all, within};
use gosched::chan::{TryRecvError, bounded, never};
use gosched::context::{Context, ContextError, background, enter};
use gosched::{JoinHandle, future, go, runtime, scope, select, thread, time};

/// Longer than any test may last: a wait that runs this long has missed what should end it.
const FOR_EVER: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(2);
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `f` on a goroutine and on a foreign thread, at the same time.
fn on_both<T: Send + 'static>(f: impl Fn() -> T + Clone + Send + 'static) -> [T; 2] {
    let thread = std::thread::spawn(f.clone());
    [go(f).join().unwrap(), thread.join().unwrap()]
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

/// A goroutine that parks, and ends when it is unparked.
fn parked() -> JoinHandle<Arc<str>> {
    go(|| {
        thread::park();
        Arc::from("result")
    })
}

/// Whether `f` panics because the result was taken by an earlier join.
fn refuses(f: impl FnOnce()) -> bool {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    panic.downcast_ref::<&str>().is_some_and(|text| text.contains("taken by an earlier join"))
}

#[test]
fn a_join_ends_with_the_context_and_can_be_made_again() {
    within(LIMIT, || {
        on_both(|| {
            for (ctx, error) in ending() {
                let mut handle = parked();
                for _ in 0..2 {
                    assert_eq!(enter(&ctx, || handle.join_ctx()).unwrap_err(), error);
                }
                assert!(!handle.is_finished());
                handle.thread().unpark();
                let result = handle.join_ctx().unwrap().unwrap();
                assert_eq!((&*result, Arc::strong_count(&result)), ("result", 1));
                assert!(handle.is_finished());
                // A goroutine that has ended is joined also under a context that has ended.
                let mut ended = go(|| 7);
                while !ended.is_finished() {
                    thread::yield_now();
                }
                assert_eq!(enter(&ctx, || ended.join_ctx()).unwrap().unwrap(), 7);
                let mut panics = go(|| panic!("on purpose"));
                let payload = panics.join_ctx().unwrap().unwrap_err();
                assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
            }
        });
    });
}

#[test]
fn a_join_in_time() {
    within(LIMIT, || {
        on_both(|| {
            let mut handle = parked();
            let began = Instant::now();
            assert!(handle.join_timeout(SHORT).is_none() && began.elapsed() >= SHORT);
            assert!(handle.join_timeout(Duration::ZERO).is_none());
            handle.thread().unpark();
            assert_eq!(&*handle.join_timeout(Duration::MAX).unwrap().unwrap(), "result");
            // The context does not end it.
            let mut handle = parked();
            let thread = handle.thread().clone();
            let waker = go(move || {
                thread::sleep(SHORT);
                thread.unpark();
            });
            let ctx = background().with_timeout(Duration::ZERO);
            assert!(enter(&ctx, || handle.join_timeout(FOR_EVER)).is_some());
            waker.join().unwrap();
            // A plain join after one that timed out.
            let mut handle = parked();
            assert!(handle.join_timeout(Duration::ZERO).is_none());
            handle.thread().unpark();
            assert_eq!(&*handle.join().unwrap(), "result");
        });
    });
}

/// A result can be taken once, whichever way; after that the handle is harmless, and says that the
/// goroutine has ended.
#[test]
fn a_result_can_be_had_once() {
    within(LIMIT, || {
        on_both(|| {
            let taken = || {
                let mut handle = go(|| 1);
                assert_eq!(handle.join_ctx().unwrap().unwrap(), 1);
                handle
            };
            let mut handle = taken();
            // Its header may belong to one of these now.
            let others: Vec<_> = (0..50).map(|_| go(thread::park)).collect();
            assert!(handle.is_finished());
            handle.thread().unpark();
            assert!(refuses(|| drop(handle.join_ctx())));
            assert!(refuses(|| drop(handle.join_timeout(Duration::ZERO))));
            assert_eq!(handle.done().try_recv(), Err(TryRecvError::Disconnected));
            drop(handle);
            assert!(refuses(|| drop(taken().join())));
            assert!(refuses(|| drop(future::block_on(async { taken().await }))));
            assert!(others.iter().all(|other| !other.is_finished()));
            others.iter().for_each(|other| other.thread().unpark());
            join_all(others);
        });
    });
}

#[test]
fn scoped_handles_too() {
    within(LIMIT, || {
        on_both(|| {
            let text = String::from("borrowed");
            for (ctx, error) in ending() {
                scope(|s| {
                    let mut handle = s.spawn(|| {
                        thread::park();
                        text.as_str()
                    });
                    assert_eq!(enter(&ctx, || handle.join_ctx()).unwrap_err(), error);
                    assert!(handle.join_timeout(Duration::ZERO).is_none());
                    let done = handle.done();
                    assert_eq!(done.try_recv(), Err(TryRecvError::Empty));
                    handle.thread().unpark();
                    assert_eq!(handle.join_ctx().unwrap().unwrap(), "borrowed");
                    assert!(done.recv().is_err());
                    assert!(refuses(|| drop(handle.join())));
                    // One whose panic is taken does not panic the scope.
                    s.spawn(|| panic!("on purpose")).join_ctx().unwrap().unwrap_err();
                    // One that nobody joins, while somebody waits for `done`.
                    let handle = s.spawn(|| thread::sleep(SHORT));
                    let done = handle.done();
                    drop(handle);
                    assert!(done.recv().is_err());
                });
            }
        });
    });
}

/// `done` is closed at the end, for all who have it, handle or not, and not before; nobody else can
/// close it.
#[test]
fn done_is_closed_at_the_end() {
    within(LIMIT, || {
        on_both(|| {
            let handle = parked();
            let done = handle.done();
            assert!(done.same_channel(&handle.done()));
            assert_eq!(done.try_recv(), Err(TryRecvError::Empty));
            assert!(!done.close() && !done.is_closed(), "it is not theirs to close");
            select! {
                recv(done) -> _ => panic!("it has not ended"),
                default => {}
            }
            let waiters = vec![go({
                let done = done.clone();
                move || done.recv().is_err()
            })];
            handle.thread().unpark();
            select! {
                recv(never::<u8>()) -> _ => unreachable!(),
                recv(done) -> ended => assert!(ended.is_err()),
            }
            assert!(handle.is_finished() && handle.done().is_closed());
            assert_eq!(join_all(waiters), [true]);
            assert_eq!(&*handle.join().unwrap(), "result");

            // The handle is gone before the end, or after; the result is dropped, once.
            let result = Arc::new(());
            for early in [true, false] {
                let (result, s) = (Arc::clone(&result), bounded::<()>(1));
                let handle = go(move || {
                    s.1.recv().unwrap();
                    result
                });
                let done = handle.done();
                if early {
                    drop(handle);
                    s.0.send(()).unwrap();
                    assert!(done.recv().is_err());
                } else {
                    s.0.send(()).unwrap();
                    assert!(done.recv().is_err());
                    drop(handle);
                }
            }
            assert_eq!(Arc::strong_count(&result), 1);
            // `done` of a goroutine that has ended, and of one that panics.
            let ended = go(|| ());
            while !ended.is_finished() {
                thread::yield_now();
            }
            assert!(ended.done().recv().is_err());
            let panics = go(|| panic!("on purpose"));
            assert!(panics.done().recv().is_err());
            panics.join().unwrap_err();
        });
    });
}

/// A handle that is awaited while somebody else has `done`.
#[gosched::test]
fn done_and_await() {
    let handle = parked();
    let (done, thread) = (handle.done(), handle.thread().clone());
    let waker = go(move || {
        thread::sleep(SHORT);
        thread.unpark();
    });
    assert_eq!(&*future::block_on(async { handle.await }).unwrap(), "result");
    assert!(done.recv().is_err());
    waker.join().unwrap();
    // A future that is dropped while it waits: the goroutine is detached, and `done` is closed all
    // the same.
    let handle = parked();
    let (done, thread) = (handle.done(), handle.thread().clone());
    let mut future = Box::pin(async { handle.await });
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_pending());
    drop(future);
    assert_eq!(done.try_recv(), Err(TryRecvError::Empty));
    thread.unpark();
    assert!(done.recv().is_err());
}

/// A goroutine that joins itself with a limit panics.
#[gosched::test]
fn joining_oneself_is_refused() {
    let (s, r) = bounded::<JoinHandle<()>>(1);
    let handle = go(move || {
        let mut own = r.recv().unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| own.join_timeout(SHORT).is_some())).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("called join on itself"));
    });
    let done = handle.done();
    s.send(handle).unwrap();
    assert!(done.recv().is_err());
}

#[gosched::test]
fn timeout_cuts_short_a_join_with_a_context() {
    let mut handle = parked();
    let late = time::timeout(SHORT, || handle.join_ctx().is_err());
    assert_eq!(late, Err(time::Elapsed));
    handle.thread().unpark();
    handle.join().unwrap();
}

/// Cancellation and time-outs race with the end: a result is taken at once or later; `done` is
/// closed whatever becomes of the handle, and no result is lost or dropped twice.
#[test]
fn joins_against_cancellation() {
    within(LIMIT, || {
        const ROUNDS: u64 = 2_500;
        let (alive, interrupted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let work = {
            let (alive, interrupted) = (Arc::clone(&alive), Arc::clone(&interrupted));
            move || {
                for round in 0..ROUNDS {
                    let ctx = background().with_cancel();
                    alive.fetch_add(1, Ordering::SeqCst);
                    let result = Counted(Arc::clone(&alive));
                    let mut handle = go(move || {
                        for _ in 0..round % 5 {
                            thread::yield_now();
                        }
                        result
                    });
                    let done = (round % 2 == 0).then(|| handle.done());
                    let canceller = {
                        let ctx = ctx.clone();
                        go(move || {
                            for _ in 0..round % 4 {
                                thread::yield_now();
                            }
                            ctx.cancel();
                        })
                    };
                    let joined = match round % 3 {
                        0 => handle.join_timeout(Duration::from_micros(round % 40)).is_some(),
                        _ => enter(&ctx, || handle.join_ctx()).is_ok(),
                    };
                    if !joined {
                        interrupted.fetch_add(1, Ordering::Relaxed);
                        match round % 7 {
                            0..3 => drop(handle.join().unwrap()),
                            3..5 => drop(handle.join_ctx().unwrap().unwrap()),
                            _ => drop(handle),
                        }
                    } else if round % 11 == 0 {
                        assert!(refuses(|| drop(handle.join())));
                    }
                    if let Some(done) = done {
                        assert!(done.recv().is_err());
                    }
                    canceller.join().unwrap();
                }
            }
        };
        let others: Vec<_> = (0..2).map(|_| go(work.clone())).collect();
        on_both(work);
        join_all(others);
        while alive.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        assert!(interrupted.load(Ordering::Relaxed) > 0);
    });
}

/// In a stopped world a goroutine that has ended is joined, a wait under an ended context fails,
/// and what would have to wait panics.
#[test]
fn in_a_stopped_world() {
    within(LIMIT, || {
        on_both(|| {
            let (mut parked, mut ended) = (parked(), go(|| 7));
            while !ended.is_finished() {
                thread::yield_now();
            }
            let over = background().with_timeout(Duration::ZERO);
            runtime::stop_the_world(|_| {
                assert_eq!(ended.join_ctx().unwrap().unwrap(), 7);
                assert!(enter(&over, || parked.join_ctx()).is_err());
                assert!(parked.join_timeout(Duration::ZERO).is_none());
                assert!(catch_unwind(AssertUnwindSafe(|| drop(parked.join_ctx()))).is_err());
                assert!(catch_unwind(AssertUnwindSafe(|| drop(parked.join_timeout(FOR_EVER)))).is_err());
                assert_eq!(parked.done().try_recv(), Err(TryRecvError::Empty));
            });
            parked.thread().unpark();
            assert_eq!(&*parked.join_ctx().unwrap().unwrap(), "result");
        });
    });
}
