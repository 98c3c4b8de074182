//! `runnext`: a single slot ahead of a run queue.
//!
//! Invariants:
//! - only the owner of the queue makes the slot non-null ([`NextSlot::replace`]); owner and thieves
//!   make it null ([`NextSlot::take`]), by CAS, so exactly one of them gets the node;
//! - `replace` is a `SeqCst` RMW: it is the publisher's half of the wake-up protocol (README.md).

use crate::sync::{AtomicPtr, Ordering, const_fn, dekker_fence};
use std::ptr::{NonNull, null_mut};

/// The slot that is run before the ring.
///
/// ```
/// use gosched_primitives::NextSlot;
/// use std::ptr::NonNull;
///
/// let (mut a, mut b) = (1, 2);
/// let runnext = NextSlot::new();
/// assert_eq!(runnext.replace(NonNull::from(&mut a)), None);
/// let kicked_out = runnext.replace(NonNull::from(&mut b));
/// assert_eq!(kicked_out, Some(NonNull::from(&mut a)));
/// assert_eq!(runnext.take(), Some(NonNull::from(&mut b)));
/// assert!(runnext.is_empty());
/// ```
#[doc(alias = "runnext")]
pub struct NextSlot<T>(AtomicPtr<T>);

impl<T> NextSlot<T> {
    const_fn! {
        /// The empty slot.
        pub const fn new() -> NextSlot<T> {
            NextSlot(AtomicPtr::new(null_mut()))
        }
    }

    /// Puts `node` into the slot and returns the node that it kicks out. Called by the owner of the
    /// queue only.
    #[inline]
    pub fn replace(&self, node: NonNull<T>) -> Option<NonNull<T>> {
        // ORDERING: `SeqCst` for the wake-up protocol: before the publisher's load of `IdleWord`;
        // partner is the RMW of `IdleWord` by an M that goes idle or a spinner that gives up, and
        // its `is_empty` after that. As a release it publishes the node's contents to `take`.
        let kicked = self.0.swap(node.as_ptr(), Ordering::SeqCst);
        dekker_fence();
        NonNull::new(kicked)
    }

    /// Takes the node out of the slot: the owner to run it, a thief to steal it. Of several callers
    /// exactly one gets it.
    ///
    /// `None` also if another taker won. The owner need not try again: only it could have filled
    /// the slot anew.
    #[inline]
    pub fn take(&self) -> Option<NonNull<T>> {
        let node = NonNull::new(self.0.load(Ordering::Relaxed))?;
        // ORDERING: as an acquire, partner is `replace`: the taker sees the node's contents. As a
        // release, partner is `is_empty`: a thread that reads this null sees what the owner pushed
        // to its ring before it took.
        self.0
            .compare_exchange(node.as_ptr(), null_mut(), Ordering::SeqCst, Ordering::Relaxed)
            .ok()
            .map(|_| node)
    }

    /// The node in the slot now. A hint: it may be gone, or be another's by the time the caller
    /// uses it.
    #[inline]
    pub fn peek(&self) -> Option<NonNull<T>> {
        NonNull::new(self.0.load(Ordering::Relaxed))
    }

    /// Whether the slot is empty, with the ordering that the second look of the wake-up protocol
    /// needs: call this first and [`Ring::has_work`](crate::Ring::has_work) second.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // ORDERING: partners are `replace` (total order of `SeqCst`) and `take` (release).
        self.0.load(Ordering::SeqCst).is_null()
    }
}

impl<T> Default for NextSlot<T> {
    fn default() -> NextSlot<T> {
        NextSlot::new()
    }
}
