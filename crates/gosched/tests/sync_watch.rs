//! `sync::watch`: a receiver waits for a value that it has not seen, and sees the newest.
//!
//! Seen to fail (2026-11-19): versions that do not change from the second value on
//! (`everybody_sees_the_last_value`); a clone that has seen the newest value.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use common::{everywhere, join_all, until_waiting};
use gosched::chan::{bounded, never};
use gosched::context::{ContextError, background, enter};
use gosched::sync::watch::{Sender, channel};
use gosched::{go, select, yield_now};

const FOR_EVER: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

#[gosched::test]
fn a_receiver_sees_the_newest_value() {
    let (s, mut r) = channel(0);
    assert_eq!(r.has_changed(), Ok(false), "it has seen the first one");
    (1..=3).for_each(|n| s.send(n).unwrap());
    let mut clone = r.clone();
    assert_eq!((r.has_changed(), r.changed()), (Ok(true), Ok(())));
    assert_eq!((*r.borrow(), r.has_changed()), (3, Ok(false)));
    assert_eq!(clone.changed(), Ok(()), "the clone had not seen it");
    assert_eq!(s.subscribe().has_changed(), Ok(false));
    // To borrow is not to see.
    s.send(4).unwrap();
    assert!(r.borrow().has_changed());
    assert!(r.borrow_and_update().has_changed());
    assert!(!r.borrow_and_update().has_changed());
    r.mark_changed();
    assert_eq!((r.has_changed(), r.changed(), r.has_changed()), (Ok(true), Ok(()), Ok(false)));
    s.send(5).unwrap();
    r.mark_unchanged();
    assert_eq!((r.has_changed(), *r.borrow()), (Ok(false), 5));
}

/// As in tokio: the last value is seen also when the senders are gone.
#[gosched::test]
fn the_end_comes_after_the_last_value() {
    let (s, mut r) = channel(0);
    s.clone().send(1).unwrap();
    drop(s);
    assert!(r.has_changed().is_err());
    assert_eq!(r.changed(), Ok(()));
    assert_eq!(r.changed().unwrap_err().to_string(), "channel closed");
    assert_eq!(*r.borrow(), 1);
    assert_eq!(*r.wait_for(|n| *n == 1).unwrap(), 1);
    assert!(r.wait_for(|n| *n == 2).is_err());
}

#[gosched::test]
fn a_sender_sets_and_changes() {
    let (s, r) = channel(vec![1]);
    assert_eq!(s.send_replace(vec![2]), [1]);
    s.send_modify(|list| list.push(3));
    assert!(!s.send_if_modified(|_| false) && s.send_if_modified(|list| list.pop().is_some()));
    assert_eq!((&*s.borrow(), s.sender_count(), s.receiver_count()), (&vec![2], 1, 1));
    drop(r);
    assert!(s.is_closed());
    assert_eq!(s.send(vec![9]).unwrap_err().0, [9]);
    assert_eq!(*s.borrow(), [2], "nobody watches");
    assert_eq!(s.send_replace(vec![5]), [2]);
    assert_eq!(*s.subscribe().borrow(), [5]);
    assert_eq!(*Sender::<u8>::default().borrow(), 0);
}

/// A `modify` that panics tells nobody, and does not make the channel unusable.
#[gosched::test]
fn a_panic_in_modify_goes_on() {
    let (s, mut r) = channel(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| s.send_modify(|_| panic!("boom"))));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"boom"));
    assert_eq!(r.has_changed(), Ok(false));
    s.send(2).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| r.wait_for(|_| panic!("boom")).map(drop)));
    assert!(panicked.is_err());
    assert_eq!(*r.borrow(), 2);
}

/// A send waits while somebody looks at the value.
#[test]
fn a_borrowed_value_is_not_replaced() {
    everywhere("a_borrowed_value_is_not_replaced", || {
        let (s, r) = channel(1);
        let value = r.borrow();
        let sender = go(move || {
            s.send(2).unwrap();
            s
        });
        until_waiting("sync.RWMutex.Lock", 1);
        assert_eq!(*value, 1);
        drop(value);
        sender.join().unwrap();
        assert_eq!(*r.borrow(), 2);
    });
}

#[test]
fn waiters_are_woken_by_a_value_and_by_the_end() {
    everywhere("waiters_are_woken_by_a_value_and_by_the_end", || {
        let (s, r) = channel(0);
        let waiters: Vec<_> = (0..5)
            .map(|_| {
                let mut r = r.clone();
                go(move || {
                    r.changed().unwrap();
                    let seen = *r.borrow();
                    (seen, r.changed().is_err())
                })
            })
            .collect();
        until_waiting("chan receive", 5);
        s.send(7).unwrap();
        until_waiting("chan receive", 5);
        drop(s);
        assert!(join_all(waiters).into_iter().all(|seen| seen == (7, true)));
    });
}

#[test]
fn a_limit_ends_the_wait_and_loses_nothing() {
    everywhere("a_limit_ends_the_wait_and_loses_nothing", || {
        let (s, mut r) = channel(0);
        assert_eq!((r.changed_timeout(Duration::ZERO), r.changed_timeout(SOON)), (None, None));
        assert!(r.wait_for_timeout(SOON, |n| *n == 1).is_none());
        let ctx = background().with_timeout(SOON);
        enter(&ctx, || {
            assert_eq!(r.changed_ctx(), Err(ContextError::DeadlineExceeded));
            assert_eq!(r.wait_for_ctx(|n| *n == 1).unwrap_err(), ContextError::DeadlineExceeded);
            assert_eq!(s.closed_ctx(), Err(ContextError::DeadlineExceeded));
            s.send(1).unwrap();
            assert_eq!(r.changed_ctx(), Ok(Ok(())), "it is there");
            assert_eq!(*r.wait_for_ctx(|n| *n == 1).unwrap().unwrap(), 1);
            s.send(2).unwrap();
            assert_eq!(r.changed_timeout(FOR_EVER), Some(Ok(())));
        });
        assert!(!s.closed_timeout(SOON));
        drop(r);
        assert!(s.closed_timeout(FOR_EVER) && s.closed_ctx().is_ok());
        s.closed();
    });
}

/// While values come, `wait_for` stops at the one, however many it misses.
#[test]
fn everybody_sees_the_last_value() {
    everywhere("everybody_sees_the_last_value", || {
        let (s, r) = channel(0_u32);
        let waiters: Vec<_> = (0..4)
            .map(|n| {
                let mut r = r.clone();
                go(move || {
                    if n % 2 == 0 {
                        return *r.wait_for(|value| *value == 2_000).unwrap();
                    }
                    let mut last = 0;
                    while r.changed().is_ok() {
                        let value = *r.borrow_and_update();
                        assert!(value > last, "{value} after {last}");
                        last = value;
                    }
                    last
                })
            })
            .collect();
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let s = s.clone();
                go(move || {
                    for n in 0..1_000 {
                        s.send_modify(|value| *value += 1);
                        if n % 16 == 0 {
                            yield_now();
                        }
                    }
                })
            })
            .collect();
        drop(s);
        join_all(senders);
        assert_eq!(join_all(waiters), [2_000; 4]);
    });
}

#[test]
fn it_is_a_case_of_select() {
    everywhere("it_is_a_case_of_select", || {
        let (s, mut config) = channel(0);
        let (other, r) = bounded(1);
        s.send(1).unwrap();
        other.send(2).unwrap();
        // Not chosen, so it is still not seen.
        gosched::select_biased! {
            recv(r) -> value => assert_eq!(value, Ok(2)),
            recv(config.ready()) -> _ => unreachable!(),
        }
        select! {
            recv(r) -> _ => unreachable!(),
            recv(config.ready()) -> _ => assert_eq!(config.changed(), Ok(())),
        }
        select! {
            recv(config.ready()) -> _ => unreachable!(),
            default => {}
        }
        let waiter = go(move || {
            let mut seen = 0;
            loop {
                select! {
                    recv(never::<()>()) -> _ => unreachable!(),
                    recv(config.ready()) -> _ => match config.changed() {
                        Ok(()) => seen = *config.borrow(),
                        Err(_) => return seen,
                    }
                }
            }
        });
        until_waiting("select", 1);
        s.send(3).unwrap();
        s.send(4).unwrap();
        drop(s);
        assert_eq!(waiter.join().unwrap(), 4);
    });
}
