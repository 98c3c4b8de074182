//! Somebody who sleeps while there is nothing to do, and must be up as soon as there is (the monitor).
//!
//! The argument: the sleeper says that it sleeps (`SeqCst`), then looks whether it may; whoever makes it needed says so
//! first (`SeqCst`), then looks whether it sleeps. One of the two sees the other. Of several who would wake it, one wins the
//! CAS and wakes the note; a sleeper that finds it may not sleep, but that somebody has won already, waits for that
//! wake-up, so the note is clear again for the next sleep.

use crate::note::Note;
use crate::sync::{AtomicU32, Ordering, const_fn, dekker_fence};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// Where it sleeps. One sleeper, any number of wakers.
///
/// ```
/// use gosched_queue::Dormant;
///
/// let dormant = Dormant::new();
/// dormant.wake_up(); // nobody sleeps: nothing happens
/// dormant.sleep_unless(|| true); // needed: returns at once
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

    /// Sleeps until woken, unless `needed`.
    pub fn sleep_unless(&self, needed: impl FnOnce() -> bool) {
        // ORDERING: `SeqCst`: before the look; partner is the load in `wake_up_after`. (A swap, for `dekker_fence`.)
        self.state.swap(ASLEEP, Ordering::SeqCst);
        dekker_fence();
        // ORDERING: partner is the CAS in `wake_up_slow`: if it came first, its wake-up is waited for.
        if needed() && self.state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        {
            return;
        }
        self.note.sleep();
        self.note.clear();
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
