//! `handle.await` gives what `join` gives, in any executor, on goroutines and on foreign threads
//! (S18, D6).

mod common;

use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use gosched::thread::{self, Thread};

/// Wakes by `unpark`, and counts.
struct Unparker {
    thread: Thread,
    wakes: AtomicUsize,
}

impl Unparker {
    fn new() -> Arc<Unparker> {
        Arc::new(Unparker { thread: thread::current(), wakes: AtomicUsize::new(0) })
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::Relaxed)
    }
}

impl Wake for Unparker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

/// The smallest executor: polls, parks, polls again. On a goroutine as well as on a foreign thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Unparker::new());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll<T>(future: &mut (impl Future<Output = T> + Unpin), waker: &Arc<Unparker>) -> Poll<T> {
    Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(waker))))
}

/// A goroutine that yields a little before it ends.
fn slow(i: usize) -> thread::JoinHandle<usize> {
    gosched::go(move || {
        (0..i % 4).for_each(|_| gosched::yield_now());
        i
    })
}

async fn sum(n: usize) -> usize {
    let handles: Vec<_> = (0..n).map(slow).collect();
    let mut sum = 0;
    for handle in handles {
        sum += handle.await.unwrap();
    }
    assert!(gosched::go(|| panic!("awaited")).await.is_err());
    sum
}

/// D6: an executor on a goroutine awaits goroutines.
#[gosched::test]
fn await_on_a_goroutine() {
    assert_eq!(block_on(sum(1000)), 499_500);
}

/// D6: and so does one on a foreign thread.
#[test]
fn await_on_a_foreign_thread() {
    common::within(Duration::from_secs(60), || assert_eq!(block_on(sum(1000)), 499_500));
}

/// D6: a future that is polled with several wakers wakes only the last one.
#[gosched::test]
fn the_last_waker_counts() {
    let handle = gosched::go(|| {
        thread::park();
        9
    });
    let thread = handle.thread().clone();
    let mut future = handle.into_future();
    let wakers: Vec<_> = (0..10).map(|_| Unparker::new()).collect();
    for waker in &wakers {
        assert!(poll(&mut future, waker).is_pending());
    }
    assert!(wakers[..9].iter().all(|waker| Arc::strong_count(waker) == 1), "earlier wakers are let go");
    thread.unpark();
    while wakers[9].wakes() == 0 {
        thread::park();
    }
    assert!(wakers[..9].iter().all(|waker| waker.wakes() == 0));
    match poll(&mut future, &wakers[0]) {
        Poll::Ready(value) => assert_eq!(value.unwrap(), 9),
        Poll::Pending => panic!("woken, but not ready"),
    }
}

/// D6: dropping the future early detaches the goroutine, which continues; the waker is dropped and
/// never called.
#[gosched::test]
fn dropped_early() {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    let wakers: Vec<_> = (0..100)
        .map(|i| {
            let (waker, ended) = (Unparker::new(), Arc::clone(&ended));
            let handle = gosched::go(move || {
                thread::park();
                ended.fetch_add(1, Ordering::Relaxed);
            });
            threads.push(handle.thread().clone());
            let mut future = handle.into_future();
            if i % 2 == 0 {
                assert!(poll(&mut future, &waker).is_pending());
            }
            drop(future);
            waker
        })
        .collect();
    assert!(wakers.iter().all(|waker| Arc::strong_count(waker) == 1));
    threads.iter().for_each(Thread::unpark);
    while ended.load(Ordering::Relaxed) < 100 {
        gosched::yield_now();
    }
    assert!(wakers.iter().all(|waker| waker.wakes() == 0));
}

/// D6: dropping and polling race with the goroutine's end: no result is lost, nothing is freed
/// twice.
#[gosched::test(timeout = "120s")]
fn races_with_the_end() {
    let rounds = if cfg!(debug_assertions) { 3_000 } else { 30_000 };
    for i in 0..rounds {
        let waker = Unparker::new();
        let mut future = slow(i).into_future();
        let mut polls = 0;
        let result = loop {
            polls += 1;
            if i % 5 == 0 && polls > i % 3 {
                break None;
            }
            match poll(&mut future, &waker) {
                Poll::Ready(value) => break Some(value.unwrap()),
                Poll::Pending if i % 2 == 0 => gosched::yield_now(),
                Poll::Pending => thread::park(),
            }
        };
        assert!(result.is_none_or(|value| value == i));
    }
}

/// A goroutine that finished before the first poll is ready at once, without a waker being kept.
#[gosched::test]
fn ready_at_once() {
    let handle = gosched::go(|| "done");
    while !handle.is_finished() {
        gosched::yield_now();
    }
    let waker = Unparker::new();
    match poll(&mut handle.into_future(), &waker) {
        Poll::Ready(value) => assert_eq!(value.unwrap(), "done"),
        Poll::Pending => panic!("finished, but not ready"),
    }
    assert_eq!((Arc::strong_count(&waker), waker.wakes()), (1, 0));
}

/// D1, D6: a waker runs as user code: it may use the library, even wait.
#[gosched::test]
fn a_waker_may_use_the_library() {
    struct Busy(Thread, AtomicUsize);
    impl Wake for Busy {
        fn wake(self: Arc<Self>) {
            gosched::yield_now();
            let three = gosched::go(|| 3).join().unwrap();
            self.1.store(three, Ordering::Relaxed);
            self.0.unpark();
        }
    }
    let busy = Arc::new(Busy(thread::current(), AtomicUsize::new(0)));
    let handle = gosched::go(thread::park);
    let thread = handle.thread().clone();
    let mut future = handle.into_future();
    let waker = Waker::from(Arc::clone(&busy));
    assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending());
    thread.unpark();
    thread::park();
    assert_eq!(busy.1.load(Ordering::Relaxed), 3);
    assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_ready());
}

/// D5: a future finds the thread-locals of the thread that polls it, although the compiler sees one
/// loop around all polls. (Seen to fail in release, where the poll was inlined in the loop.)
#[gosched::test]
fn a_future_finds_the_thread_locals_of_whoever_polls_it() {
    std::thread_local!(static HERE: Cell<usize> = const { Cell::new(0) });
    #[inline(never)]
    fn address(of: &Cell<usize>) -> usize {
        std::hint::black_box(ptr::from_ref(of).addr())
    }
    #[inline(never)]
    fn here() -> usize {
        HERE.with(address)
    }
    struct Poller {
        wakers: mpsc::Sender<Waker>,
        polls: usize,
        moves: usize,
        wrong: usize,
        before: usize,
    }
    impl Future for Poller {
        type Output = (usize, usize);

        #[inline(always)]
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<(usize, usize)> {
            let (found, here) = (HERE.with(address), here());
            self.wrong += usize::from(found != here);
            self.moves += usize::from(here != self.before);
            self.before = here;
            self.polls += 1;
            if self.polls == 2_000 {
                return Poll::Ready((self.moves, self.wrong));
            }
            self.wakers.send(cx.waker().clone()).unwrap();
            Poll::Pending
        }
    }

    let (sender, wakers) = mpsc::channel::<Waker>();
    // The wake-ups come from a foreign thread, so that any M may run the goroutine next.
    let outside = std::thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
    let all: Vec<_> = (0..8)
        .map(|_| {
            let wakers = sender.clone();
            gosched::go(move || {
                gosched::future::block_on(Poller { wakers, polls: 0, moves: 0, wrong: 0, before: here() })
            })
        })
        .collect();
    let (moves, wrong) = all
        .into_iter()
        .map(|one| one.join().unwrap())
        .fold((0, 0), |(m, w), (moves, wrong)| (m + moves, w + wrong));
    drop(sender);
    outside.join().unwrap();
    assert_eq!(wrong, 0, "of {moves} moves");
    assert!(moves > 0 || gosched::runtime::maxprocs(None) == 1, "nobody was moved, so nothing was seen");
}
