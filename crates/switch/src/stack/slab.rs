//! A slab: one mapping that holds stacks of one class, each with its guard below it.
//!
//! ```text
//!  low                                                                high
//!  | guard 0 | usable part of 0      | guard 1 | usable part of 1      | ...
//!  |<------------ stride ----------->|
//! ```
//!
//! Invariants: once the stacks of a slab can be handed out ([`Slab::into_fresh`]), neither the slab
//! is unmapped nor a guard removed: stacks live as long as the process. Nothing in it is touched
//! here.

use core::ptr::NonNull;

use super::{Depth, Stack, StackClass, Traits};
use crate::sys::{self, Errno};

/// A mapping for `count` stacks, not yet guarded.
#[derive(Debug)]
pub(crate) struct Slab {
    base: NonNull<u8>,
    class: StackClass,
    count: u32,
}

impl Slab {
    pub(crate) fn map(class: StackClass, count: u32) -> Result<Slab, Errno> {
        let base = sys::map_stacks(class.stride() * count as usize)?;
        Ok(Slab { base, class, count })
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub(crate) fn class(&self) -> StackClass {
        self.class
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn len(&self) -> usize {
        self.class.stride() * self.count as usize
    }

    /// The lowest address of stack `i`'s guard.
    pub(crate) fn guard(&self, i: u32) -> *mut u8 {
        self.base.as_ptr().wrapping_add(i as usize * self.class.stride())
    }

    /// Keeps the first `count` stacks and gives the address space of the others back.
    pub(crate) fn truncate(&mut self, count: u32) {
        let old = self.len();
        self.count = self.count.min(count);
        let new = self.len();
        if new < old {
            // SAFETY: no stack of this slab has been handed out yet. If it fails, address space is
            // lost, no memory.
            let _ = unsafe { sys::unmap(self.base.as_ptr().wrapping_add(new), old - new) };
        }
    }

    /// All its stacks, to be handed out. The caller has guarded them; `index` is the first one's
    /// number.
    pub(crate) fn into_fresh(self, index: u32) -> Fresh {
        Fresh { next: self.base.as_ptr(), left: self.count, index, class: self.class }
    }
}

/// Adjacent stacks that nobody has touched, handed out one after the other.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// Where the next one's guard begins.
    next: *mut u8,
    left: u32,
    index: u32,
    class: StackClass,
}

// SAFETY: owns the stacks it stands for; the pointer is an address range, not shared state.
unsafe impl Send for Fresh {}

impl Fresh {
    pub(crate) const fn none(class: StackClass) -> Fresh {
        Fresh { next: core::ptr::null_mut(), left: 0, index: 0, class }
    }

    pub(crate) fn len(&self) -> u32 {
        self.left
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Stack> {
        if self.left == 0 {
            return None;
        }
        let high = NonNull::new(self.next.wrapping_add(self.class.stride()))?;
        let stack = Stack { high, traits: Traits::new(self.class, Depth::Untouched, self.index) };
        self.next = high.as_ptr();
        self.left -= 1;
        self.index = self.index.wrapping_add(1);
        Some(stack)
    }

    /// Splits off up to `max` stacks.
    pub(crate) fn take(&mut self, max: u32) -> Fresh {
        let n = max.min(self.left);
        let taken = Fresh { next: self.next, left: n, index: self.index, class: self.class };
        self.next = self.next.wrapping_add(n as usize * self.class.stride());
        self.left -= n;
        self.index = self.index.wrapping_add(n);
        taken
    }
}
