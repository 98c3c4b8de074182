//! `send_async` and `recv_async`: tasks and goroutines meet at the same channels, and nothing is
//! lost when a future is dropped midway (S18, D6).

mod common;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use common::{join_all, within};
use gosched::chan::{
    RecvError, SendError, TryRecvError, TrySendError, after, bounded, never, tick, unbounded,
};
use gosched::thread::{self, Thread};
use gosched::{go, runtime, select};

struct Unparker(Thread);

impl Wake for Unparker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: polls, parks, polls again. On a goroutine as well as on a foreign thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparker(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        go(|| ()); // a waker may call the library
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn poll<F: Future + Unpin>(future: &mut F, bell: &Arc<Bell>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

/// S18: tasks, goroutines and threads send and receive in all combinations; everything arrives
/// once.
#[gosched::test]
fn tasks_goroutines_and_threads() {
    for capacity in [Some(0), Some(1), Some(16), None] {
        let (s, r) = capacity.map_or_else(unbounded, bounded);
        let receivers: Vec<_> = (0..6)
            .map(|n| {
                let r = r.clone();
                let tasks = move || {
                    block_on(async {
                        let mut sum = 0;
                        while let Ok(value) = r.recv_async().await {
                            sum += value;
                        }
                        sum
                    })
                };
                if n == 0 { go(move || std::thread::spawn(tasks).join().unwrap()) } else { go(tasks) }
            })
            .collect();
        let plain = {
            let r = r.clone();
            go(move || r.iter().sum::<u64>())
        };
        let senders: Vec<_> = (0..6u64)
            .map(|n| {
                let s = s.clone();
                go(move || match n % 3 {
                    0 => block_on(async {
                        for value in 0..200 {
                            s.send_async(value).await.unwrap();
                        }
                    }),
                    1 => (0..200).for_each(|value| s.send(value).unwrap()),
                    _ => (0..200).for_each(|value| select! { send(s, value) -> res => res.unwrap() }),
                })
            })
            .collect();
        join_all(senders);
        drop(s);
        let got: u64 = join_all(receivers).into_iter().sum::<u64>() + plain.join().unwrap();
        assert_eq!(got, 6 * (0..200).sum::<u64>());
    }
}

/// S18: tasks on foreign threads only.
#[test]
fn on_a_foreign_thread() {
    within(Duration::from_secs(60), || {
        let (s, r) = bounded(1);
        let sender = std::thread::spawn(move || {
            block_on(async {
                for n in 0..500 {
                    s.send_async(n).await.unwrap();
                }
            })
        });
        for n in 0..500 {
            assert_eq!(block_on(r.recv_async()), Ok(n));
        }
        sender.join().unwrap();
        assert_eq!(block_on(r.recv_async()), Err(RecvError));
    });
}

/// If a future is dropped after a value was handed to it, the next receiver gets that value, before
/// those that were sent later.
#[gosched::test]
fn a_dropped_receive_passes_its_value_on() {
    for capacity in [Some(0), Some(1), None] {
        let (s, r) = capacity.map_or_else(unbounded, bounded);
        let bell = Arc::new(Bell::default());
        let mut first = r.recv_async();
        assert!(poll(&mut first, &bell).is_pending());
        assert_eq!(s.try_send(1), Ok(()));
        assert_eq!(bell.rung(), 1);
        let more = s.try_send(2).is_ok();
        assert_eq!(more, capacity != Some(0));
        drop(first);
        assert_eq!(r.try_recv(), Ok(1));
        assert_eq!(r.try_recv().is_ok(), more);
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));

        let (mut first, mut second) = (r.recv_async(), r.recv_async());
        assert!(poll(&mut first, &bell).is_pending() && poll(&mut second, &bell).is_pending());
        s.try_send(3).unwrap();
        drop(first);
        assert_eq!(poll(&mut second, &bell), Poll::Ready(Ok(3)));
    }
}

/// A send that is dropped before it is ready has not sent; one that was received has.
#[gosched::test]
fn a_dropped_send() {
    let (s, r) = bounded(0);
    let bell = Arc::new(Bell::default());
    let value = Arc::new(());
    let mut send = s.send_async(Arc::clone(&value));
    assert!(poll(&mut send, &bell).is_pending());
    drop(send);
    assert_eq!((Arc::strong_count(&value), r.try_recv()), (1, Err(TryRecvError::Empty)));
    let mut send = s.send_async(Arc::clone(&value));
    assert!(poll(&mut send, &bell).is_pending());
    assert!(r.try_recv().is_ok());
    assert_eq!(bell.rung(), 1);
    drop(send);
    assert_eq!(Arc::strong_count(&value), 1);
    drop(s.send_async(Arc::clone(&value)));
    let mut send = s.send_async(Arc::clone(&value));
    assert!(poll(&mut send, &bell).is_pending());
    s.close();
    assert!(matches!(poll(&mut send, &bell), Poll::Ready(Err(SendError(_)))));
    drop(send);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A task that is polled again with another waker is woken by that one.
#[gosched::test]
fn the_last_waker_counts() {
    let (s, r) = bounded(0);
    let bells = [Arc::new(Bell::default()), Arc::new(Bell::default())];
    let mut receive = r.recv_async();
    assert!(poll(&mut receive, &bells[0]).is_pending() && poll(&mut receive, &bells[1]).is_pending());
    s.try_send(1).unwrap();
    assert_eq!((bells[0].rung(), bells[1].rung()), (0, 1));
    assert_eq!(poll(&mut receive, &bells[0]), Poll::Ready(Ok(1)));
    let mut send = s.send_async(2);
    assert!(poll(&mut send, &bells[1]).is_pending() && poll(&mut send, &bells[0]).is_pending());
    assert_eq!(r.try_recv(), Ok(2));
    assert_eq!((bells[0].rung(), bells[1].rung()), (1, 1));
    assert_eq!(poll(&mut send, &bells[1]), Poll::Ready(Ok(())));
}

/// A selection has chosen to send to a task, which is dropped before the value is computed: the
/// next receiver gets the value.
#[gosched::test]
fn a_task_that_goes_away_before_its_delivery() {
    let (s, r) = bounded(0);
    let bell = Arc::new(Bell::default());
    let mut receive = r.recv_async();
    assert!(poll(&mut receive, &bell).is_pending());
    let mut going = Some(receive);
    select! {
        send(s, { drop(going.take()); 1 }) -> res => res.unwrap(),
    }
    assert_eq!(r.try_recv(), Ok(1));

    let mut receive = r.recv_async();
    assert!(poll(&mut receive, &bell).is_pending());
    let others = Arc::new(Bell::default());
    select! {
        send(s, { assert!(poll(&mut receive, &others).is_pending()); 2 }) -> res => res.unwrap(),
    }
    assert_eq!((bell.rung(), others.rung()), (0, 1));
    assert_eq!(poll(&mut receive, &bell), Poll::Ready(Ok(2)));
}

/// Futures are dropped at random: each value that was sent is received, or still in the channel.
#[gosched::test]
fn futures_dropped_midway() {
    for capacity in [0, 1, 4] {
        let (s, r) = bounded(capacity);
        let sent = Arc::new(AtomicUsize::new(0));
        let received = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..8u64)
            .map(|n| {
                let (s, r, sent, received) = (s.clone(), r.clone(), Arc::clone(&sent), Arc::clone(&received));
                go(move || {
                    let (mut random, bell) = (common::Random::new(n + 1), Arc::new(Bell::default()));
                    for _ in 0..300 {
                        let polls = random.below(4);
                        if n % 2 == 0 {
                            let mut send = s.send_async(1usize);
                            for _ in 0..polls {
                                if poll(&mut send, &bell).is_ready() {
                                    sent.fetch_add(1, Ordering::Relaxed);
                                    break;
                                }
                                gosched::yield_now();
                            }
                        } else {
                            let mut receive = r.recv_async();
                            for _ in 0..polls {
                                if poll(&mut receive, &bell).is_ready() {
                                    received.fetch_add(1, Ordering::Relaxed);
                                    break;
                                }
                                gosched::yield_now();
                            }
                        }
                    }
                })
            })
            .collect();
        join_all(tasks);
        let left = r.try_iter().count();
        let (sent, received) = (sent.load(Ordering::Relaxed), received.load(Ordering::Relaxed));
        // A send that is dropped after its value was taken has sent it, but is not counted in
        // `sent`.
        assert!(received + left >= sent, "{received} received, {left} left, {sent} sent");
        assert_eq!(s.try_send(1).is_ok(), capacity > 0);
        assert_ne!(s.try_send(1), Err(TrySendError::Disconnected(1)));
    }
}

/// Tasks wait for time as goroutines do.
#[gosched::test]
fn tasks_wait_for_time() {
    let began = Instant::now();
    let due = block_on(after(Duration::from_millis(10)).recv_async()).unwrap();
    assert!(due >= began + Duration::from_millis(10) && Instant::now() >= due);
    let ticker = tick(Duration::from_millis(2));
    for _ in 0..3 {
        block_on(ticker.recv_async()).unwrap();
    }
    let bell = Arc::new(Bell::default());
    assert!(poll(&mut never::<u8>().recv_async(), &bell).is_pending());
    let goroutines = gosched::runtime::num_goroutine();
    let late = after(Duration::from_secs(3600));
    let mut receive = late.recv_async();
    assert!(poll(&mut receive, &bell).is_pending());
    drop(receive);
    while gosched::runtime::num_goroutine() > goroutines {
        gosched::yield_now();
    }
    let closing = {
        let late = late.clone();
        go(move || block_on(late.recv_async()))
    };
    (0..10).for_each(|_| gosched::yield_now());
    late.close();
    assert_eq!(closing.join().unwrap(), Err(RecvError));
}

/// S4: the goroutines that the library starts to wake a task at a time are neither counted nor
/// listed, and do not keep the context that was current. The count is still right when they have
/// ended.
#[test]
fn what_wakes_a_task_in_time_is_not_counted() {
    let body = || {
        gosched::run(|| {
            let listed = || runtime::stop_the_world(|world| world.goroutines().count());
            let counts = || (runtime::num_goroutine(), listed());
            assert_eq!(counts(), (1, 1));
            let ctx = gosched::context::background().with_value(Arc::new(5)).with_cancel();
            let value = ctx.value::<Arc<i32>>().unwrap();
            let (after, done) = (gosched::chan::after(Duration::from_secs(3600)), ctx.done());
            let mut waiting = (after.recv_async(), done.recv_async());
            gosched::context::enter(&ctx, || {
                let mut cx = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut waiting.0).poll(&mut cx).is_pending());
                assert!(Pin::new(&mut waiting.1).poll(&mut cx).is_pending());
            });
            gosched::thread::sleep(Duration::from_millis(5));
            assert_eq!(counts(), (1, 1));
            drop(waiting);
            drop((done, ctx));
            let soon = gosched::chan::after(Duration::from_millis(1));
            assert!(gosched::future::block_on(soon.recv_async()).is_ok());
            // Those that wake a task end a moment later.
            while counts() != (1, 1) || Arc::strong_count(&value) > 1 {
                gosched::thread::sleep(Duration::from_millis(1));
            }
        });
    };
    let child = common::child("what_wakes_a_task_in_time_is_not_counted", body);
    for procs in [1, 2, 8] {
        child.clone().procs(procs).run().ok();
    }
}
