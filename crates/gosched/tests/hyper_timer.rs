//! The timer for hyper (feature `hyper`): the task that awaits it is woken, on any executor (S46,
//! S47).
#![cfg(feature = "hyper")]

mod common;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use common::{child, join_all};
use gosched::future::{block_on, hyper::Timer};
use gosched::{go, runtime};
use hyper::rt::{Sleep, Timer as _};

const SHORT: Duration = Duration::from_millis(5);
const NEVER: Duration = Duration::from_secs(3600);

type Sleeping = Pin<Box<dyn Sleep>>;

/// Polls once, with the waker of the surrounding task.
async fn poll_once(sleep: &mut Sleeping) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx))).await
}

/// Sleeps of different lengths, many at once; and one that is over before it begins.
#[gosched::test]
fn sleeps_end_in_time() {
    let sleepers = (0..100u32).map(|i| {
        go(move || {
            let (began, length) = (Instant::now(), SHORT * (i % 5));
            block_on(Timer.sleep(length));
            assert!(began.elapsed() >= length);
        })
    });
    join_all(sleepers.collect::<Vec<_>>());
    block_on(Timer.sleep_until(Instant::now() - Duration::from_millis(1)));
}

/// A sleep beyond the range of `Instant` does not panic, does not end, and can be reset. The same
/// holds for one until the last possible `Instant`.
#[gosched::test]
fn the_longest_sleeps() {
    let last = (0..64)
        .rev()
        .fold(Instant::now(), |last, bit| last.checked_add(Duration::from_secs(1 << bit)).unwrap_or(last));
    let (sender, _woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tell(sender, AtomicUsize::new(0))));
    for mut sleep in [Timer.sleep(Duration::MAX), Timer.sleep_until(last)] {
        // Polled by another executor, and by ours; twice, since only the second poll asks the
        // clock.
        for _ in 0..2 {
            assert_eq!(sleep.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        }
        block_on(async {
            for _ in 0..2 {
                assert_eq!(poll_once(&mut sleep).await, Poll::Pending);
            }
            Timer.reset(&mut sleep, last);
            assert_eq!(poll_once(&mut sleep).await, Poll::Pending);
            Timer.reset(&mut sleep, Instant::now() + SHORT);
            sleep.await;
        });
    }
}

/// S18: a sleep on a foreign thread.
#[test]
fn a_foreign_thread_sleeps() {
    let began = Instant::now();
    block_on(Timer.sleep(SHORT));
    assert!(began.elapsed() >= SHORT);
}

/// A reset while a task waits: the new time counts, earlier or later.
#[gosched::test]
fn reset_while_awaited() {
    block_on(async {
        let (began, mut sleep) = (Instant::now(), Timer.sleep(NEVER));
        assert_eq!(poll_once(&mut sleep).await, Poll::Pending);
        Timer.reset(&mut sleep, began + SHORT);
        sleep.await;
        assert!(began.elapsed() >= SHORT);

        let (began, mut sleep) = (Instant::now(), Timer.sleep(SHORT));
        assert_eq!(poll_once(&mut sleep).await, Poll::Pending);
        Timer.reset(&mut sleep, began + 4 * SHORT);
        sleep.await;
        assert!(began.elapsed() >= 4 * SHORT);

        // One that nobody has awaited yet.
        let (began, mut sleep) = (Instant::now(), Timer.sleep(NEVER));
        Timer.reset(&mut sleep, began + SHORT);
        sleep.await;
        assert!(began.elapsed() >= SHORT);
    });
}

/// A sleep that is passed on wakes the task that polled it last: here another goroutine.
#[gosched::test]
fn passed_on_to_another_task() {
    let (sender, receiver) = gosched::chan::bounded(1);
    let first = go(move || {
        let mut sleep = Timer.sleep(SHORT);
        block_on(async { assert_eq!(poll_once(&mut sleep).await, Poll::Pending) });
        sender.send(sleep).unwrap();
    });
    let second = go(move || block_on(receiver.recv().unwrap()));
    join_all(vec![first, second]);
}

/// The waker of another executor.
struct Tell(mpsc::Sender<()>, AtomicUsize);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        // Nobody may listen any more.
        let _ = self.0.send(());
    }
}

/// Another executor awaits it; then a `block_on` of ours does; then the other one again.
#[test]
fn other_executors_are_woken() {
    let (sender, woken) = mpsc::channel();
    let tell = Arc::new(Tell(sender, AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&tell));
    let mut cx = Context::from_waker(&waker);
    let mut sleep = Timer.sleep(SHORT);
    assert_eq!(sleep.as_mut().poll(&mut cx), Poll::Pending);
    woken.recv().unwrap();
    assert_eq!(sleep.as_mut().poll(&mut cx), Poll::Ready(()));

    let mut sleep = Timer.sleep(SHORT);
    assert_eq!(sleep.as_mut().poll(&mut cx), Poll::Pending);
    block_on(async {
        let _ = poll_once(&mut sleep).await;
    });
    while sleep.as_mut().poll(&mut cx).is_pending() {
        woken.recv().unwrap();
    }
    assert!(tell.1.load(Ordering::Relaxed) >= 1);
}

/// Sleeps that are dropped before their time start no goroutine and wake no task of another
/// executor. (A `block_on` keeps one timer armed, to use again.)
#[test]
fn dropped_in_time() {
    child("dropped_in_time", || gosched::run(drop_many)).limit(Duration::from_secs(60)).run().ok();
}

fn drop_many() {
    let (sender, woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Tell(sender, AtomicUsize::new(0))));
    block_on(async {
        for _ in 0..20_000 {
            let mut sleep = Timer.sleep(NEVER);
            assert_eq!(poll_once(&mut sleep).await, Poll::Pending);
            let mut foreign = Timer.sleep(NEVER);
            assert_eq!(foreign.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        }
        Timer.sleep(SHORT).await;
    });
    assert_eq!(runtime::num_goroutine(), 1);
    assert!(woken.try_recv().is_err());
}

/// The timer of a dropped sleep is used again for the next sleep of the same task, which does not
/// end early.
#[gosched::test]
fn one_after_the_other() {
    block_on(async {
        for dropped in [SHORT, NEVER, Duration::ZERO] {
            let mut sleep = Timer.sleep(dropped);
            let _ = poll_once(&mut sleep).await;
            drop(sleep);
            let began = Instant::now();
            Timer.sleep(4 * SHORT).await;
            assert!(began.elapsed() >= 4 * SHORT);
        }
    });
}

/// A sleep outlives the `block_on` that polled it, and ends in the next one.
#[gosched::test]
fn outlives_its_task() {
    let mut sleep = Timer.sleep(SHORT);
    let mut other = Timer.sleep(NEVER);
    block_on(async {
        let _ = poll_once(&mut sleep).await;
        assert_eq!(poll_once(&mut other).await, Poll::Pending);
    });
    drop(other);
    block_on(sleep);
}

/// Sleeps end while they are dropped or reset, on many goroutines at once.
#[gosched::test]
fn set_and_dropped_while_they_ring() {
    let goroutines = (0..16u32).map(|i| {
        go(move || {
            block_on(async {
                for round in 0..2_000u32 {
                    let length = Duration::from_micros(u64::from((round * 7 + i) % 60));
                    let mut sleep = Timer.sleep(length);
                    let _ = poll_once(&mut sleep).await;
                    match round % 4 {
                        0 => sleep.await,
                        1 => drop(sleep),
                        2 => Timer.reset(&mut sleep, Instant::now() + length),
                        _ => {
                            Timer.reset(&mut sleep, Instant::now() + length);
                            sleep.await;
                        }
                    }
                }
            });
        })
    });
    join_all(goroutines.collect::<Vec<_>>());
}
