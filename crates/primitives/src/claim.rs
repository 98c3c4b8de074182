//! A wait that several parties may end (S45): the channels of a `select`, a deadline, a cancelled context. The first to
//! *claim* it says how it ended and gets the waiter, whom it must wake; everybody else finds it taken.
//!
//! Invariants:
//! - the word goes from OPEN to an outcome once, by a compare-and-swap; only the waiter opens it again, when nobody else
//!   can reach it;
//! - the waiter is put in before the claim is shown to anybody, and taken out by the winner alone;
//! - whoever shows the claim around (in a queue, a timer, a context) sees to it that nobody can reach it any more before
//!   its owner lets it go. The winner does not touch it after the waiter was woken.

use crate::sync::{AtomicUsize, Ordering};
use core::cell::UnsafeCell;
use core::num::NonZeroUsize;

const OPEN: usize = 0;

/// How a wait ended: a number that the parties agree upon.
pub type Outcome = NonZeroUsize;

/// A wait that can be claimed once. `W` is the waiter.
///
/// ```
/// use gosched_primitives::{Claim, Outcome};
///
/// let claim = Claim::new();
/// claim.put("the waiter");
/// let (sent, late) = (Outcome::new(7).unwrap(), Outcome::new(8).unwrap());
/// assert_eq!(claim.claim(sent), Some("the waiter"));
/// assert_eq!(claim.claim(late), None);
/// assert_eq!(claim.outcome(), Some(sent));
/// ```
#[derive(Debug)]
pub struct Claim<W> {
    word: AtomicUsize,
    waiter: UnsafeCell<Option<W>>,
}

// SAFETY: the waiter is passed from its owner to the one winner, ordered by the word.
unsafe impl<W: Send> Sync for Claim<W> {}
// SAFETY: as above.
unsafe impl<W: Send> Send for Claim<W> {}

impl<W> Claim<W> {
    crate::sync::const_fn! {
        /// An open claim without a waiter.
        pub const fn new() -> Claim<W> {
            Claim { word: AtomicUsize::new(OPEN), waiter: UnsafeCell::new(None) }
        }
    }

    /// Puts the waiter in, and opens the claim if it was claimed before. By the owner, before it shows the claim to anybody.
    pub fn put(&self, waiter: W) {
        // SAFETY: nobody else knows of the claim yet, or any more.
        unsafe { *self.waiter.get() = Some(waiter) };
        self.word.store(OPEN, Ordering::Relaxed);
    }

    /// Ends the wait with `outcome`, if nobody has yet: then the waiter is the caller's to wake, once.
    #[inline]
    #[must_use = "the waiter has to be woken"]
    pub fn claim(&self, outcome: Outcome) -> Option<W> {
        // ORDERING: Release pairs with the Acquire in `outcome`: the waiter sees what the winner did before. (What the
        // winner does after claiming, the waiter sees by being woken.) Acquire: the winner sees the waiter that was put in,
        // also when it learnt of the claim by a road that orders nothing.
        let won = self.word.compare_exchange(OPEN, outcome.get(), Ordering::AcqRel, Ordering::Relaxed);
        // SAFETY: one compare-and-swap wins, and until `put` is called again only its winner comes here.
        if won.is_ok() { unsafe { (*self.waiter.get()).take() } } else { None }
    }

    /// How the wait ended; `None` while it is open.
    #[inline]
    pub fn outcome(&self) -> Option<Outcome> {
        // ORDERING: Acquire pairs with the Release in `claim`.
        Outcome::new(self.word.load(Ordering::Acquire))
    }
}

impl<W> Default for Claim<W> {
    fn default() -> Claim<W> {
        Claim::new()
    }
}
