//! `sync::Notify`: a notification wakes one waiter or is remembered once; none is lost, by whoever
//! gives up or chooses another case.
//!
//! Seen to fail (2026-11-19): a `notify_waiters` that forgets the remembered notification
//! (`a_remembered_one_…`); a channel that was closed and is not replaced.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{everywhere, join_all, until_waiting};
use gosched::chan::{TryRecvError, bounded, never};
use gosched::context::{ContextError, background, enter};
use gosched::sync::Notify;
use gosched::{go, select, thread, yield_now};

const FOR_EVER: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

#[gosched::test]
fn one_is_remembered() {
    let notify = Notify::new();
    assert!(!notify.wait_timeout(Duration::ZERO));
    (0..3).for_each(|_| notify.notify_one());
    notify.wait();
    assert!(!notify.wait_timeout(SOON));
}

#[test]
fn the_first_waiter_is_woken() {
    everywhere("the_first_waiter_is_woken", || {
        let notify = Arc::new(Notify::new());
        let order = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..5)
            .map(|n| {
                let (other, order) = (Arc::clone(&notify), Arc::clone(&order));
                let waiter = go(move || {
                    other.wait();
                    order.fetch_add(1, Ordering::SeqCst)
                });
                until_waiting("chan receive", n + 1);
                waiter
            })
            .collect();
        for (n, waiter) in waiters.into_iter().enumerate() {
            notify.notify_one();
            assert_eq!(waiter.join().unwrap(), n);
        }
        assert!(!notify.wait_timeout(SOON), "each went to a waiter");
    });
}

#[test]
fn all_waiters_are_woken_and_later_ones_are_not() {
    everywhere("all_waiters_are_woken_and_later_ones_are_not", || {
        let notify = Arc::new(Notify::new());
        notify.notify_waiters();
        assert!(!notify.wait_timeout(SOON), "nobody waited");
        for _ in 0..3 {
            let early = notify.notified();
            let waiters: Vec<_> = (0..10)
                .map(|_| {
                    let other = Arc::clone(&notify);
                    go(move || other.wait())
                })
                .collect();
            until_waiting("chan receive", 10);
            notify.notify_waiters();
            join_all(waiters);
            assert_eq!(early.try_recv(), Err(TryRecvError::Disconnected), "it was there before");
            assert!(!notify.wait_timeout(SOON), "this one was not");
        }
    });
}

/// As in tokio: `notify_waiters` leaves a notification that is remembered.
#[gosched::test]
fn a_remembered_one_outlives_notify_waiters() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_waiters();
    notify.notify_waiters();
    assert!(notify.wait_timeout(Duration::ZERO));
    assert!(!notify.wait_timeout(SOON));
}

#[test]
fn a_wait_that_gives_up_takes_nothing() {
    everywhere("a_wait_that_gives_up_takes_nothing", || {
        let notify = Arc::new(Notify::new());
        let ctx = background().with_cancel();
        let other = Arc::clone(&notify);
        let waiter = enter(&ctx, || go(move || other.wait_ctx()));
        until_waiting("chan receive", 1);
        ctx.cancel();
        assert_eq!(waiter.join().unwrap(), Err(ContextError::Cancelled));
        assert!(!notify.wait_timeout(SOON));
        notify.notify_one();
        enter(&ctx, || assert_eq!(notify.wait_ctx(), Ok(())));
    });
}

/// Waiters that give up at about the time of their notification: as many are woken as were
/// notified, or the notification is still there.
#[test]
fn no_notification_is_lost() {
    everywhere("no_notification_is_lost", || {
        let notify = Arc::new(Notify::new());
        for round in 0..300 {
            let other = Arc::clone(&notify);
            let waiter = go(move || other.wait_timeout(Duration::from_micros(round % 50)));
            (0..round % 3).for_each(|_| yield_now());
            notify.notify_one();
            let woken = waiter.join().unwrap();
            assert_eq!(notify.wait_timeout(Duration::ZERO), !woken, "in round {round}");
        }
    });
}

/// Both ways to notify, at the same time as waits: nobody waits for ever.
#[test]
fn everybody_is_woken_in_the_end() {
    everywhere("everybody_is_woken_in_the_end", || {
        let notify = Arc::new(Notify::new());
        let left = Arc::new(AtomicUsize::new(8 * 100));
        let waiters: Vec<_> = (0..8)
            .map(|_| {
                let (notify, left) = (Arc::clone(&notify), Arc::clone(&left));
                go(move || {
                    for _ in 0..100 {
                        notify.wait();
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut n = 0;
        while left.load(Ordering::Relaxed) > 0 {
            n += 1;
            if n % 5 == 0 {
                notify.notify_waiters()
            } else {
                notify.notify_one()
            }
            yield_now();
        }
        join_all(waiters);
    });
}

#[test]
fn it_is_a_case_of_select() {
    everywhere("it_is_a_case_of_select", || {
        let notify = Arc::new(Notify::new());
        let (s, r) = bounded(1);
        // Not chosen, so it stays.
        notify.notify_one();
        s.send(1).unwrap();
        gosched::select_biased! {
            recv(r) -> value => assert_eq!(value, Ok(1)),
            recv(notify.notified()) -> _ => unreachable!(),
        }
        select! {
            recv(r) -> _ => unreachable!(),
            recv(notify.notified()) -> one => assert!(one.is_ok()),
        }
        // Chosen while it waits; then it is not there any more.
        let other = Arc::clone(&notify);
        let waiter = go(move || {
            select! {
                recv(never::<()>()) -> _ => unreachable!(),
                recv(other.notified()) -> _ => {}
            }
        });
        until_waiting("select", 1);
        notify.notify_one();
        waiter.join().unwrap();
        assert!(!notify.wait_timeout(Duration::ZERO));
        let other = Arc::clone(&notify);
        let waiter = go(move || {
            select! {
                recv(never::<()>()) -> _ => unreachable!(),
                recv(other.notified()) -> all => assert!(all.is_err()),
            }
        });
        until_waiting("select", 1);
        notify.notify_waiters();
        waiter.join().unwrap();
    });
}

/// A user may close the channel: that wakes who waits, and ends nothing else.
#[gosched::test]
fn a_closed_channel_is_replaced() {
    let notify = Notify::new();
    notify.notified().close();
    assert!(!notify.wait_timeout(SOON));
    notify.notified().close();
    notify.notify_one();
    assert!(notify.wait_timeout(FOR_EVER));
}

#[gosched::test]
fn it_works_from_a_foreign_thread() {
    static NOTIFY: Notify = Notify::new();
    let waiter = go(|| NOTIFY.wait());
    std::thread::spawn(|| NOTIFY.notify_one()).join().unwrap();
    waiter.join().unwrap();
    let waiter = std::thread::spawn(|| NOTIFY.wait());
    thread::sleep(SOON);
    NOTIFY.notify_one();
    waiter.join().unwrap();
}
