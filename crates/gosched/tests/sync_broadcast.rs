//! `sync::broadcast`: each receiver gets each value that is sent after it came, in order, or is
//! told how many it has missed.
//!
//! Seen to fail (2026-11-19): values that stay when all have received them; a receiver that is not
//! moved when it has lagged; a last sender that tells nobody; a `ready` that waits although there
//! is a value.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::{everywhere, join_all, until_waiting};
use gosched::chan::{bounded, never};
use gosched::context::{ContextError, background, enter};
use gosched::sync::broadcast::{self, RecvError, TryRecvError, channel};
use gosched::{go, select, thread, yield_now};

const FOR_EVER: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

#[gosched::test]
fn each_receiver_gets_each_value() {
    let (s, mut r1) = channel(4);
    let mut r2 = s.subscribe();
    assert_eq!((s.send(1).unwrap(), s.send(2).unwrap()), (2, 2));
    let mut late = r1.resubscribe();
    assert_eq!(s.send(3).unwrap(), 3);
    for r in [&mut r1, &mut r2] {
        assert_eq!((r.recv(), r.recv(), r.recv()), (Ok(1), Ok(2), Ok(3)));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    }
    assert_eq!((late.recv(), late.try_recv()), (Ok(3), Err(TryRecvError::Empty)));
    assert!(r1.same_channel(&late) && s.same_channel(&s.clone()));
}

/// As in tokio: after it was told, the receiver continues with the oldest value that is there.
#[gosched::test]
fn a_slow_receiver_is_told_how_many_it_has_missed() {
    let (s, mut r) = channel(2);
    for n in 1..=5 {
        s.send(n).unwrap();
    }
    assert_eq!(r.len(), 5);
    assert_eq!(r.recv(), Err(RecvError::Lagged(3)));
    assert_eq!(r.len(), 2);
    s.send(6).unwrap();
    assert_eq!(r.try_recv(), Err(TryRecvError::Lagged(1)));
    assert_eq!((r.recv(), r.recv()), (Ok(5), Ok(6)));
    for n in 7..=9 {
        s.send(n).unwrap();
    }
    drop(s);
    assert_eq!(r.recv(), Err(RecvError::Lagged(1)));
    assert_eq!((r.recv(), r.recv()), (Ok(8), Ok(9)));
    assert_eq!((r.recv(), r.try_recv()), (Err(RecvError::Closed), Err(TryRecvError::Closed)));
    assert!(r.is_closed());
}

/// As in tokio: the capacity is rounded up to a power of two; 0 is refused.
#[gosched::test]
fn the_capacity_is_rounded_up() {
    let (s, mut r) = channel(3);
    (1..=4).for_each(|n| drop(s.send(n)));
    assert_eq!(r.recv(), Ok(1));
    assert!(catch_unwind(|| channel::<u8>(0)).is_err());
    assert!(catch_unwind(|| channel::<u8>(usize::MAX)).is_err());
}

#[gosched::test]
fn without_receivers_the_value_comes_back() {
    let (s, r) = channel(1);
    drop(r);
    let error = s.send("back").unwrap_err();
    assert_eq!((error.to_string().as_str(), error.0), ("channel closed", "back"));
    s.closed();
    let mut r = s.subscribe();
    assert!(!s.closed_timeout(SOON));
    assert_eq!(s.send("again").unwrap(), 1);
    assert_eq!(r.recv(), Ok("again"));
    let ctx = background().with_timeout(SOON);
    assert_eq!(enter(&ctx, || s.closed_ctx()), Err(ContextError::DeadlineExceeded));
    let waits = go(move || s.closed_timeout(FOR_EVER));
    drop(r);
    assert!(waits.join().unwrap());
}

/// A value is dropped when the last receiver has it, or when it is overwritten; not before.
#[gosched::test]
fn values_are_dropped_in_time() {
    let (s, mut r1) = channel(2);
    let mut r2 = s.subscribe();
    let values: Vec<_> = (0..4).map(Arc::new).collect();
    s.send(Arc::clone(&values[0])).unwrap();
    assert_eq!((s.len(), *r1.recv().unwrap()), (1, 0));
    assert_eq!((s.len(), Arc::strong_count(&values[0])), (1, 2));
    assert_eq!((*r2.recv().unwrap(), s.len()), (0, 0));
    assert_eq!(Arc::strong_count(&values[0]), 1, "all have received it");
    values[1..].iter().for_each(|value| drop(s.send(Arc::clone(value))));
    assert_eq!(Arc::strong_count(&values[1]), 1, "it was overwritten");
    assert_eq!(Arc::strong_count(&values[2]), 2);
    r1.recv().unwrap_err();
    drop(r2);
    assert_eq!(*r1.recv().unwrap(), 2);
    assert_eq!(Arc::strong_count(&values[2]), 1, "the other one is gone");
    drop(r1);
    assert_eq!(Arc::strong_count(&values[3]), 1);
    assert!(s.is_empty());
}

#[test]
fn waiters_are_woken_by_a_value_and_by_the_end() {
    everywhere("waiters_are_woken_by_a_value_and_by_the_end", || {
        let (s, r) = channel(2);
        let waits = |mut r: broadcast::Receiver<u32>| go(move || (r.recv(), r.recv()));
        let waiters = vec![waits(r.resubscribe()), waits(r)];
        until_waiting("chan receive", 2);
        s.send(7).unwrap();
        until_waiting("chan receive", 2);
        drop(s);
        for both in join_all(waiters) {
            assert_eq!(both, (Ok(7), Err(RecvError::Closed)));
        }
    });
}

#[test]
fn a_limit_ends_the_wait_and_loses_nothing() {
    everywhere("a_limit_ends_the_wait_and_loses_nothing", || {
        let (s, mut r) = channel(2);
        assert_eq!((r.recv_timeout(Duration::ZERO), r.recv_timeout(SOON)), (None, None));
        let ctx = background().with_timeout(SOON);
        enter(&ctx, || {
            assert_eq!(r.recv_ctx(), Err(ContextError::DeadlineExceeded));
            s.send(1).unwrap();
            assert_eq!(r.recv_ctx(), Ok(Ok(1)), "it is there");
            s.send(2).unwrap();
            assert_eq!(r.recv_timeout(FOR_EVER), Some(Ok(2)));
        });
        drop(s);
        assert_eq!(r.recv_ctx(), Ok(Err(RecvError::Closed)));
    });
}

/// Several senders, and receivers that come and go: each receives what is sent in the order in
/// which it was sent, but for what it is told to have missed.
#[test]
fn nothing_is_lost_or_repeated() {
    everywhere("nothing_is_lost_or_repeated", || {
        let (s, r) = channel(16);
        let over = Arc::new(AtomicBool::new(false));
        let receivers: Vec<_> = (0..4)
            .map(|n| {
                let mut r = r.resubscribe();
                go(move || {
                    let (mut next, mut missed) = ([0; 2], 0);
                    loop {
                        match r.recv() {
                            Ok((sender, value)) => {
                                assert!(value >= next[sender], "it came twice, or out of order");
                                missed -= value - next[sender];
                                next[sender] = value + 1;
                            }
                            Err(RecvError::Lagged(n)) => missed += n as i64,
                            Err(RecvError::Closed) => break,
                        }
                        if n == 0 {
                            yield_now();
                        }
                    }
                    // What came last from a sender may be among those that were missed.
                    (next[0] + next[1], missed)
                })
            })
            .collect();
        let comes_and_goes = go({
            let over = Arc::clone(&over);
            move || {
                while !over.load(Ordering::Relaxed) {
                    let mut r = r.resubscribe();
                    let _ = r.try_recv();
                    yield_now();
                }
            }
        });
        let senders: Vec<_> = (0..2)
            .map(|sender| {
                let s = s.clone();
                go(move || {
                    for value in 0..2_000 {
                        s.send((sender, value)).unwrap();
                        if value % 8 == 0 {
                            yield_now();
                        }
                    }
                })
            })
            .collect();
        drop(s);
        join_all(senders);
        for (next, missed) in join_all(receivers) {
            assert_eq!(next + missed, 4_000, "{missed} are not accounted for");
        }
        over.store(true, Ordering::Relaxed);
        comes_and_goes.join().unwrap();
    });
}

#[test]
fn it_is_a_case_of_select() {
    everywhere("it_is_a_case_of_select", || {
        let (s, mut news) = channel(4);
        let (other, r) = bounded(1);
        s.send(1).unwrap();
        other.send(2).unwrap();
        // Not chosen, so nothing is lost.
        gosched::select_biased! {
            recv(r) -> value => assert_eq!(value, Ok(2)),
            recv(news.ready()) -> _ => unreachable!(),
        }
        select! {
            recv(r) -> _ => unreachable!(),
            recv(news.ready()) -> _ => assert_eq!(news.try_recv(), Ok(1)),
        }
        select! {
            recv(news.ready()) -> _ => unreachable!(),
            default => {}
        }
        let waiter = go(move || {
            let mut seen = Vec::new();
            loop {
                select! {
                    recv(never::<()>()) -> _ => unreachable!(),
                    recv(news.ready()) -> _ => match news.try_recv() {
                        Ok(value) => seen.push(value),
                        Err(TryRecvError::Closed) => return seen,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        until_waiting("select", 1);
        s.send(3).unwrap();
        s.send(4).unwrap();
        drop(s);
        assert_eq!(waiter.join().unwrap(), [3, 4]);
    });
}

/// As in tokio: what is sent between threads need not be `Sync`.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<(broadcast::Sender<Cell<u8>>, broadcast::Receiver<Cell<u8>>)>();
};

/// Values need not be `Sync`, their clones may wait, and may panic: then the value is still there.
#[gosched::test]
fn clones_are_the_users_code() {
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    struct Slow(Cell<u8>);
    impl Clone for Slow {
        fn clone(&self) -> Slow {
            thread::sleep(SOON);
            assert_ne!(CLONES.fetch_add(1, Ordering::Relaxed), 0, "the first clone");
            Slow(self.0.clone())
        }
    }
    let (s, mut r) = channel(4);
    s.send(Slow(Cell::new(7))).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| r.recv().map(drop))).is_err());
    let mut others: Vec<_> = (0..4).map(|_| s.subscribe()).collect();
    assert_eq!(r.recv().unwrap().0.get(), 7);
    s.send(Slow(Cell::new(8))).unwrap();
    gosched::scope(|scope| {
        for r in &mut others {
            scope.spawn(move || assert_eq!(r.recv().unwrap().0.get(), 8));
        }
    });
}

/// While another receiver clones the value, there is none for `try_recv`: it does not wait. (Seen
/// to fail with `lock` in place of `try_lock`: the test hangs.)
#[gosched::test]
fn try_recv_does_not_wait_for_a_clone() {
    struct Gated {
        begun: gosched::chan::Sender<()>,
        end: gosched::chan::Receiver<()>,
    }
    impl Clone for Gated {
        fn clone(&self) -> Gated {
            self.begun.send(()).unwrap();
            self.end.recv().unwrap();
            Gated { begun: self.begun.clone(), end: self.end.clone() }
        }
    }
    let (s, mut first) = channel(4);
    let mut second = s.subscribe();
    let ((begun, clones), (opened, end)) = (bounded(0), bounded(0));
    assert!(s.send(Gated { begun, end }).is_ok());
    let other = go(move || assert!(first.recv().is_ok()));
    clones.recv().unwrap();
    assert!(matches!(second.try_recv(), Err(TryRecvError::Empty)));
    opened.send(()).unwrap();
    other.join().unwrap();
    let opener = go(move || {
        clones.recv().unwrap();
        opened.send(()).unwrap();
    });
    assert!(second.try_recv().is_ok());
    opener.join().unwrap();
}
