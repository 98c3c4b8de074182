//! Conditions out of the ordinary, as bits of one word, so that a hot path normally looks at one
//! thing only.
//!
//! The argument for a condition that closes a gate (a stop of the world). A worker says that it is
//! inside ([`Owner::enter`]), then looks at the condition; whoever closes the gate sets the
//! condition, then, after a heavy barrier, looks who is inside. So the worker sees the condition,
//! and goes out again, or it is seen, and waited for. What the worker did inside comes before what
//! is done behind the gate, by the word that says that it has left. What was done behind the gate
//! comes before what a worker does that finds it open again: by this word, and for some workers by
//! nothing else.
//!
//! [`Owner::enter`]: crate::Owner::enter

use crate::sync::{AtomicU32, Ordering, const_fn};

/// The word.
///
/// ```
/// use gosched_primitives::Conditions;
///
/// const STOP: u32 = 1;
/// let conditions = Conditions::none();
/// conditions.set(STOP, true);
/// assert!(conditions.has(STOP));
/// conditions.set(STOP, false);
/// assert!(!conditions.has(STOP));
/// ```
#[derive(Debug)]
pub struct Conditions(AtomicU32);

impl Conditions {
    const_fn! {
        /// All is as usual.
        pub const fn none() -> Conditions {
            Conditions(AtomicU32::new(0))
        }
    }

    /// Whether this bit is set.
    #[inline]
    pub fn has(&self, bit: u32) -> bool {
        // ORDERING: Acquire pairs with `set`: who finds a gate open again sees what was done while
        // it was closed.
        self.0.load(Ordering::Acquire) & bit != 0
    }

    /// Sets or clears a bit.
    pub fn set(&self, bit: u32, on: bool) {
        // ORDERING: SeqCst: stands before the closer's heavy barrier; partner is `barrier::light`
        // in a worker's entry, after which it looks here. As a release, partner is `has`.
        match on {
            true => self.0.fetch_or(bit, Ordering::SeqCst),
            false => self.0.fetch_and(!bit, Ordering::SeqCst),
        };
    }
}
