//! Models of a thread that sleeps while it is not needed (the monitor).
//!
//! Seen to fail (2026-11-15):
//! - `sleep_unless` does not check after it has announced that it sleeps (deadlock);
//! - `wake_up` without a fence before its load (deadlock);
//! - `sleep_unless` returns though somebody has won the CAS, and leaves the note set ("double
//!   wakeup");
//! - the same after a time-out: `up_when_needed_after_a_time_out`.

#![cfg(loom)]

mod support;

use gosched_primitives::Dormant;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use support::check;

/// Two threads need it, one after the other or at once: it wakes for both, and sleeps on a clear
/// note each time.
#[test]
fn up_when_needed() {
    check(4, || {
        let dormant = Arc::new(Dormant::new());
        let needed = Arc::new(AtomicU32::new(0));
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let (dormant, needed) = (dormant.clone(), needed.clone());
                thread::spawn(move || {
                    needed.fetch_add(1, Ordering::SeqCst);
                    dormant.wake_up();
                })
            })
            .collect();
        for round in 1..=2 {
            while needed.load(Ordering::SeqCst) < round {
                let _ = dormant.sleep_unless(None, || needed.load(Ordering::SeqCst) >= round);
            }
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

/// As above; now its time may run out at any moment.
#[test]
fn up_when_needed_after_a_time_out() {
    check(4, || {
        let dormant = Arc::new(Dormant::new());
        let needed = Arc::new(AtomicU32::new(0));
        let waker = {
            let (dormant, needed) = (dormant.clone(), needed.clone());
            thread::spawn(move || {
                for _ in 0..2 {
                    needed.fetch_add(1, Ordering::SeqCst);
                    dormant.wake_up();
                }
            })
        };
        let limit = Some(std::time::Duration::from_millis(1));
        let _ = dormant.sleep_unless(limit, || needed.load(Ordering::SeqCst) >= 1);
        while needed.load(Ordering::SeqCst) < 2 {
            let _ = dormant.sleep_unless(None, || needed.load(Ordering::SeqCst) >= 2);
        }
        waker.join().unwrap();
    });
}
