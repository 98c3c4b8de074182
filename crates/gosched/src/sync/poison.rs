//! Poison: a lock whose holder began to panic is poisoned from then on, as std's are.
//!
//! `std::thread::panicking` is right for goroutines: one that unwinds stays on its thread (D5). The
//! flag orders nothing: it is set by the lock's holder, and the lock orders it for the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError};

/// Whether a lock is poisoned.
pub(super) struct Flag(AtomicBool);

/// Whether the holder was panicking when it got the lock: then its panic does not poison the lock.
#[derive(Clone, Copy)]
pub(super) struct Since {
    panicking: bool,
}

impl Flag {
    pub(super) const fn new() -> Flag {
        Flag(AtomicBool::new(false))
    }

    #[inline]
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Wraps `value` in an error if there is poison.
    #[inline]
    pub(super) fn wrap<T>(&self, value: T) -> LockResult<T> {
        if self.get() { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// The lock is about to be released.
    #[inline]
    pub(super) fn done(&self, since: Since) {
        if !since.panicking && std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Since {
    /// The lock was just acquired.
    #[inline]
    pub(super) fn now() -> Since {
        Since { panicking: std::thread::panicking() }
    }
}
