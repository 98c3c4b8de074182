//! Notes: one thread sleeps until another one wakes it, once (S29).
//!
//! ```text
//!              sleep                     wake
//!    CLEAR ------------> SLEEPING ------------------> SET     the waker makes the system call
//!    CLEAR ---------------------- wake -------------> SET     no system call: nobody sleeps yet
//!    SLEEPING --- time-out ---> CLEAR
//!    SET ----------------------- clear -------------> CLEAR
//! ```
//!
//! Invariants:
//! - one sleeper at a time; `wake` at most once between two `clear`s;
//! - `clear` only when nobody sleeps and nobody is about to wake: before a waker can know of the
//!   next sleep;
//! - compare and sleep are one step, so no wake-up falls in between; after a spurious return the
//!   thread sleeps again.

use crate::sync::{Futex, Ordering, const_fn};
use std::time::{Duration, Instant};

const CLEAR: u32 = 0;
const SLEEPING: u32 = 1;
const SET: u32 = 2;

/// How a timed sleep ended.
#[must_use = "after a time-out the wake-up may still come"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Someone called [`Note::wake`].
    Woken,
    /// Nobody has called it so far.
    TimedOut,
}

/// A one-shot event that a thread can sleep on.
///
/// The memory of a note must outlive the *return* of `wake`, not only that of `sleep`. (Those of Ms
/// are never freed; others are kept alive by a reference count or lie in statics.)
///
/// ```
/// use gosched_primitives::{Note, Wake};
/// use std::time::Duration;
///
/// let note = Note::new();
/// assert_eq!(note.sleep_timeout(Duration::from_millis(1)), Wake::TimedOut);
/// std::thread::scope(|scope| {
///     scope.spawn(|| note.wake());
///     note.sleep();
/// });
/// assert!(note.is_set());
/// note.clear();
/// ```
#[doc(alias("note", "notesleep", "notewakeup"))]
pub struct Note(Futex);

impl Note {
    const_fn! {
        /// A note that is not set.
        pub const fn new() -> Note {
            Note(Futex::new(CLEAR))
        }
    }

    /// Sleeps until the note is set; returns at once if it is.
    #[doc(alias = "notesleep")]
    pub fn sleep(&self) {
        while self.begin_sleep() == Wake::TimedOut {
            self.0.wait(SLEEPING, None);
        }
    }

    /// Sleeps until the note is set, or for `timeout`.
    #[doc(alias = "notetsleep")]
    pub fn sleep_timeout(&self, timeout: Duration) -> Wake {
        let Some(deadline) = Instant::now().checked_add(timeout) else {
            self.sleep();
            return Wake::Woken;
        };
        let mut left = timeout;
        while self.begin_sleep() == Wake::TimedOut {
            self.0.wait(SLEEPING, Some(left));
            left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || cfg!(loom) {
                return self.end_sleep();
            }
        }
        Wake::Woken
    }

    /// Announces the sleeper. `Woken`: the note is set already.
    fn begin_sleep(&self) -> Wake {
        // ORDERING: partner is the swap in `wake`: after a wake-up, what its caller wrote before is
        // seen.
        match self.0.word.compare_exchange(CLEAR, SLEEPING, Ordering::Acquire, Ordering::Acquire) {
            Err(SET) => Wake::Woken,
            _ => Wake::TimedOut,
        }
    }

    /// Takes the announcement back. `Woken`: the note was set meanwhile.
    fn end_sleep(&self) -> Wake {
        // ORDERING: as in `begin_sleep`.
        match self.0.word.compare_exchange(SLEEPING, CLEAR, Ordering::Acquire, Ordering::Acquire) {
            Err(SET) => Wake::Woken,
            _ => Wake::TimedOut,
        }
    }

    /// Sets the note and wakes the sleeper, if there is one already.
    ///
    /// # Panics
    ///
    /// If the note is set: it was woken twice without being cleared.
    #[doc(alias = "notewakeup")]
    pub fn wake(&self) {
        // ORDERING: partners are the compare-exchanges in `begin_sleep` and `end_sleep`.
        match self.0.word.swap(SET, Ordering::Release) {
            CLEAR => {}
            SLEEPING => self.0.wake_one(),
            _ => panic!("double wakeup"),
        }
    }

    /// Makes the note ready for its next use. Nobody may sleep on it or be about to wake it.
    #[doc(alias = "noteclear")]
    pub fn clear(&self) {
        self.0.word.store(CLEAR, Ordering::Relaxed);
    }

    /// Whether the note is set.
    pub fn is_set(&self) -> bool {
        // ORDERING: partner is the swap in `wake`.
        self.0.word.load(Ordering::Acquire) == SET
    }
}

impl Default for Note {
    fn default() -> Note {
        Note::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wake_before_the_sleep_is_kept() {
        let note = Note::new();
        note.wake();
        note.sleep();
        assert_eq!(note.sleep_timeout(Duration::ZERO), Wake::Woken);
        note.clear();
        assert_eq!(note.sleep_timeout(Duration::ZERO), Wake::TimedOut);
        assert!(!note.is_set());
    }

    #[test]
    #[should_panic = "double wakeup"]
    fn waking_twice_is_noticed() {
        let note = Note::new();
        note.wake();
        note.wake();
    }

    #[test]
    fn a_time_out_takes_its_time() {
        let start = Instant::now();
        assert_eq!(Note::new().sleep_timeout(Duration::from_millis(20)), Wake::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
