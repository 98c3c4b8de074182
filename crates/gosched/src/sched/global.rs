//! The global run queue (S4): a list through the Gs, in two classes.
//!
//! What was preempted, or lost its P, stands behind what was woken: a goroutine that computes has had its turn, one that
//! was woken waits for its first (D1). Lest it wait for ever, every so many times a preempted one comes first.

use core::ptr::NonNull;

use gosched_queue::List;

use crate::g::G;

/// Every so many grabs the oldest preempted goroutine comes before the woken ones.
const PREEMPTED_TURN: u32 = 4;

/// Where in the queue a goroutine belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// New, woken, or yielded of its own will.
    Woken,
    /// Asked to yield, or back without a P.
    Preempted,
}

/// The queue; under the scheduler's lock.
pub(super) struct GlobalQueue {
    woken: List<G>,
    preempted: List<G>,
    grabs: u32,
}

impl GlobalQueue {
    pub(super) const fn new() -> GlobalQueue {
        GlobalQueue { woken: List::new(), preempted: List::new(), grabs: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.woken.len() + self.preempted.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Queues a batch of woken ones at their tail.
    pub(super) fn append(&mut self, batch: List<G>) {
        self.woken.append(batch);
    }

    /// Queues one at its class's tail.
    ///
    /// # Safety
    /// The G is runnable, the caller's, and in no list.
    pub(super) unsafe fn push(&mut self, g: NonNull<G>, class: Class) {
        let list = match class {
            Class::Woken => &mut self.woken,
            Class::Preempted => &mut self.preempted,
        };
        // SAFETY: by contract; headers are never unmapped.
        unsafe { list.push_back(g) };
    }

    /// Takes the first `n`: woken ones, then preempted ones, except that every few times a preempted one leads.
    pub(super) fn take(&mut self, n: usize) -> List<G> {
        let mut taken = List::new();
        if !self.preempted.is_empty() {
            self.grabs = self.grabs.wrapping_add(1);
            if self.grabs.is_multiple_of(PREEMPTED_TURN) {
                taken = self.preempted.split_front(n.min(1));
            }
        }
        taken.append(self.woken.split_front(n - taken.len()));
        taken.append(self.preempted.split_front(n - taken.len()));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::runnable;

    /// D1: woken ones come first, but a preempted one is not starved by an endless row of them.
    #[test]
    fn preempted_ones_stand_behind_but_get_their_turn() {
        let gs = runnable(20);
        let mut queue = GlobalQueue::new();
        // SAFETY: nobody else has them.
        unsafe {
            queue.push(gs[0], Class::Preempted);
            queue.push(gs[1], Class::Woken);
        }
        assert_eq!(queue.take(1).pop_front(), Some(gs[1]));
        let mut waited = 0;
        for g in &gs[2..] {
            // SAFETY: as above.
            unsafe { queue.push(*g, Class::Woken) };
            if queue.take(1).pop_front() == Some(gs[0]) {
                break;
            }
            waited += 1;
        }
        assert!(waited <= PREEMPTED_TURN, "waited for {waited} others");
        let rest = queue.len();
        let mut all = queue.take(100);
        assert_eq!(all.len(), rest);
        while all.pop_front().is_some() {}
    }
}
