//! Models of the keeper: the worker that sleeps until the earliest timer.
//!
//! Seen to fail (2026-11-15):
//! - `keep` without its second look: `an_earlier_timer_is_not_slept_through` (deadlock);
//! - `watch_for` without a fence before its load: the same test (deadlock);
//! - `interrupt` does not wake: `keepers_come_and_go` (deadlock);
//! - `keep` frees the place (a swap to NOBODY) before it waits for the wake-up and clears the note:
//!   the same test (deadlock).
//!
//! Afar, seen to fail (2026-11-16): `interrupt` does not kick, `keep_afar` without its second look,
//! or the note is not woken too: `an_earlier_timer_is_not_slept_through_afar` (deadlock); `end`
//! does not wait for the wake-up it was promised: `a_late_kick_does_no_harm` (double wake-up).

#![cfg(loom)]

mod support;

use gosched_primitives::{Keeper, Watch};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;
use support::check;

const LATE: u64 = 100;
const EARLY: u64 = 50;

/// A timer is armed for an earlier time than the keeper sleeps for, or is about to: it does not
/// sleep for the later one.
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
        let (Watch::Kept | Watch::Nobody) = keeper.watch_for(EARLY, || {});
        assert!(sleeper.join().unwrap());
        assert!(!keeper.is_kept());
    });
}

/// Two threads become keeper, in turn or at once, and two interrupt: all end, and the note is woken
/// once per sleep.
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
        let _ = keeper.watch_for(EARLY, || {});
        keeper.rouse(|| {});
        for sleeper in keepers {
            sleeper.join().unwrap();
        }
        assert!(!keeper.is_kept());
    });
}

/// What a keeper afar sleeps in: `sleep` returns when the bell rings, or has rung before. Only
/// `sleep` clears the bell.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    sleeper: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.sleeper.notify_one();
    }

    fn sleep(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.sleeper.wait(rung).unwrap();
        }
        *rung = false;
    }
}

/// As `an_earlier_timer_is_not_slept_through`, for a keeper that is afar, where it would sleep for
/// ever.
#[test]
fn an_earlier_timer_is_not_slept_through_afar() {
    check(4, || {
        let keeper = Arc::new(Keeper::new());
        let bell = Arc::new(Bell::default());
        let first = Arc::new(AtomicU64::new(LATE));
        let sleeper = {
            let (keeper, bell, first) = (keeper.clone(), bell.clone(), first.clone());
            thread::spawn(move || {
                let seen = first.load(Ordering::SeqCst);
                let sleep = || {
                    if seen == LATE {
                        bell.sleep();
                    }
                };
                keeper.keep_afar(seen, || first.load(Ordering::SeqCst), sleep)
            })
        };
        first.store(EARLY, Ordering::SeqCst);
        let (Watch::Kept | Watch::Nobody) = keeper.watch_for(EARLY, || bell.ring());
        assert!(sleeper.join().unwrap());
        assert!(!keeper.is_kept());
    });
}

/// Keepers afar and on the note in turn, while two interrupt: a kick that is late for one of them
/// wakes another for nothing, and a keeper that was interrupted does not sleep for ever.
#[test]
fn a_late_kick_does_no_harm() {
    check(3, || {
        let keeper = Arc::new(Keeper::new());
        let bell = Arc::new(Bell::default());
        let interrupt = |when| {
            let (keeper, bell) = (keeper.clone(), bell.clone());
            thread::spawn(move || {
                let _ = keeper.watch_for(when, || bell.ring());
            })
        };
        let others = [interrupt(EARLY), interrupt(EARLY - 10)];
        // The first returns by itself, as for an event; what interrupts it may ring late.
        assert!(keeper.keep_afar(LATE, || LATE, || {}));
        assert!(keeper.keep(LATE, || LATE, |_| Some(Duration::ZERO)));
        for other in others {
            other.join().unwrap();
        }
        // Nobody is left to interrupt: the place is free and the note clear.
        assert!(!keeper.is_kept());
        assert!(keeper.keep_afar(LATE, || LATE, || keeper.rouse(|| {})));
    });
}
