//! `park` and `unpark`: one token each, with std's meaning, for goroutines and foreign threads
//! (S16, S18).

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gosched::thread::{self, Thread};

/// S16: a stored token makes one `park` return, and at most one token is stored.
#[gosched::test]
fn one_token() {
    let me = thread::current();
    me.unpark();
    me.unpark();
    me.unpark();
    thread::park();
    let woken = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&woken);
    let waker = gosched::go(move || {
        (0..50).for_each(|_| gosched::yield_now());
        seen.store(1, Ordering::Relaxed);
        me.unpark();
    });
    thread::park(); // the other two unparks left nothing
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    waker.join().unwrap();
}

/// S16: a token is kept for a goroutine that has not run yet.
#[gosched::test]
fn a_token_before_the_first_step() {
    let handles: Vec<_> = (0..500).map(|_| gosched::go(thread::park)).collect();
    handles.iter().for_each(|handle| handle.thread().unpark());
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

/// S16: waiting for something else neither uses a token up nor is ended by one.
#[gosched::test]
fn join_and_yield_leave_the_token_alone() {
    let me = thread::current();
    me.unpark();
    let slow = gosched::go(move || {
        (0..20).for_each(|_| gosched::yield_now());
        me.unpark();
        8
    });
    gosched::yield_now();
    assert_eq!(slow.join().unwrap(), 8);
    thread::park();
}

/// D4: an `unpark` for a goroutine that has ended does nothing, also when another goroutine has its
/// header.
#[gosched::test]
fn a_late_unpark_wakes_nobody_else() {
    let gone: Vec<Thread> = (0..300)
        .map(|_| {
            let handle = gosched::go(|| ());
            let thread = handle.thread().clone();
            handle.join().unwrap();
            thread
        })
        .collect();
    let woken = Arc::new(AtomicUsize::new(0));
    let parked: Vec<_> = (0..300)
        .map(|_| {
            let woken = Arc::clone(&woken);
            gosched::go(move || {
                thread::park();
                woken.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    for _ in 0..100 {
        gone.iter().for_each(Thread::unpark);
        gosched::yield_now();
    }
    assert_eq!(woken.load(Ordering::Relaxed), 0);
    parked.iter().for_each(|handle| handle.thread().unpark());
    parked.into_iter().for_each(|handle| handle.join().unwrap());
}

/// D4: late unparks race with the end of goroutines and the reuse of their headers, and do no harm.
#[gosched::test(timeout = "120s")]
fn late_unparks_race_with_rebirth() {
    let rounds = if cfg!(debug_assertions) { 5_000 } else { 50_000 };
    for _ in 0..rounds {
        let first = gosched::go(thread::park);
        let (a, b) = (first.thread().clone(), first.thread().clone());
        let others = [gosched::go(move || a.unpark()), gosched::go(move || b.unpark())];
        let second = gosched::go(|| 3);
        first.join().unwrap();
        assert_eq!(second.join().unwrap(), 3);
        others.into_iter().for_each(|other| other.join().unwrap());
    }
}

/// S18: a foreign thread has a token too, and may wait for a goroutine or another foreign thread.
#[test]
fn foreign_threads_park() {
    common::within(Duration::from_secs(60), || {
        thread::current().unpark();
        thread::park();
        let me = thread::current();
        assert_eq!(me.id(), thread::current().id());
        gosched::go(move || me.unpark());
        thread::park();
        let me = thread::current();
        let other = std::thread::Builder::new().name("other".into()).spawn(move || {
            me.unpark();
            thread::current()
        });
        thread::park();
        let other = other.unwrap().join().unwrap();
        assert_eq!(other.name(), Some("other"));
        other.unpark(); // it is gone: nothing happens
    });
}

/// S18: an unpark does not end a foreign thread's join, and is not lost by it.
#[test]
fn a_foreign_threads_token_survives_a_join() {
    common::within(Duration::from_secs(60), || {
        let me = thread::current();
        let handle = gosched::go(move || {
            me.unpark();
            (0..50).for_each(|_| gosched::yield_now());
            4
        });
        assert_eq!(handle.join().unwrap(), 4);
        thread::park();
    });
}
