//! Once: one runs, the others wait for it.
//!
//! ```text
//!               start                  finish(complete)
//!   INCOMPLETE --------> RUNNING -----------------------> COMPLETE, for ever
//!   POISONED   ----/        \---------------------------> POISONED
//!                              finish(poisoned)
//! ```
//! `QUEUED` beside the state says that somebody is in line (set under the line's lock, cleared by
//! `finish`). After `finish` the whole line is taken out; those in it look again.

use gosched_primitives::Lock;
use gosched_primitives::sync::{AtomicU32, Ordering};

use crate::const_fn;
use crate::line::{Acquire, Line, LineEnd, LinePlace};

const INCOMPLETE: u32 = 0;
const POISONED: u32 = 1;
const RUNNING: u32 = 2;
const COMPLETE: u32 = 3;
const QUEUED: u32 = 4;

/// The core of a once. `W` is how to wake a waiter.
///
/// ```
/// use gosched_locks::{Once, Poison, Start, OnceStage};
///
/// let once: Once<std::thread::Thread> = Once::new();
/// assert_eq!(once.start(Poison::Respected), Start::Run(OnceStage::Incomplete));
/// assert_eq!(once.start(Poison::Respected), Start::Running);
/// assert!(!once.finish(OnceStage::Complete));
/// assert!(once.is_complete());
/// ```
pub struct Once<W> {
    word: AtomicU32,
    line: Lock<Line<W>>,
}

/// A state in which nobody runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceStage {
    /// Nobody has run yet.
    Incomplete,
    /// The last run failed.
    Poisoned,
    /// Done.
    Complete,
}

/// What a caller that wants to run has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Start {
    /// Run, and then call [`finish`](Once::finish). This was the state before.
    Run(OnceStage),
    /// Wait: somebody else runs.
    Running,
    /// Nothing: it is complete.
    Complete,
    /// Nothing: it is poisoned, and the caller did not ask to run in spite of that.
    Poisoned,
}

/// Whether a poisoned once counts as one that has not run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// It does: the poison is ignored.
    Ignored,
    /// It does not.
    Respected,
}

/// What a caller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Nobody runs.
    Finished,
    /// It is complete; or poisoned, unless that is ignored.
    Complete(Poison),
}

impl<W> Once<W> {
    const_fn! {
        /// A once that has not run.
        pub const fn new() -> Once<W> {
            Once::in_state(OnceStage::Incomplete)
        }
    }

    const_fn! {
        /// A once in any state.
        pub const fn in_state(state: OnceStage) -> Once<W> {
            Once { word: AtomicU32::new(word_of(state)), line: Lock::new(Line::new()) }
        }
    }

    /// Whether it is complete.
    #[inline]
    pub fn is_complete(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of `finish`: a thread that sees it complete sees
        // what was done.
        self.word.load(Ordering::Acquire) & !QUEUED == COMPLETE
    }

    /// The state. While somebody runs, this is [`OnceStage::Incomplete`].
    pub fn state(&self) -> OnceStage {
        // ORDERING: as in `is_complete`.
        match self.word.load(Ordering::Acquire) & !QUEUED {
            COMPLETE => OnceStage::Complete,
            POISONED => OnceStage::Poisoned,
            _ => OnceStage::Incomplete,
        }
    }

    /// Begins to run, if nobody runs and nobody has completed.
    pub fn start(&self, poison: Poison) -> Start {
        // ORDERING: Acquire pairs with the Release of `finish`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let before = match word & !QUEUED {
                COMPLETE => return Start::Complete,
                RUNNING => return Start::Running,
                POISONED if poison == Poison::Respected => return Start::Poisoned,
                POISONED => OnceStage::Poisoned,
                _ => OnceStage::Incomplete,
            };
            let running = RUNNING | (word & QUEUED);
            // ORDERING: as above.
            match self.word.compare_exchange_weak(word, running, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Start::Run(before),
                Err(now) => word = now,
            }
        }
    }

    /// Ends the run. Returns whether somebody may be in line: then all of [`line`](Once::line) have
    /// to be woken.
    #[must_use]
    pub fn finish(&self, state: OnceStage) -> bool {
        // ORDERING: Release pairs with the Acquires above and in `wait`.
        self.word.swap(word_of(state), Ordering::Release) & QUEUED != 0
    }

    /// Takes all waiters out of the line, to be woken. They look again.
    pub fn line(&self) -> Line<W> {
        core::mem::take(&mut *self.line.lock())
    }

    /// Whether the caller would have to wait for `until`.
    pub fn is_pending(&self, until: Until) -> bool {
        // ORDERING: Acquire pairs with the Release of `finish`.
        is_pending(self.word.load(Ordering::Acquire), until)
    }

    /// Returns a place in the line, unless `until` has come. A waiter that is woken looks again.
    pub fn wait(&self, until: Until) -> Acquire<'_, W, Line<W>> {
        let line = self.line.lock();
        // ORDERING: Acquire pairs with the Release of `finish`.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if !is_pending(word, until) {
                return Acquire::Acquired;
            }
            // ORDERING: as above.
            match self.word.compare_exchange_weak(word, word | QUEUED, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Acquire::Wait(LinePlace::new(line, |line| line, LineEnd::Back)),
                Err(now) => word = now,
            }
        }
    }
}

/// Whether `until` has yet to come, by the word.
fn is_pending(word: u32, until: Until) -> bool {
    match word & !QUEUED {
        COMPLETE => false,
        RUNNING => true,
        POISONED => until == Until::Complete(Poison::Ignored),
        _ => until != Until::Finished,
    }
}

const fn word_of(state: OnceStage) -> u32 {
    match state {
        OnceStage::Incomplete => INCOMPLETE,
        OnceStage::Poisoned => POISONED,
        OnceStage::Complete => COMPLETE,
    }
}

impl<W> Default for Once<W> {
    fn default() -> Once<W> {
        Once::new()
    }
}
