//! The global queue: two classes, first in, first out. The library's shards are here only as lines that
//! cost time (`lines.rs`).

use std::collections::VecDeque;

use gosched_rules::batch::lower_class_leads;

use crate::job::JobId;

/// Where in the queue a goroutine belongs (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Woken, new, or yielded of its own will.
    Woken,
    /// Back without a P.
    Preempted,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Global {
    woken: VecDeque<JobId>,
    preempted: VecDeque<JobId>,
    grabs: u32,
}

impl Global {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.woken.len() + self.preempted.len()
    }

    #[inline]
    pub(super) fn push(&mut self, job: JobId, rank: Rank) {
        match rank {
            Rank::Woken => self.woken.push_back(job),
            Rank::Preempted => self.preempted.push_back(job),
        }
    }

    /// Takes up to `n`: woken ones; preempted ones one at a time, when it is their turn or nobody else
    /// is there.
    pub(super) fn take(&mut self, n: usize, mut sink: impl FnMut(JobId)) {
        let mut left = n;
        if !self.preempted.is_empty() {
            let turn = self.grabs;
            self.grabs = self.grabs.wrapping_add(1);
            if lower_class_leads(turn) {
                left -= self.take_preempted(left, &mut sink);
            }
        }
        while left > 0 {
            let Some(job) = self.woken.pop_front() else { break };
            sink(job);
            left -= 1;
        }
        if left == n {
            self.take_preempted(left, &mut sink);
        }
    }

    fn take_preempted(&mut self, left: usize, sink: &mut impl FnMut(JobId)) -> usize {
        if left == 0 {
            return 0;
        }
        self.preempted.pop_front().map(sink).map_or(0, |()| 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(global: &mut Global, n: usize) -> Vec<JobId> {
        let mut taken = Vec::new();
        global.take(n, |job| taken.push(job));
        taken
    }

    /// D1: woken ones come first, but a preempted one gets its turn at every fourth grab.
    #[test]
    fn preempted_ones_stand_behind_but_get_their_turn() {
        let mut global = Global { grabs: 1, ..Global::default() };
        (0..10).for_each(|job| global.push(job, Rank::Woken));
        global.push(100, Rank::Preempted);
        let order: Vec<JobId> = (0..5).flat_map(|_| take(&mut global, 1)).collect();
        assert_eq!(order, [0, 1, 2, 100, 3]);
        global.push(101, Rank::Preempted);
        global.grabs = 1;
        assert_eq!(take(&mut global, 20), [4, 5, 6, 7, 8, 9]);
        assert_eq!((take(&mut global, 20), global.len()), (vec![101], 0));
    }
}
