//! A thread that sleeps while it is not needed, and must wake as soon as it is (the monitor).
//!
//! The argument: the sleeper announces that it sleeps (`SeqCst`), then checks whether it may; a
//! waker first publishes its reason (`SeqCst`), then checks whether somebody sleeps. One of the two
//! sees the other. Of several wakers one wins the CAS and wakes the note. A sleeper that finds that
//! it is needed, but that a waker has won already, waits for that wake-up, so that the note is
//! clear again for the next sleep.
//!
//! A reason may also be published under a lock, and checked under it: if the check comes first, the
//! waker acquires the lock after the announcement, and so sees it.
//!
//! This holds only for reasons that `needed` checks. A wake-up for any other reason does nothing if
//! it comes before the announcement.

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

    /// Sleeps until woken, or for `limit`, unless `needed` returns true. Returns [`Wake::Woken`] in
    /// that case, too.
    pub fn sleep_unless(&self, limit: Option<Duration>, needed: impl FnOnce() -> bool) -> Wake {
        // ORDERING: `SeqCst`: before the look; partner is the load in `wake_up_after`. (A swap, for
        // `dekker_fence`.)
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

    /// Takes the announcement back. Returns `false` if a waker has won already: then its wake-up
    /// has to be waited for.
    fn get_up(&self) -> bool {
        // ORDERING: partner is the CAS in `wake_up_slow`: one of the two wins.
        self.state.compare_exchange(ASLEEP, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Whether it sleeps, or is about to. For those who only look.
    pub fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ASLEEP
    }

    /// Wakes the sleeper if it sleeps. Called after the reason was published, by a `SeqCst` write
    /// or under a lock. Async-signal-safe.
    #[inline]
    pub fn wake_up(&self) {
        self.wake_up_after(|| ());
    }

    /// As [`wake_up`](Dormant::wake_up), but if it sleeps, calls `first` before the wake-up: nobody
    /// can find the sleeper awake and `first` not done. Several threads may call `first` at once.
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
        // ORDERING: as in `wake_up_after`; of several, one wins. A thread that reads AWAKE from
        // this sees what `first` did.
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
