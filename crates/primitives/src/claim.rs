//! A wait that several parties may end (S45): the channels of a `select`, a deadline, a cancelled
//! context. The first to *claim* it decides how it ended and gets the waiter, which it must wake;
//! the others find it claimed.
//!
//! Invariants:
//! - the word goes from OPEN to an outcome once, by a compare-and-swap; only [`Claim::put`] opens
//!   it again, when nobody can claim it meanwhile;
//! - the waiter is put in before the claim is published, and taken out by the winner alone. The
//!   lock under which a party finds the claim orders the two;
//! - the owner publishes the claim (in a queue, a timer, a context), and makes it unreachable again
//!   before it frees it. The winner does not touch it after the waiter was woken.

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

    /// Puts the waiter in, and opens the claim if it was claimed before. Called before the claim is
    /// published, or under the one lock through which it can be reached.
    pub fn put(&self, waiter: W) {
        // SAFETY: nobody can reach the claim meanwhile.
        unsafe { *self.waiter.get() = Some(waiter) };
        self.word.store(OPEN, Ordering::Relaxed);
    }

    /// Ends the wait with `outcome`, if nobody has yet: then returns the waiter, which the caller
    /// must wake.
    #[inline]
    #[must_use = "the waiter has to be woken"]
    pub fn claim(&self, outcome: Outcome) -> Option<W> {
        // ORDERING: Release pairs with the Acquire in `outcome`: the waiter sees what the winner
        // did before. (It sees what the winner does after claiming by being woken.) The Acquire has
        // no partner: `put` stores `Relaxed`, and the winner sees the waiter because it found the
        // claim under a lock.
        let won = self.word.compare_exchange(OPEN, outcome.get(), Ordering::AcqRel, Ordering::Relaxed);
        // SAFETY: one compare-and-swap wins, and until `put` is called again only its winner
        // touches the waiter.
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
