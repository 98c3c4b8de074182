//! A model of the one who sleeps while it is not needed (the monitor).
//!
//! Seen to fail (2026-11-15):
//! - `sleep_unless` does not look after it has said that it sleeps (deadlock);
//! - `wake_up` without a fence before its load (deadlock);
//! - `sleep_unless` returns though somebody has won the CAS, and leaves the note set ("double wakeup").

#![cfg(loom)]

mod support;

use gosched_queue::Dormant;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use support::check;

/// Two need it, one after the other or at once: it is up for both, and sleeps on a clear note each time.
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
                dormant.sleep_unless(|| needed.load(Ordering::SeqCst) >= round);
            }
        }
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}
