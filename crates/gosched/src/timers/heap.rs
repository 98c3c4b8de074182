//! The order of a P's timers: a heap with four children per node. Each timer knows the place of its
//! entry.
//!
//! Invariants: no entry is due before its parent; the timer of the entry at `i` has place `i`.
//! Timers are alive while they have an entry. A closed heap is empty, or about to be emptied by the
//! holder of the lock. Everything here is done under the lock of the
//! [`TimerHeap`](super::TimerHeap).
//!
//! The memory comes from the system, not from Rust's allocator, which may be user code. It doubles
//! when full, and halves when a quarter would do: timers that were armed and cancelled leave
//! nothing behind.

use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use gosched_switch::arch::PAGE_SIZE;

use super::{NOWHERE, TimerNode};
use crate::fatal::fatal;
use crate::sys::mem;

/// Children of a node.
const ARITY: usize = 4;
/// How many entries the smallest memory holds: a page of them.
const FIRST_CAPACITY: usize = PAGE_SIZE / size_of::<HeapEntry>();

#[derive(Clone, Copy)]
pub(super) struct HeapEntry {
    pub(super) when: u64,
    pub(super) timer: NonNull<TimerNode>,
}

impl HeapEntry {
    /// Stores in the timer where its entry is.
    fn tell(&self, place: usize) {
        // SAFETY: armed, so alive; the heap's lock is held.
        unsafe { self.timer.as_ref() }.place.store(place, Ordering::Relaxed);
    }
}

/// Entries, the earliest first.
pub(super) struct Heap {
    base: NonNull<HeapEntry>,
    capacity: usize,
    len: usize,
    closed: bool,
}

// SAFETY: owns its memory; the timers are touched under the lock that the heap is behind.
unsafe impl Send for Heap {}

impl Deref for Heap {
    type Target = [HeapEntry];

    #[inline]
    fn deref(&self) -> &[HeapEntry] {
        // SAFETY: the first `len` were written; without memory `len` is 0 and the pointer dangles,
        // well aligned.
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Heap {
    pub(super) const fn new() -> Heap {
        Heap { base: NonNull::dangling(), capacity: 0, len: 0, closed: false }
    }

    /// Whether no timer may be armed here.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn set_closed(&mut self, closed: bool) {
        self.closed = closed;
    }

    pub(super) fn push(&mut self, entry: HeapEntry) {
        if self.len == self.capacity {
            self.resize((self.capacity * 2).max(FIRST_CAPACITY));
        }
        self.len += 1;
        self.put(self.len - 1, entry);
        self.sift_up(self.len - 1);
    }

    /// Takes the entry at `place` out; its timer then has place [`NOWHERE`].
    pub(super) fn take_out(&mut self, place: usize) -> HeapEntry {
        let (entry, last) = (self[place], self[self.len - 1]);
        entry.tell(NOWHERE);
        self.len -= 1;
        if place < self.len {
            self.put(place, last);
            let place = self.sift_up(place);
            self.sift_down(place);
        }
        if self.len < self.capacity / 4 && self.capacity > FIRST_CAPACITY {
            self.resize(self.capacity / 2);
        }
        entry
    }

    /// Takes out the entry that is last in memory, whatever its time.
    pub(super) fn take_any(&mut self) -> Option<HeapEntry> {
        self.len.checked_sub(1).map(|last| self.take_out(last))
    }

    fn put(&mut self, place: usize, entry: HeapEntry) {
        debug_assert!(place < self.len);
        // SAFETY: inside the memory.
        unsafe { self.base.add(place).write(entry) };
        entry.tell(place);
    }

    /// Moves an entry towards the front as far as it belongs; returns where it is then.
    fn sift_up(&mut self, mut place: usize) -> usize {
        let entry = self[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self[parent].when <= entry.when {
                break;
            }
            self.put(place, self[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    /// Moves an entry towards the back as far as it belongs.
    fn sift_down(&mut self, mut place: usize) {
        let entry = self[place];
        loop {
            let children = place * ARITY + 1..self.len.min(place * ARITY + 1 + ARITY);
            let Some(least) = children.min_by_key(|child| self[*child].when) else { break };
            if self[least].when >= entry.when {
                break;
            }
            self.put(place, self[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[cold]
    fn resize(&mut self, capacity: usize) {
        let (old, new) = (self.capacity * size_of::<HeapEntry>(), capacity * size_of::<HeapEntry>());
        let memory = match old {
            0 => mem::map_forever(new),
            // SAFETY: our memory, of this size, and `len` entries fit into the new size.
            _ => unsafe { mem::remap(self.base.cast(), old, new) },
        };
        let Some(memory) = memory else { fatal!("out of memory for {capacity} timers") };
        self.base = memory.cast();
        self.capacity = capacity;
    }
}

#[cfg(test)]
impl Drop for Heap {
    /// The heaps of Ps live for ever; those of tests do not.
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: our memory, of this size.
            unsafe { mem::unmap(self.base.as_ptr().cast(), self.capacity * size_of::<HeapEntry>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::waiting;
    use crate::timers::Action;

    /// S46: memory follows the number of timers, up and down.
    #[test]
    fn memory_follows_the_timers() {
        let g = waiting(1)[0];
        let timers: Vec<TimerNode> = (0..10_000).map(|_| TimerNode::new(Action::Ready(g))).collect();
        let mut heap = Heap::new();
        for round in 0..3 {
            for (i, timer) in timers.iter().enumerate() {
                heap.push(HeapEntry {
                    when: (i as u64 * 7919) % 10_007 + round,
                    timer: NonNull::from(timer),
                });
            }
            assert_eq!((heap.len(), heap.capacity), (10_000, 16_384));
            let mut before = 0;
            while let Some(first) = heap.first().copied() {
                assert!(first.when >= before);
                before = first.when;
                let _ = heap.take_out(0);
            }
            assert_eq!(heap.capacity, FIRST_CAPACITY);
        }
        assert!(timers.iter().all(|timer| timer.place.load(Ordering::Relaxed) == NOWHERE));
    }
}
