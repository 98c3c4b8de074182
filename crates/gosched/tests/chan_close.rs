//! Closing: by `close`, and by the last handle of a side (S44).

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{child, join_all, until_waiting};
use gosched::chan::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, bounded, unbounded};
use gosched::{go, select};

/// S44: receivers drain what is buffered, senders get their values back, and both ends report it.
#[gosched::test]
fn close_is_for_everyone() {
    let (s, r) = bounded(2);
    s.send(1).unwrap();
    s.send(2).unwrap();
    assert!(!s.is_closed() && !r.is_closed());
    assert!(r.close());
    assert!(!r.close() && !s.close());
    assert!(s.is_closed() && r.is_closed());
    assert_eq!(s.send(3), Err(SendError(3)));
    assert_eq!(s.try_send(3), Err(TrySendError::Disconnected(3)));
    assert!(s.send_timeout(3, Duration::from_secs(9)).unwrap_err().is_disconnected());
    assert_eq!(r.len(), 2);
    assert_eq!((r.recv(), r.try_recv()), (Ok(1), Ok(2)));
    assert_eq!((r.recv(), r.try_recv()), (Err(RecvError), Err(TryRecvError::Disconnected)));
    assert_eq!(r.recv_timeout(Duration::from_secs(9)), Err(RecvTimeoutError::Disconnected));
    assert_eq!(r.iter().count(), 0);
}

/// S44: once the other side is gone, `is_closed` says so, and `close` has nothing left to close.
#[gosched::test]
fn the_last_handle_closes() {
    let (s, r) = unbounded();
    let s2 = s.clone();
    s.send(1).unwrap();
    drop(s);
    assert!(!r.is_closed());
    drop(s2);
    assert!(r.is_closed() && !r.close());
    assert_eq!(r.iter().collect::<Vec<_>>(), [1]);
    let (s, r) = unbounded::<u8>();
    let r2 = r.clone();
    drop(r);
    assert!(!s.is_closed());
    drop(r2);
    assert!(s.is_closed() && !s.close());
}

/// Whether this thread sleeps in the kernel.
fn sleeps(tid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// S44: a close ends the waits of goroutines, selects and threads, however many. All of them wait
/// when it comes. Seen to fail when a close ended only the first batch of waiters.
#[test]
fn close_wakes_all() {
    const EACH: usize = 50;
    let body = || {
        let (s, r) = bounded::<usize>(0);
        let (full, rest) = bounded::<usize>(1);
        full.send(0).unwrap();
        let mut waiting = Vec::new();
        for n in 0..3 * EACH {
            let (r, full) = (r.clone(), full.clone());
            waiting.push(go(move || match n % 3 {
                0 => r.recv() == Err(RecvError),
                1 => full.send(n) == Err(SendError(n)),
                _ => select! { recv(r) -> msg => msg == Err(RecvError), send(full, n) -> res => res == Err(SendError(n)) },
            }));
        }
        let (begin, begun) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..EACH)
            .map(|_| {
                let (r, begin) = (r.clone(), begin.clone());
                std::thread::spawn(move || {
                    begin.send(common::tid()).unwrap();
                    r.recv() == Err(RecvError)
                })
            })
            .collect();
        for reason in ["chan receive", "chan send", "select"] {
            until_waiting(reason, EACH);
        }
        for tid in begun.iter().take(EACH) {
            while !sleeps(tid) {
                std::thread::yield_now();
            }
        }
        assert!(s.close() && rest.close());
        assert!(join_all(waiting).into_iter().all(|told| told));
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
        assert_eq!((rest.recv(), rest.recv()), (Ok(0), Err(RecvError)));
    };
    for procs in [1, 2, 8] {
        child("close_wakes_all", body).procs(procs).limit(Duration::from_secs(60)).run().ok();
    }
}

/// S44: of several calls of `close` at once, one returns `true`.
#[gosched::test]
fn one_close_counts() {
    for _ in 0..200 {
        let (s, r) = bounded::<u8>(1);
        let closers: Vec<_> = (0..4)
            .map(|n| {
                let (s, r) = (s.clone(), r.clone());
                go(move || if n % 2 == 0 { s.close() } else { r.close() })
            })
            .collect();
        assert_eq!(join_all(closers).into_iter().filter(|closed| *closed).count(), 1);
    }
}

/// S44: closing against sends and receives: what was sent is received, what was not comes back;
/// nothing is lost or doubled.
#[gosched::test]
fn close_races_with_everything() {
    for round in 0..300 {
        let (s, r) = if round % 3 == 0 { unbounded() } else { bounded(round % 5) };
        let sent = Arc::new(AtomicUsize::new(0));
        let senders: Vec<_> = (0..4)
            .map(|n| {
                let (s, sent) = (s.clone(), Arc::clone(&sent));
                go(move || {
                    for value in 0.. {
                        if value % 10 == 9 {
                            gosched::yield_now(); // an unbounded channel would take all that a slice can send
                        }
                        let result = match n % 2 {
                            0 => s.send(value),
                            _ => select! { send(s, value) -> res => res },
                        };
                        match result {
                            Ok(()) => sent.fetch_add(1, Ordering::Relaxed),
                            Err(SendError(back)) => return assert_eq!(back, value),
                        };
                    }
                })
            })
            .collect();
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let r = r.clone();
                go(move || r.iter().count())
            })
            .collect();
        (0..round % 20).for_each(|_| gosched::yield_now());
        assert!(if round % 2 == 0 { s.close() } else { r.close() });
        join_all(senders);
        let received: usize = join_all(receivers).into_iter().sum();
        assert_eq!(received, sent.load(Ordering::Relaxed));
    }
}
