//! A growing ring of pointers: the body of the global run queue.
//!
//! An array, not a list through the Gs, because a P takes its share of up to 128 at once, under the
//! lock: walking so many headers that another core has just written takes far longer than copying
//! their addresses (figures: docs/design.md#the-global-queue-is-in-shards).
//!
//! The memory comes from the system, not from Rust's allocator, which may be the user's code; it
//! doubles when full, and is never given back.

use core::ptr::NonNull;

use crate::fatal::fatal;
use crate::g::G;
use crate::sys::mem;

const FIRST_CAPACITY: usize = 4096;

/// First in, first out. Positions count up for ever; a slot is a position modulo the capacity, a
/// power of two.
pub(super) struct Fifo {
    slots: *mut NonNull<G>,
    /// Capacity − 1; `usize::MAX` before the first push.
    mask: usize,
    head: usize,
    tail: usize,
}

// SAFETY: it owns its memory; its Gs are type-stable, and are owned by the queue that it is part
// of.
unsafe impl Send for Fifo {}

impl Fifo {
    pub(super) const fn new() -> Fifo {
        Fifo { slots: core::ptr::null_mut(), mask: usize::MAX, head: 0, tail: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(super) fn push(&mut self, g: NonNull<G>) {
        if self.len() == self.mask.wrapping_add(1) {
            self.grow();
        }
        // SAFETY: a slot inside the memory, and free: there are fewer entries than slots.
        unsafe { self.slots.add(self.tail & self.mask).write(g) };
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<NonNull<G>> {
        if self.len() == 0 {
            return None;
        }
        // SAFETY: written by `push`, and not popped yet.
        let g = unsafe { self.slots.add(self.head & self.mask).read() };
        self.head = self.head.wrapping_add(1);
        Some(g)
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.mask.wrapping_add(1);
        let capacity = if old == 0 { FIRST_CAPACITY } else { old * 2 };
        let Some(memory) = mem::map_forever(capacity * size_of::<NonNull<G>>()) else {
            fatal!(
                "out of memory for the run queue ({capacity} goroutines): run fewer, or raise the memory limit"
            )
        };
        let slots: *mut NonNull<G> = memory.as_ptr().cast();
        let len = self.len();
        for i in 0..len {
            // SAFETY: old and new slots are inside their memory; the first `len` positions are
            // written.
            unsafe { slots.add(i).write(self.slots.add(self.head.wrapping_add(i) & self.mask).read()) };
        }
        if old > 0 {
            // SAFETY: mapped with this size, and no longer used.
            unsafe { mem::unmap(self.slots.cast(), old * size_of::<NonNull<G>>()) };
        }
        (self.slots, self.mask, self.head, self.tail) = (slots, capacity - 1, 0, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runnable;

    /// S4: first in, first out, of any length, across growth and wrapping.
    #[test]
    fn keeps_the_order_across_growth() {
        let gs = runnable(3 * FIRST_CAPACITY);
        let mut fifo = Fifo::new();
        assert_eq!(fifo.pop(), None);
        let (mut pushed, mut popped) = (0, 0);
        for step in 0.. {
            if pushed < gs.len() && step % 3 != 2 {
                fifo.push(gs[pushed]);
                pushed += 1;
            } else if let Some(g) = fifo.pop() {
                assert_eq!(g, gs[popped]);
                popped += 1;
            } else {
                break;
            }
            assert_eq!(fifo.len(), pushed - popped);
        }
        assert_eq!(popped, gs.len());
    }
}
