//! The place of the one who sleeps until a time that others may move forward: one of many idle workers keeps watch for the
//! earliest timer, the others sleep without limit.
//!
//! `until` is NOBODY, INTERRUPTED, or the time until which the keeper sleeps.
//!
//! The argument why no timer is slept through. Whoever arms one publishes its time (`SeqCst`), then looks at `until`
//! ([`Keeper::watch_for`]). Whoever becomes the keeper writes `until` (`SeqCst`), then looks at the times once more. So
//! either the keeper sees the new time, or it is seen, and interrupted.
//!
//! Invariants: of those who would interrupt, the one whose CAS makes `until` INTERRUPTED wakes the note, once. The keeper
//! has waited for that wake-up and cleared the note before it makes the place free: the next keeper sleeps on it.

use std::time::Duration;

use crate::note::{Note, Wake};
use crate::sync::{AtomicU64, Ordering, const_fn, dekker_fence};

const NOBODY: u64 = 0;
const INTERRUPTED: u64 = 1;

/// Whether somebody will wake up in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "with nobody on watch, somebody has to be sent there"]
pub enum Watch {
    /// A keeper will, or has just been told to look again.
    Kept,
    /// Nobody keeps watch.
    Nobody,
}

/// The keeper's place.
///
/// ```
/// use gosched_queue::{Keeper, Watch};
/// use std::time::Duration;
///
/// let keeper = Keeper::new();
/// assert_eq!(keeper.watch_for(5), Watch::Nobody);
/// // A timer at 5, and the time is 5 already: no need to sleep.
/// assert!(keeper.keep(5, || 5, |_until| Some(Duration::ZERO)));
/// ```
pub struct Keeper {
    until: AtomicU64,
    note: Note,
}

impl Keeper {
    const_fn! {
        /// Nobody keeps watch.
        pub const fn new() -> Keeper {
            Keeper { until: AtomicU64::new(NOBODY), note: Note::new() }
        }
    }

    /// Whether somebody keeps watch.
    pub fn is_kept(&self) -> bool {
        // ORDERING: `SeqCst`, as in `watch_for`.
        self.until.load(Ordering::SeqCst) != NOBODY
    }

    /// A time has been published: sees to it that the keeper, if there is one, does not sleep longer than `when`.
    #[inline]
    pub fn watch_for(&self, when: u64) -> Watch {
        dekker_fence();
        // ORDERING: `SeqCst`: after the publication of the time; partner is the CAS in `keep`.
        match self.until.load(Ordering::SeqCst) {
            NOBODY => return Watch::Nobody,
            until if until > INTERRUPTED && until > when => self.interrupt(until),
            _ => {}
        }
        Watch::Kept
    }

    /// Wakes the keeper, whatever it sleeps for.
    pub fn rouse(&self) {
        // ORDERING: as in `watch_for`.
        let until = self.until.load(Ordering::SeqCst);
        if until > INTERRUPTED {
            self.interrupt(until);
        }
    }

    #[cold]
    fn interrupt(&self, until: u64) {
        // ORDERING: partner is the CAS at the end of `keep`. If this one fails, the keeper woke by itself and will look
        // again, or another one interrupts it.
        if self.until.compare_exchange(until, INTERRUPTED, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.note.wake();
        }
    }

    /// Sleeps until `first`, the earliest time published, or until interrupted; `false` if somebody else keeps watch.
    ///
    /// `look` returns the earliest time once more; `left(until)` how long that is from now (`None`: for ever).
    pub fn keep(
        &self,
        first: u64,
        look: impl FnOnce() -> u64,
        left: impl FnOnce(u64) -> Option<Duration>,
    ) -> bool {
        let until = first.max(INTERRUPTED + 1);
        // ORDERING: `SeqCst`: before the second look; partner is the load in `watch_for`.
        if self.until.compare_exchange(NOBODY, until, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        dekker_fence();
        let mut woken = Wake::TimedOut;
        if look() >= until {
            woken = match left(until) {
                Some(left) => self.note.sleep_timeout(left),
                None => {
                    self.note.sleep();
                    Wake::Woken
                }
            };
        }
        // ORDERING: partner is the CAS in `interrupt`: it comes before this, and is waited for, or finds nobody.
        if self.until.compare_exchange(until, NOBODY, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            if woken == Wake::TimedOut {
                self.note.sleep();
            }
            self.note.clear();
            // ORDERING: partner is the CAS of the next keeper, which finds the note clear.
            self.until.store(NOBODY, Ordering::SeqCst);
        }
        true
    }
}

impl Default for Keeper {
    fn default() -> Keeper {
        Keeper::new()
    }
}
