//! The global queue: two classes, first in, first out; woken ones in shards, each P putting into
//! its own, and whoever takes a share taking from all in proportion. What their locks cost is in
//! `lines.rs`.

use std::collections::VecDeque;

use gosched_rules::batch::{lower_class_leads, share_of_shard};

use super::lines::FOREIGN;
use crate::job::JobId;

/// Where in the queue a goroutine belongs (D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Woken, new, or yielded of its own will.
    Woken,
    /// Back without a P.
    Preempted,
}

#[derive(Clone, Debug)]
pub(super) struct Global {
    woken: Vec<VecDeque<JobId>>,
    /// How many are in these.
    woken_len: usize,
    preempted: VecDeque<JobId>,
    grabs: u32,
}

impl Global {
    pub(super) fn new(shards: u32) -> Global {
        let woken = vec![VecDeque::new(); shards as usize];
        Global { woken, woken_len: 0, preempted: VecDeque::new(), grabs: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.woken_len + self.preempted.len()
    }

    /// Queues one; `from` may be nobody's P.
    #[inline]
    pub(super) fn push(&mut self, from: u32, job: JobId, rank: Rank) {
        match rank {
            Rank::Woken => {
                let shards = self.woken.len();
                self.woken[if from == FOREIGN { 0 } else { from as usize % shards }].push_back(job);
                self.woken_len += 1;
            }
            Rank::Preempted => self.preempted.push_back(job),
        }
    }

    /// Takes up to `n`: woken ones, beginning with the shard of this turn; preempted ones one at a
    /// time, when it is their turn or nobody else is there.
    pub(super) fn take(&mut self, n: usize, turn: u32, mut sink: impl FnMut(JobId)) {
        let mut left = n;
        if !self.preempted.is_empty() {
            let grab = self.grabs;
            self.grabs = self.grabs.wrapping_add(1);
            if lower_class_leads(grab) {
                left -= self.take_preempted(left, &mut sink);
            }
        }
        let (shards, total) = (self.woken.len(), self.woken_len);
        for i in 0..shards {
            if left == 0 || self.woken_len == 0 {
                break;
            }
            let shard = &mut self.woken[(turn as usize + i) % shards];
            let share = share_of_shard(shard.len(), n, total, left).min(shard.len());
            shard.drain(..share).for_each(&mut sink);
            self.woken_len -= share;
            left -= share;
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
        global.take(n, 0, |job| taken.push(job));
        taken
    }

    /// D1: woken ones come first, but a preempted one gets its turn at every fourth grab.
    #[test]
    fn preempted_ones_stand_behind_but_get_their_turn() {
        let mut global = Global { grabs: 1, ..Global::new(1) };
        (0..10).for_each(|job| global.push(0, job, Rank::Woken));
        global.push(0, 100, Rank::Preempted);
        let order: Vec<JobId> = (0..5).flat_map(|_| take(&mut global, 1)).collect();
        assert_eq!(order, [0, 1, 2, 100, 3]);
        global.push(0, 101, Rank::Preempted);
        global.grabs = 1;
        assert_eq!(take(&mut global, 20), [4, 5, 6, 7, 8, 9]);
        assert_eq!((take(&mut global, 20), global.len()), (vec![101], 0));
    }

    /// S4, S54: a share comes from every shard in proportion. (Seen to fail with shares of half of
    /// each.)
    #[test]
    fn shares_come_from_all_shards() {
        let mut global = Global::new(2);
        (0..60).for_each(|job| global.push(0, job, Rank::Woken));
        (60..90).for_each(|job| global.push(1, job, Rank::Woken));
        let half: Vec<JobId> = (0..30).chain(60..75).collect();
        assert_eq!((take(&mut global, 45), global.len()), (half, 45));
        assert_eq!((take(&mut global, 45).len(), global.len()), (45, 0));
    }
}
