//! Somebody who sleeps while there is nothing to do, and must be up as soon as there is (the monitor).
//!
//! The argument: the sleeper says that it sleeps (`SeqCst`), then looks whether it may; whoever makes it needed says so
//! first (`SeqCst`), then looks whether it sleeps. One of the two sees the other. Of several who would wake it, one wins the
//! CAS and wakes the note; a sleeper that finds it may not sleep, but that somebody has won already, waits for that
//! wake-up, so the note is clear again for the next sleep.

use crate::note::{Note, Wake};
use crate::sync::{AtomicU32, Ordering, const_fn, dekker_fence};
use std::time::Duration;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Where it sleeps. One sleeper, any number of wakers.
///
/// ```
/// use gosched_primitives::Dormant;
///
/// let dormant = Dormant::new();
/// dormant.wake_up(); // nobody sleeps: nothing happens
/// dormant.sleep_unless(None, || true); // needed: returns at once
/// dormant.sleep_unless(Some(std::time::Duration::from_millis(1)), || false); // not needed: sleeps its time
/// ```
pub struct Dormant {
    state: AtomicU32,
    note: Note,
}

impl Dormant {
    const_fn! {
        /// Awake.
        pub const fn new() -> Dormant {
            Dormant { state: AtomicU32::new(AWAKE), note: Note::new() }
        }
    }

    /// Sleeps until woken, or for `limit`, unless `needed`. Says whether it was woken (as it also says when it was needed).
    pub fn sleep_unless(&self, limit: Option<Duration>, needed: impl FnOnce() -> bool) -> Wake {
        // ORDERING: `SeqCst`: before the look; partner is the load in `wake_up_after`. (A swap, for `dekker_fence`.)
        self.state.swap(ASLEEP, Ordering::SeqCst);
        dekker_fence();
        if needed() && self.get_up() {
            return Wake::Woken;
        }
        let wake = match limit {
            Some(limit) => self.note.sleep_timeout(limit),
            None => {
                self.note.sleep();
                Wake::Woken
            }
        };
        if wake == Wake::TimedOut {
            if self.get_up() {
                return Wake::TimedOut;
            }
            self.note.sleep();
        }
        self.note.clear();
        Wake::Woken
    }

    /// Is awake by itself, unless somebody wakes it already: then that wake-up has to be waited for.
    fn get_up(&self) -> bool {
        // ORDERING: partner is the CAS in `wake_up_slow`: one of the two wins.
        self.state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// It is needed: wakes it if it sleeps. After the reason was published by a `SeqCst` write. Async-signal-safe.
    #[inline]
    pub fn wake_up(&self) {
        self.wake_up_after(|| ());
    }

    /// As [`wake_up`](Dormant::wake_up); if it sleeps, `first` is done first, so that nobody finds it awake and `first`
    /// undone. Several may do so at once.
    #[inline]
    pub fn wake_up_after(&self, first: impl FnOnce()) {
        dekker_fence();
        // ORDERING: `SeqCst`: after the reason; partner is the swap in `sleep_unless`.
        if self.state.load(Ordering::SeqCst) == ASLEEP {
            first();
            self.wake_up_slow();
        }
    }

    #[cold]
    fn wake_up_slow(&self) {
        // ORDERING: as in `wake_up_after`; of several, one wins. What `first` did is seen by who finds it awake.
        if self.state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.note.wake();
        }
    }
}

impl Default for Dormant {
    fn default() -> Dormant {
        Dormant::new()
    }
}
