//! A pointer that its owner shows to others: which P an M has, which M runs a P or a goroutine, in
//! whose heap a timer is.
//!
//! What is pointed at lives for ever, so whoever reads an old pointer harms nobody. The reader may
//! be the first of its thread to meet what it finds: a thread or a P that was made after it last
//! took any lock. So the pointer itself carries what was written before it was shown.
//!
//! Invariant: only shared references that live for ever go in. What comes out is a hint of where
//! something was; who *owns* what is pointed at is said elsewhere.

use crate::sync::{AtomicPtr, Ordering, const_fn};
use std::ptr::null_mut;

/// Room for a reference that lives for ever, shown by one, read by anybody.
///
/// ```
/// use gosched_primitives::AtomicRef;
///
/// static SEVEN: u32 = 7;
/// let place = AtomicRef::none();
/// assert_eq!(place.get(), None);
/// place.set(Some(&SEVEN));
/// assert_eq!(place.get(), Some(&7));
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicRef<T: 'static>(AtomicPtr<T>);

impl<T: Sync> AtomicRef<T> {
    const_fn! {
        /// Shows nothing.
        pub const fn none() -> AtomicRef<T> {
            AtomicRef(AtomicPtr::new(null_mut()))
        }
    }

    /// Shows another one, or nothing, from now on.
    #[inline]
    pub fn set(&self, what: Option<&'static T>) {
        let pointer = what.map_or(null_mut(), |what| std::ptr::from_ref(what).cast_mut());
        // ORDERING: Release pairs with the Acquire in `get`: who finds it sees it whole.
        self.0.store(pointer, Ordering::Release);
    }

    /// What was shown last, as far as is known.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // ORDERING: Acquire pairs with the Release in `show`.
        // SAFETY: only references that live for ever are stored.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Whether this is what was shown last. Follows no pointer.
    #[inline]
    pub fn is(&self, what: &T) -> bool {
        std::ptr::eq(self.0.load(Ordering::Relaxed), what)
    }
}
