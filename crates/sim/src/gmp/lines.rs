//! What several CPUs write costs time: a model of one cache line.
//!
//! Whoever writes a line must own it. It comes from its last writer, which takes a miss, a far one
//! if that is on another node; and while it travels to one, all others wait. So a line serves one
//! at a time, in order, and a shared word or lock is a queue with one server. That is all: no store
//! buffers, no unfairness, no back-off.

use crate::costs::Costs;
use crate::time::Time;

/// The one without a P.
pub(super) const FOREIGN: u32 = u32::MAX;

/// Who is on which node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nodes {
    pub(super) size: u32,
}

impl Nodes {
    #[inline]
    pub(super) fn of(self, p: u32) -> u32 {
        p / self.size
    }
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLine {
    owner: u32,
    free_at: Time,
    version: u32,
    busy: Time,
}

impl CacheLine {
    pub(super) fn new() -> CacheLine {
        CacheLine { owner: FOREIGN, free_at: 0, version: 0, busy: 0 }
    }

    /// Which write this was the last of: whoever has seen it has the line in its cache.
    #[inline]
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// For how long it was on its way, or kept.
    pub(super) fn busy(&self) -> Time {
        self.busy
    }

    /// `by` writes the line at `t`, and keeps the others off for `held`; when that is over.
    #[inline]
    pub(super) fn write(&mut self, by: u32, t: Time, held: Time, costs: &Costs, nodes: Nodes) -> Time {
        let cost = match by {
            by if by == self.owner => costs.hit,
            by if nodes.of(by) == nodes.of(self.owner) => costs.miss,
            _ => costs.far_miss,
        };
        self.owner = by;
        self.version = self.version.wrapping_add(1);
        self.busy += cost + held;
        self.free_at = t.max(self.free_at) + cost + held;
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner pays little, a neighbour a miss, somebody on another node more; two at once wait
    /// for each other.
    #[test]
    fn a_line_serves_one_at_a_time() {
        let (costs, nodes) = (Costs::default(), Nodes { size: 4 });
        let mut line = CacheLine::new();
        line.write(0, 0, 0, &costs, nodes);
        assert_eq!(line.write(0, 1_000, 0, &costs, nodes), 1_000 + costs.hit);
        assert_eq!(line.write(1, 2_000, 0, &costs, nodes), 2_000 + costs.miss);
        assert_eq!(line.write(5, 3_000, 20, &costs, nodes), 3_000 + costs.far_miss + 20);
        let first = line.write(6, 4_000, 0, &costs, nodes);
        assert_eq!(line.write(7, 4_000, 0, &costs, nodes), first + costs.miss);
    }
}
