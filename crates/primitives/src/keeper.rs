//! The place of the one worker that sleeps until a time which others may move forward: one of many
//! idle workers, the *keeper*, sleeps until the earliest timer, the others sleep without limit.
//!
//! It sleeps on the note here, or *afar*: in a system call of the caller that can also end for
//! other reasons (the network poller). A thread that interrupts a keeper afar wakes the note all
//! the same, and then kicks it out of that call. The note decides; the kick only makes the call
//! return. So a kick that comes late, when the keeper has left the call, only makes another call
//! return for nothing.
//!
//! `until` is NOBODY, INTERRUPTED, or the time until which the keeper sleeps. The lowest bit of
//! that time is set for a keeper afar.
//!
//! The argument why no timer is slept through. A thread that arms one publishes its time
//! (`SeqCst`), then loads `until` ([`Keeper::watch_for`]). A worker that becomes the keeper writes
//! `until` (`SeqCst`), then checks the times once more. So either the keeper sees the new time, or
//! the arming thread sees the keeper, and interrupts it.
//!
//! Invariants: of several threads that interrupt, the one whose CAS makes `until` INTERRUPTED wakes
//! the note, once. The keeper has waited for that wake-up and cleared the note before it frees the
//! place: the next keeper sleeps on the same note. A kick must end a call that the keeper is about
//! to make as well as one that it is in.

use std::time::Duration;

use crate::note::{Note, Wake};
use crate::sync::{AtomicU64, Ordering, const_fn, dekker_fence};

const NOBODY: u64 = 0;
const INTERRUPTED: u64 = 1;
/// The bit of `until` that is set if the keeper does not sleep on the note.
const AFAR: u64 = 1;
/// The earliest time that `until` can hold; smaller values are NOBODY and INTERRUPTED.
const FIRST_TIME: u64 = 2;

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
/// use gosched_primitives::{Keeper, Watch};
/// use std::time::Duration;
///
/// let keeper = Keeper::new();
/// assert_eq!(keeper.watch_for(5, || {}), Watch::Nobody);
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

    /// Whether a keeper is afar and was not interrupted.
    pub fn is_kept_afar(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until >= FIRST_TIME && until & AFAR != 0
    }

    /// Makes sure that the keeper, if there is one, does not sleep longer than `when`. Called after
    /// that time was published by a `SeqCst` write. `kick` makes the call of a keeper afar return.
    #[inline]
    pub fn watch_for(&self, when: u64, kick: impl FnOnce()) -> Watch {
        dekker_fence();
        // ORDERING: `SeqCst`: after the publication of the time; partner is the CAS in `begin`.
        match self.until.load(Ordering::SeqCst) {
            NOBODY => return Watch::Nobody,
            until if until >= FIRST_TIME && until & !AFAR > when => self.interrupt(until, kick),
            _ => {}
        }
        Watch::Kept
    }

    /// Wakes the keeper, until whatever time it sleeps.
    pub fn rouse(&self, kick: impl FnOnce()) {
        dekker_fence();
        // ORDERING: as in `watch_for`.
        let until = self.until.load(Ordering::SeqCst);
        if until >= FIRST_TIME {
            self.interrupt(until, kick);
        }
    }

    #[cold]
    fn interrupt(&self, until: u64, kick: impl FnOnce()) {
        // ORDERING: partner is the CAS in `end`. If this one fails, the keeper woke by itself and
        // will check the times again, or another thread interrupts it.
        if self.until.compare_exchange(until, INTERRUPTED, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.note.wake();
            if until & AFAR != 0 {
                kick();
            }
        }
    }

    /// Sleeps on the note until `first`, the earliest time published, or until interrupted. Returns
    /// `false` at once if there is another keeper.
    ///
    /// `look` returns the earliest time published now; `left(first)` returns how long it is until
    /// `first` (`None`: for ever).
    pub fn keep(
        &self,
        first: u64,
        look: impl FnOnce() -> u64,
        left: impl FnOnce(u64) -> Option<Duration>,
    ) -> bool {
        let Some(until) = self.begin(first, 0) else { return false };
        let mut woken = Wake::TimedOut;
        if look() >= until {
            woken = match left(first) {
                Some(left) => self.note.sleep_timeout(left),
                None => {
                    self.note.sleep();
                    Wake::Woken
                }
            };
        }
        self.end(until, woken);
        true
    }

    /// As [`keep`](Keeper::keep), afar: `sleep` returns at `first` at the latest, or when kicked,
    /// or whenever it likes.
    pub fn keep_afar(&self, first: u64, look: impl FnOnce() -> u64, sleep: impl FnOnce()) -> bool {
        let Some(until) = self.begin(first, AFAR) else { return false };
        if look() >= until & !AFAR {
            sleep();
        }
        self.end(until, Wake::TimedOut);
        true
    }

    /// Takes the place; returns what `until` says from now on.
    fn begin(&self, first: u64, place: u64) -> Option<u64> {
        let until = (first.max(FIRST_TIME) & !AFAR) | place;
        // ORDERING: `SeqCst`: before the second look; partner is the load in `watch_for`.
        self.until.compare_exchange(NOBODY, until, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        dekker_fence();
        Some(until)
    }

    /// Frees the place. If the keeper was interrupted, waits for that wake-up first.
    fn end(&self, until: u64, woken: Wake) {
        // ORDERING: partner is the CAS in `interrupt`: it comes before this, and its wake-up is
        // waited for, or it fails.
        if self.until.compare_exchange(until, NOBODY, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            if woken == Wake::TimedOut {
                self.note.sleep();
            }
            self.note.clear();
            // ORDERING: partner is the CAS of the next keeper, which finds the note clear.
            self.until.store(NOBODY, Ordering::SeqCst);
        }
    }
}

impl Default for Keeper {
    fn default() -> Keeper {
        Keeper::new()
    }
}
