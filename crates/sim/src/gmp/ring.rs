//! A P's own queue: `runnext` and a ring of 256, as plain arrays. (The library's is lock-free; here
//! nobody interferes.)

use gosched_rules::batch::{RING, overflow_count, steal_count};

use crate::job::{JobId, NO_JOB};

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    head: u32,
    tail: u32,
    slots: Box<[JobId; RING]>,
}

impl Ring {
    pub(super) fn new() -> Ring {
        Ring { head: 0, tail: 0, slots: Box::new([NO_JOB; RING]) }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len() == RING
    }

    /// Adds one behind the others; there must be room.
    #[inline]
    pub(super) fn push(&mut self, job: JobId) {
        debug_assert!(!self.is_full());
        self.slots[self.tail as usize % RING] = job;
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<JobId> {
        if self.is_empty() {
            return None;
        }
        let job = self.slots[self.head as usize % RING];
        self.head = self.head.wrapping_add(1);
        Some(job)
    }

    /// Takes the older half for a thief, into `sink`; the last of them is returned instead (S26).
    pub(super) fn steal(&mut self, mut sink: impl FnMut(JobId)) -> Option<JobId> {
        for _ in 1..steal_count(self.len() as u32) {
            if let Some(job) = self.pop() {
                sink(job);
            }
        }
        self.pop()
    }

    /// Makes room: the oldest half, into `sink` (S21).
    pub(super) fn overflow(&mut self, mut sink: impl FnMut(JobId)) {
        for _ in 0..overflow_count(RING) {
            if let Some(job) = self.pop() {
                sink(job);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thief gets the oldest n − n/2, one of them to run at once; an overflow the oldest 128.
    #[test]
    fn oldest_ones_go_first() {
        let mut ring = Ring::new();
        (0..5).for_each(|job| ring.push(job));
        let mut stolen = Vec::new();
        assert_eq!(ring.steal(|job| stolen.push(job)), Some(2));
        assert_eq!((stolen, ring.len()), (vec![0, 1], 2));
        (5..RING as u32 + 3).for_each(|job| ring.push(job));
        assert!(ring.is_full());
        let mut over = Vec::new();
        ring.overflow(|job| over.push(job));
        assert_eq!((over.len(), over[0], ring.len()), (128, 3, 128));
        assert_eq!(Ring::new().steal(|_| ()), None);
    }
}
