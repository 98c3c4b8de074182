//! Models of the keeper: the one who sleeps until the earliest timer.
//!
//! Seen to fail (2026-11-15):
//! - `keep` without its second look: `an_earlier_timer_is_not_slept_through` (deadlock);
//! - `watch_for` without a fence before its load: the same test (deadlock);
//! - `interrupt` does not wake: `keepers_come_and_go` (deadlock);
//! - `keep` makes the place free (a swap to NOBODY) before it waits for the wake-up and clears the note: the same test
//!   (deadlock).

#![cfg(loom)]

mod support;

use gosched_queue::{Keeper, Watch};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::time::Duration;
use support::check;

const LATE: u64 = 100;
const EARLY: u64 = 50;

/// A timer is armed for an earlier time than the keeper sleeps for, or is about to: it does not sleep for the later one.
#[test]
fn an_earlier_timer_is_not_slept_through() {
    check(4, || {
        let keeper = Arc::new(Keeper::new());
        let first = Arc::new(AtomicU64::new(LATE));
        let sleeper = {
            let (keeper, first) = (keeper.clone(), first.clone());
            thread::spawn(move || {
                let seen = first.load(Ordering::SeqCst);
                // For the early one it would be woken by the clock; the late one never comes here.
                keeper.keep(
                    seen,
                    || first.load(Ordering::SeqCst),
                    |until| (until == EARLY).then_some(Duration::ZERO),
                )
            })
        };
        first.store(EARLY, Ordering::SeqCst);
        // Nobody there yet: then whoever comes sees the early one.
        let (Watch::Kept | Watch::Nobody) = keeper.watch_for(EARLY);
        assert!(sleeper.join().unwrap());
        assert!(!keeper.is_kept());
    });
}

/// Two would keep watch, by turns or at once, and two interrupt: everybody ends, and the note is woken once per sleep.
#[test]
fn keepers_come_and_go() {
    check(4, || {
        let keeper = Arc::new(Keeper::new());
        let keepers: Vec<_> = [LATE, LATE - 10]
            .into_iter()
            .map(|until| {
                let keeper = keeper.clone();
                thread::spawn(move || keeper.keep(until, || until, |_| Some(Duration::from_secs(1))))
            })
            .collect();
        let _ = keeper.watch_for(EARLY);
        keeper.rouse();
        for sleeper in keepers {
            sleeper.join().unwrap();
        }
        assert!(!keeper.is_kept());
    });
}
